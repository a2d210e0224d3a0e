/*
 * One source of packages behind one small interface: resolve at lock time, open at build time.
 * Fetching is the same for all (builder/fetch.h): every locked input has an address, a digest and
 * a size.
 */
#ifndef BUILDER_SOURCES_PACKAGE_SOURCE_H
#define BUILDER_SOURCES_PACKAGE_SOURCE_H

#include "base/out.h"
#include "builder/base_image.h"
#include "builder/component.h"
#include "builder/store.h"
#include "manifests/lockfile.h"
#include "manifests/stack.h"
#include "net/http.h"
#include "oci/descriptor.h"

/*
 * The lock before, when only one thing is to move: packages keep their version as long as their
 * source still has it and it fits the rest.
 */
struct source_keep {
	const struct lock_platform *inputs; /* of the platform; NULL: nothing is kept */
	const char *moves;                  /* a package or a source id that is not kept */
};

/* Whether that input of the lock before stays as it is. */
static inline bool source_keeps(const struct source_keep *keep, const struct lock_input *in,
				enum lock_kind kind, const char *stage)
{
	return in->kind == kind && str_equal(in->stage, stage) &&
	       !str_equal(in->name, keep->moves) && !str_equal(in->source, keep->moves);
}

/* The redistrib manifests read so far (redist.c). A zeroed one is empty. */
struct redist_catalogs {
	struct redist_catalog **items;
	size_t len, cap;
};

void redist_catalogs_release(struct redist_catalogs *catalogs);

/* The repositories of the apt and rpm-md sources, opened once per platform. Zeroed: empty. */
struct apt_sessions {
	struct apt_session **items;
	size_t len, cap;
};
struct rpm_sessions {
	struct rpm_session **items;
	size_t len, cap;
};

void apt_sessions_release(struct apt_sessions *sessions);
void rpm_sessions_release(struct rpm_sessions *sessions);

/* Which version of a package the stack section would take. */
struct version_wish {
	const char *version; /* best; NULL: not known */
	bool exact;          /* and no other */
	const char *range;   /* what will do else; NULL: any */
	const char *same;    /* the whole version, as of a package that goes with it; NULL */
	bool marked;         /* only "…+cuda12.6": builds that say for which CUDA they are */
};

/*
 * "2.23.4" of "1:2.23.4-1+cuda12.6", for deb and rpm alike: no epoch, no revision. A slice of it.
 */
struct slice version_upstream(struct slice version);
/*
 * How well a version meets a wish: 2 the very one, 1 another that will do, 0 not at all. A version
 * with more numbers than the wish names is the very one ("12.6.4.1" of "12.6.4").
 */
int version_meets(struct slice version, const struct version_wish *wish);

/* What a source may use at lock time. */
struct source_context {
	const struct stack *stack;
	struct platform platform;
	struct store *store;
	struct http_client *http;
	const struct out *out;
	struct lockfile *lock;        /* inputs and source records are appended to it */
	struct lock_platform *inputs; /* of `platform` */
	struct source_keep keep;
	const char *python; /* "3.13": what stack.python comes to, or NULL when it says nothing */
	const char *cuda;   /* the toolkit "13.0" of the stack, or NULL */
	struct stack_texts compat;      /* CUDA of the compatibility packages that will do */
	struct redist_catalogs *redist; /* for redist sources */
	struct apt_sessions *apt;       /* where opened repositories are kept, or NULL */
	struct rpm_sessions *rpm;
	const struct base_image *base; /* what is installed already; NULL: nothing */
};

/* What one stage wants of one source. */
struct source_request {
	const struct stack_source *source;
	const struct stack_stage *stage;
	const struct stack_package *packages; /* named in the manifest, or by the stack section */
	size_t package_count;
	bool toolkit; /* asked for by the stack section: inputs are marked so */
	/* wheels: versions that the solver settled, one "name==version" a line; NULL: none */
	const char *settled;
	const char *locked; /* wheels: the same for what lock files bring */
};

