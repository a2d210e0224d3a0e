/*
 * The solved stack's CUDA, as packages: which components a profile takes, and under which names and
 * versions each kind of source has them (manifests/tables/components.json).
 */
#ifndef BUILDER_TOOLKIT_H
#define BUILDER_TOOLKIT_H

#include "base/vec.h"
#include "builder/solvable.h"
#include "formats/json.h"
#include "manifests/stack.h"

/* A component that a profile takes, under its names in each kind of source. */
struct toolkit_component {
	const char *id;      /* "cublas" */
	const char *wheel;   /* name of its wheel for this CUDA major, or NULL */
	const char *redist;  /* key in redistrib manifests, or NULL */
	const char *version; /* the solved stack's; NULL: not known */
	const char *range;   /* of versions that the manifest asks for; NULL: the toolkit's own */
	bool exact;          /* `version` and no other: the manifest names the release */
	bool optional;       /* left out where no source has it */
	const json_t *row;   /* borrowed from the table */
	bool served;         /* some source has it: for the caller */
};

struct toolkit_components {
	json_t *table;
	struct toolkit_component *items;
	size_t len, cap;
};

/*
 * The components that the stack section asks for in a stage of that profile; `math` adds the math
 * libraries whatever the profile. Appended; release them. ERROR_FORMAT: the table.
 */
int toolkit_components(const struct stack *stack, const struct solved_stack *solved,
		       enum stack_profile profile, bool math, struct arena *arena,
		       struct toolkit_components *out, struct error *err) MUST_USE;
/* The forward compatibility package of solved->compat alone. */
int toolkit_compat(const struct solved_stack *solved, struct arena *arena,
		   struct toolkit_components *out, struct error *err) MUST_USE;
void toolkit_components_release(struct toolkit_components *components);
#define cleanup_toolkit_components cleanup(toolkit_components_release)

/*
 * The requirement on the wheel of one of them ("nvidia-cublas==13.1.0.3"), in `arena`. ERROR_USAGE
 * when the table does not know the version for this toolkit.
 */
int toolkit_requirement(const struct stack *stack, const struct solved_stack *solved,
			const struct toolkit_component *c, struct arena *arena, const char **out,
			struct error *err) MUST_USE;

enum { TOOLKIT_NAMES = 8 };

/* The packages that make a component in an apt or rpm repository. */
struct toolkit_names {
	const char *items[TOOLKIT_NAMES];
	size_t count; /* 0: such repositories do not have it */
	bool marked;  /* only builds whose version says for which CUDA they were made */
};

/*
 * The names in repositories of `kind` ("deb", "rpm"), for `cuda` ("12.6"); those with headers and
 * link names too in profile devel. In `arena`. ERROR_FORMAT: the table is malformed.
 */
int toolkit_names(const struct toolkit_component *c, const char *kind, const char *cuda,
		  enum stack_profile profile, struct arena *arena, struct toolkit_names *out,
		  struct error *err) MUST_USE;

/*
 * NVIDIA_REQUIRE_CUDA for a toolkit: "cuda>=13.0". A driver floor of the manifest below the
 * toolkit's own driver adds " driver>=FLOOR": by minor version compatibility such a host runs the
 * image too, and a blank means "or". With `compat` the hosts of the compatibility package are let
 * in as well. In `arena`. ERROR_VERDICT when the floor is below what the CUDA major needs at all.
 * Source: NVIDIA container toolkit, requirement expressions; CUDA compatibility documentation.
 */
int toolkit_require(const struct stack *stack, const char *cuda, bool compat, struct arena *arena,
		    const char **out, struct error *err) MUST_USE;

#endif
