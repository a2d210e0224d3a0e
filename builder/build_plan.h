/*
 * The layers a build would write, before it writes them: which component goes where and why, how
 * large that is, and what a node pulls.
 *
 * Inputs must be in the store, as for a build. Sizes are those of layers that were written before
 * (same recipe); of others they are estimated from the raw bytes and say so.
 */
#ifndef BUILDER_BUILD_PLAN_H
#define BUILDER_BUILD_PLAN_H

#include "builder/build.h"
#include "builder/plan.h"
#include "builder/pull_model.h"

struct build_plan_layer {
	const char *title, *class, *reason;
	struct digest key; /* of the recipe; of a layer of the base image its digest */
	uint64_t raw;      /* bytes of files */
	uint64_t size;     /* bytes, compressed */
	bool estimated;    /* `size` is */
	bool base;         /* of the base image */
	bool pulled;       /* build_plan_compare: the other plan has no such layer */
};

/* The part of a component that lies in a layer. */
struct build_plan_part {
	const char *name, *version;
	size_t layer;
	uint64_t bytes; /* of its files there */
};

struct build_plan_image {
	const char *platform;
	enum compression compression;
	struct {
		struct build_plan_layer *items;
		size_t len, cap;
	} layers; /* lowest first */
	struct {
		struct build_plan_part *items;
		size_t len, cap;
	} parts; /* by layer, then by size */
};

struct build_plan {
	struct arena arena;
	struct {
		struct build_plan_image *items;
		size_t len, cap;
	} images; /* in the manifest's order of platforms */
};

/*
 * The plan of request->stack with request->lock. `old`: the lock may be of another version of the
 * manifest. Errors as build_run. Release with build_plan_release.
 */
int build_plan_make(const struct build_request *request, bool old, struct build_plan *out,
		    struct error *err) MUST_USE;
void build_plan_release(struct build_plan *plan);

/* Mark what a node that has `old` must pull for `plan`, and give its bytes. */
uint64_t build_plan_compare(struct build_plan_image *plan, const struct build_plan *old);
/* Compressed bytes of all layers. */
uint64_t build_plan_size(const struct build_plan_image *plan);
/* Seconds until a node without any layer has unpacked all; `mbit` a second. */
double build_plan_seconds(const struct build_plan_image *plan, const struct pull_engine *engine,
			  uint64_t mbit);

/* For builder/build: take over what was planned. `base` are the base image's layers. */
int build_plan_take(struct build_plan *out, const char *platform, const struct rootfs *r,
		    const struct plan *plan, const struct build_image *base,
		    const struct stack_layers *how, struct store *store,
		    struct error *err) MUST_USE;

#endif
