/*
 * Stack, lockfile and store into an OCI image, offline: opens no socket, runs no maintainer
 * script, and gives the same bytes for the same lock, files and options.
 *
 * The only header of the builder that others need besides lock.h, fetch.h and store.h.
 */
#ifndef BUILDER_BUILD_H
#define BUILDER_BUILD_H

#include "base/out.h"
#include "builder/store.h"
#include "manifests/lockfile.h"
#include "manifests/stack.h"
#include "oci/descriptor.h"

struct image_source;

/*
 * Called once the image is complete and before any destination is touched; `image` is the build's,
 * and lasts for the call. -1 keeps the image out of every destination, and build_run fails with
 * that error. This is where the command line lints.
 */
typedef int build_check_fn(void *user, struct image_source *image, struct error *err);

struct build_request {
	const struct stack *stack;
	const struct lockfile *lock;
	struct store *store;
	const char *const *destinations; /* as publication_write (builder/publish.h) takes them */
	size_t destination_count;        /* TAG: the manifest's when none is written */
	bool has_created;
	int64_t created;            /* SOURCE_DATE_EPOCH, seconds; else 1980-01-01T00:00:00Z */
	unsigned threads;           /* 0: as many as there are processors */
	const char *const *secrets; /* "id=NAME,src=FILE", "id=NAME,env=VARIABLE": of its stages */
	size_t secret_count;
	const char *const *cdi_dirs; /* of CDI, NULL-terminated, instead of the usual; or NULL */
	build_check_fn *check;       /* NULL: none */
	void *check_user;
	/*
	 * Called before the first thing that has to be assembled, at most once: to bring the lock's
	 * inputs. NULL: they have to be in the store from the start.
	 */
	int (*bring)(void *user, struct error *err);
	void *bring_user;
	/* A layer lies in the store, made or found; from several threads. NULL: nobody is told. */
	void (*layer_ready)(void *user, const struct digest *digest, uint64_t size);
	void *layer_user;
	const struct out *out; /* notes */
};

struct build_layer {
	const char *title;      /* "os", "nvidia-cublas 13.1.0.3", "application", "metadata" */
	const char *components; /* names, separated by blanks */
	const char *media_type;
	struct digest diff_id, digest;
	uint64_t size, raw_size; /* bytes */
	bool cached;             /* lay in the store already */
	bool base;               /* of the base image: its bytes are not ours */
};

/* One platform's image. */
struct build_image {
	struct platform platform;
	struct descriptor
		manifest; /* its digest is what a registry calls the image of a platform */
	struct {
		struct build_layer *items;
		size_t len, cap;
	} layers;
};

enum script_fate { SCRIPT_DONE, SCRIPT_HARMLESS, SCRIPT_NOT_DONE, SCRIPT_ACCEPTED };

/* What a maintainer script would have done, and what became of it. Sorted, stable. */
struct build_action {
	enum script_fate fate;
	const char *package, *script; /* "dash", "postinst" */
	const char *text;             /* the command, or what was done */
	size_t line;                  /* of the script, from 1; 0: none */
	struct digest digest;         /* of the whole script: what `scripts.acknowledge` names */
};

struct build_result {
	struct arena arena;
	struct descriptor index; /* what the tag points at: an index, also for one platform */
	struct {
		struct build_image *items;
		size_t len, cap;
	} images;
	struct {
		struct build_action *items;
		size_t len, cap;
	} actions; /* of the first platform */
	struct {
		const char **items;
		size_t len, cap;
	} warnings;
	bool unchanged; /* nothing had to be assembled */
};

/*
 * Errors: ERROR_USAGE a stale lock (says to run `gpuimg lock`), two packages that own one path
 * with different content, a bad destination; ERROR_NOT_FOUND an input that is not in the store
 * (names it and says to run `gpuimg fetch`); ERROR_INTEGRITY; ERROR_VERDICT a command of a stage
 * that ended with a status other than 0 (its output is shown through `out`); ERROR_SYSTEM.
 * A destination is complete or untouched, also when the process is killed.
 */
int build_run(const struct build_request *request, struct build_result *out,
	      struct error *err) MUST_USE;
void build_result_release(struct build_result *result);
#define cleanup_build_result cleanup(build_result_release)
/* "done", "harmless", "NOT DONE", "accepted". */
const char *build_fate_name(enum script_fate fate);

#endif