/*
 * Resolve the requests of one stage together, and append the locked inputs in the order of
 * configuration. Errors: ERROR_USAGE (unknown package: with the place in the manifest and near
 * names), ERROR_VERDICT (no set fits: with the chain of who wanted what), ERROR_INTEGRITY
 * (signature, digest), ERROR_NETWORK, ERROR_NOT_FOUND.
 */
/* `apt`: all apt requests of the stage (the closure may use every apt source, in the manifest's
 * order). `whole_os`: pull in Essential packages too. */
int apt_resolve(const struct source_context *context, const struct source_request *requests,
		size_t count, bool whole_os, struct error *err) MUST_USE;
/* `rpm-md`: all requests of the stage, as for apt; a named package comes from its own source. */
int rpmmd_resolve(const struct source_context *context, const struct source_request *requests,
		  size_t count, struct error *err) MUST_USE;
int wheels_resolve(const struct source_context *context, const struct source_request *requests,
		   size_t count, struct error *err) MUST_USE;
/*
 * The version of a package that an apt or rpm-md source offers for a wish: the best that meets it,
 * of equals the one built for the highest CUDA that fits the stack's, then the newest. *out is NULL
 * when there is none, else in the lock's arena. Errors: as apt_resolve, of the repositories.
 */
int apt_offers(const struct source_context *context, const struct stack_source *source,
	       const char *name, const struct version_wish *wish, const char **out,
	       struct error *err) MUST_USE;
int rpmmd_offers(const struct source_context *context, const struct stack_source *source,
		 const char *name, const struct version_wish *wish, const char **out,
		 struct error *err) MUST_USE;
/* Locks the whole folder (or the sub-folders named as packages). */
int dir_resolve(const struct source_context *context, const struct source_request *request,
		struct error *err) MUST_USE;
/*
 * The archives of the named components ("cuda_cudart", "libcublas=12.6.*") for the platform and the
 * stack's CUDA. All go under /usr/local/cuda-X.Y. What is host software is refused.
 */
int redist_resolve(const struct source_context *context, const struct source_request *request,
		   struct error *err) MUST_USE;
/*
 * Whether a redist source has a component for the platform and the stack's CUDA, in a version of
 * `range` (NULL: any). Errors: as redist_resolve, for the manifest itself.
 */
int redist_serves(const struct source_context *context, const struct stack_source *source,
		  const char *component, const char *range, bool *out, struct error *err) MUST_USE;

/*
 * Open a locked input of the store as a component. The whole input has been verified. NULL on
 * error. `platform` is the image's.
 */
struct component *deb_open(struct store *store, const struct lock_input *input,
			   struct error *err) MUST_USE;
struct component *rpm_open(struct store *store, const struct lock_input *input,
			   struct error *err) MUST_USE;

/* Where a wheel's files go. */
struct wheel_placing {
	const char *site;    /* "usr/local/lib/python3.11/dist-packages" */
	const char *scripts; /* "usr/local/bin" */
	const char *prefix;  /* "usr/local" */
	const char
		*headers; /* "usr/include/python3.11": there Debian's Python looks and puts them */
	const char *python;  /* "/usr/bin/python3.11", for shebangs */
	const char *toolkit; /* "usr/local/cuda-13.0": nvidia/<cuXX>/… goes there; else NULL */
	const char *target;  /* "x86_64-linux", under toolkit/targets/ */
	enum stack_profile profile; /* decides which toolkit files are kept */
};
struct component *wheel_open(struct store *store, const struct lock_input *input,
			     const struct wheel_placing *placing, struct error *err) MUST_USE;

/* Where the files of a redistrib archive go. */
struct redist_placing {
	const char *toolkit;        /* "usr/local/cuda-13.0" */
	const char *target;         /* "x86_64-linux", under toolkit/targets/ */
	enum stack_profile profile; /* decides, with the table redist.json, which files are kept */
};
struct component *redist_open(struct store *store, const struct lock_input *input,
			      const struct redist_placing *placing, struct error *err) MUST_USE;
#endif
