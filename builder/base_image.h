/*
 * The image that `base.image` of the manifest names: locked to digests, its blobs kept in the
 * store byte for byte, and what it has installed, for the resolvers, the solver and the build.
 *
 * Its layers are never rewritten. Images of Docker's family are taken too: their layers are the
 * same bytes under the OCI's media types.
 */
#ifndef BUILDER_BASE_IMAGE_H
#define BUILDER_BASE_IMAGE_H

#include "base/map.h"
#include "base/out.h"
#include "builder/base_index.h"
#include "builder/store.h"
#include "manifests/lockfile.h"
#include "manifests/stack.h"

/*
 * Open the image of that name for a platform, wherever it is (a registry needs modules that this
 * one does not know). `name` is "docker://…", or one of the local kinds with a path that is
 * absolute or starts at the working directory. *out is released with image_release.
 */
typedef int base_open_fn(void *user, const char *name, const struct platform *platform,
			 struct image *out, struct error *err);

struct base_opener {
	base_open_fn *open;
	void *user;
};

/*
 * `text` of a manifest or lock in the folder `directory` as an image name that can be opened from
 * the working directory; heap.
 */
char *base_image_name(const char *directory, const char *text);

struct base_layer {
	const char *media_type; /* OCI's */
	struct digest digest, diff_id;
	uint64_t size, raw_size; /* bytes of the blob and of the tar */
};

/* Where the package database of dpkg is. */
enum base_dpkg {
	BASE_DPKG_NONE,
	BASE_DPKG_STATUS,   /* one file for all */
	BASE_DPKG_STATUS_D, /* a file for each package, as in images without dpkg */
};

/* A Python distribution of the image, by its .dist-info folder. */
struct base_distribution {
	const char *name, *version; /* name normalised */
};

struct base_image {
	struct arena arena;
	const char *text;       /* as the manifest names it */
	struct digest manifest; /* of the platform's image */
	struct image_config config;
	struct base_layer *layers;
	size_t layer_count;
	struct base_index index;
	struct digest key; /* settles all of the above */

	enum base_dpkg dpkg;
	struct strbuf packages;     /* stanzas, each with "Status: install ok installed" */
	struct strbuf rpm_database; /* the file of rpm's, as it is; empty: there is none */
	const char *rpm_path;       /* where: "usr/lib/sysimage/rpm/rpmdb.sqlite"; or NULL */
	const char *system;         /* "debian 12", of os-release; "" */
	const char *glibc;          /* "2.36"; NULL: another C library, or none */
	bool musl;
	bool rpm;                   /* it has a database of .rpm packages */
	const char *python;         /* "3.11" of the newest python3; NULL: none */
	const char *python_program; /* "/usr/bin/python3.11" */
	bool debian_python;         /* it looks in dist-packages */
	const char *cuda;           /* "12.6" of /usr/local/cuda-12.6, the newest; NULL */
	struct {
		struct base_distribution *items;
		size_t len, cap;
	} distributions;      /* sorted by name */
	struct map libraries; /* of CUDA, in small letters: "libcublas" */
	bool nvcc;            /* a toolkit to compile with */
};

/* The first LOCK_IMAGE input of a platform, which is the manifest, or NULL: there is no base. */
const struct lock_input *base_image_locked(const struct lock_platform *inputs);

/* What locking goes on. */
struct base_lock_request {
	const struct stack *stack;
	struct store *store;
	const struct base_opener *opener;
	const struct lock_platform *keep; /* inputs of the lock before, whose base stays; or NULL */
	struct platform platform;
	const struct out *out;
};

/*
 * Resolve stack->base_image to the image of the platform, bring all its blobs into the store,
 * prove digests and diff_ids, and append the inputs to `inputs`, strings in `arena`. With `keep`,
 * the same digest as before, where that is still to be had.
 * Errors: ERROR_USAGE a folder, or a name that cannot be read; ERROR_FORMAT a layer that is of an
 * unknown kind, compressed by something else, or not to be distributed; ERROR_INTEGRITY a blob or
 * a layer's content that is not what it is said to be; ERROR_NOT_FOUND a blob is missing, or there
 * is no image for the platform; ERROR_NETWORK.
 */
int base_image_lock(const struct base_lock_request *request, struct lock_platform *inputs,
		    struct arena *arena, struct error *err) MUST_USE;

/*
 * The locked base image of a platform out of the store. ERROR_NOT_FOUND when a blob is missing,
 * ERROR_INTEGRITY. Release with base_image_release.
 */
int base_image_open(struct store *store, const struct lock_platform *inputs, struct base_image *out,
		    struct error *err) MUST_USE;
void base_image_release(struct base_image *base);
#define cleanup_base_image cleanup(base_image_release)

/* Its tree, the caller's; `unpacked`: with all contents. NULL on error. */
struct component *base_image_tree(struct store *store, const struct lock_platform *inputs,
				  const struct base_image *base, bool unpacked,
				  struct error *err) MUST_USE;
/* Its version of a Python distribution (normalised name), or NULL. */
const char *base_image_distribution(const struct base_image *base, const char *name);

/* Whether it brings that component of CUDA ("cublas"); `devel`: with all to compile. */
bool base_image_has_cuda(const struct base_image *base, const char *component, bool devel);

/* The locked blobs as a source, read from the store; `inputs` must outlive it. */
struct image_source *base_image_source(struct store *store, const struct lock_platform *inputs);

#endif
