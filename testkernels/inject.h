/*
 * Giving a container the driver and the devices of this machine: what a CDI specification, the
 * legacy NVIDIA runtime or discovery asks for, as nodes, mounts and files that every mode can make.
 *
 * Hooks are never executed. The work of those that NVIDIA's tools write (create-symlinks,
 * update-ldcache, enable-cuda-compat, chmod, disable-device-node-modification) is done here, on a
 * layer of files laid over the image's tree; others are named in the report.
 * Sources: CDI specification 1.1.0; nvidia-container-toolkit 1.20, cmd/nvidia-cdi-hook.
 */
#ifndef TESTKERNELS_INJECT_H
#define TESTKERNELS_INJECT_H

#include "formats/cdi.h"
#include "oci/config.h"
#include "testkernels/image_loader.h"

/* What to inject and how. */
struct inject_request {
	const char *method;         /* NULL or "auto", "cdi", "legacy", "enroot", "none" */
	const char *const *devices; /* "nvidia.com/gpu=0"; none: all of nvidia.com/gpu */
	size_t device_count;
	const char *const *cdi_dirs; /* NULL-terminated, instead of the usual ones; or NULL */
	const char *host_root;       /* stands for "/" when the driver is looked for; NULL: "/" */
	const struct image_config *config; /* for the methods that read the image's environment */
};

struct inject_note {
	const char *code; /* "stale-spec", "unknown-hook" …: a word for programs */
	const char *text;
};

struct injection {
	const char *method; /* "cdi", "nvidia-ctk", "host-driver", "legacy", "enroot" */
	const char *spec;   /* the file(s) it came from; NULL: none */
	const char *driver; /* version of the driver library; NULL: unknown */
	const char *module; /* of the kernel module; NULL: not loaded */
	struct cdi_edits edits;
	VEC(struct inject_note) faults; /* why the injection is not what it should be */
	VEC(struct inject_note) notes;
	/* What could be injected is missing: SKIP_* and a sentence; NULL: it can be done. */
	const char *skip, *why;
};

/*
 * Find out what would be injected here. Never an error for want of a GPU: then `skip` says why.
 * Strings live in `arena`. Errors: ERROR_USAGE  a device that no specification offers, or one that
 * two claim; ERROR_FORMAT  only with a method or device asked for: a specification is malformed
 */
int inject_find(const struct inject_request *request, struct arena *arena, struct injection *out,
		struct error *err) MUST_USE;
void injection_release(struct injection *injection);
#define cleanup_injection cleanup(injection_release)

/*
 * Make the layer of files in the empty directory `dir`: mount points, links, loader cache. What is
 * in the way in the image (a link where a library is to be mounted) is replaced by the layer.
 * ERROR_SYSTEM; ERROR_FORMAT, ERROR_LIMIT: the image's loader cache.
 */
int inject_apply(struct injection *injection, int rootfd, const struct image_loader *loader,
		 const char *dir, struct arena *arena, struct error *err) MUST_USE;
/*
 * For modes that cannot mount: a directory of links to the driver's libraries and nothing else,
 * so that it can stand in a search path without letting the host's other libraries in.
 * ERROR_SYSTEM.
 */
int inject_link(const struct injection *injection, const char *dir, struct error *err) MUST_USE;
/* True when `path`, as a process in the container sees it, is a file that was injected. */
bool inject_owns(const struct injection *injection, const char *path);

#endif
