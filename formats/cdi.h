/*
 * Container Device Interface specifications: what a container needs to be given to use a device.
 *
 * A file names a kind ("nvidia.com/gpu"), its devices, and for each device edits of a container:
 * environment, device nodes, mounts, hooks. Edits at the top of the file apply once when any of its
 * devices is asked for, before the device's own. Unknown members, and members that a version older
 * than the file's `cdiVersion` lacks, are errors, as CDI's own library has it.
 * Source: cncf-tags/container-device-interface SPEC.md 1.1.0, pkg/cdi, schema/; where the prose and
 * the schema differ (`containerEdits` is an object, the groups are `additionalGids`) the code
 * counts.
 */
#ifndef FORMATS_CDI_H
#define FORMATS_CDI_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "formats/node.h"

#define CDI_VERSION_MAX "1.1.0"

struct cdi_texts {
	const char **items;
	size_t count;
};

struct cdi_node {
	const char *path;      /* in the container */
	const char *host_path; /* on the host; equal to path unless said */
	char type;             /* 'b', 'c', 'u', 'p', or 0: as the host's node is */
	bool has_number, has_mode, has_uid, has_gid;
	uint32_t major, minor, mode, uid, gid;
	const char *permissions; /* for the device cgroup: "rwm", "" for none */
};

struct cdi_mount {
	const char *host_path, *container_path;
	const char *type;         /* NULL: a bind mount */
	struct cdi_texts options; /* "ro", "nosuid" … */
};

struct cdi_hook {
	const char *name; /* "createContainer" */
	const char *path;
	struct cdi_texts args, env; /* args begin with the program's name */
};

struct cdi_net_device {
	const char *host_name, *name;
};

struct cdi_edits {
	VEC(const char *) env; /* "K=V" */
	VEC(struct cdi_node) nodes;
	VEC(struct cdi_mount) mounts;
	VEC(struct cdi_hook) hooks;
	VEC(struct cdi_net_device) net_devices;
	VEC(uint32_t) gids;
	bool intel_rdt; /* asked for; nothing here can do it */
};

struct cdi_device {
	const char *name; /* "0", "all", "GPU-…" */
	struct cdi_edits edits;
};

struct cdi_spec {
	const char *file;    /* its name, as given */
	const char *version; /* of the specification it follows */
	const char *kind;    /* "nvidia.com/gpu" */
	struct cdi_edits edits;
	VEC(struct cdi_device) devices; /* in the order written, no name twice */
};

/*
 * Read a specification; texts live in `arena`, the arrays are released by cdi_spec_release.
 * `name` is for error texts and for spec->file; one that ends in ".json" must be strict JSON.
 * Errors: ERROR_FORMAT with line and column; also for a version that is newer than
 * CDI_VERSION_MAX, with that in the text.
 */
int cdi_parse(struct slice text, const char *name, struct arena *arena, struct cdi_spec *out,
	      struct error *err) MUST_USE;
void cdi_spec_release(struct cdi_spec *spec);
#define cleanup_cdi_spec cleanup(cdi_spec_release)
void cdi_edits_release(struct cdi_edits *edits);

/*
 * Add `from` to `into`, as CDI's library applies edits to a container: a node replaces one with the
 * same path, a mount one with the same destination; the rest is appended. The texts are shared.
 */
void cdi_edits_add(struct cdi_edits *into, const struct cdi_edits *from);
/* Sort mounts by the depth of their destination, so that none hides one made before it. */
void cdi_edits_sort(struct cdi_edits *edits);
/* The device of that name, or NULL. */
const struct cdi_device *cdi_device_find(const struct cdi_spec *spec, const char *name);
/* What a hook of NVIDIA's is to do: "create-symlinks"; "" for other hooks. */
const char *cdi_hook_name(const struct cdi_hook *hook);
/*
 * The value of "--name VALUE" or "--name=VALUE" at args->items[*at], which may move on by one;
 * NULL: another argument stands there.
 */
const char *cdi_hook_flag(const struct cdi_texts *args, size_t *at, const char *name);
/*
 * Cut "vendor/class=name" into kind and name, heap; false when it is not of that form.
 */
bool cdi_device_split(const char *text, char **out_kind, char **out_name);

/* It says "ro". */
bool cdi_mount_is_read_only(const struct cdi_mount *m);
/* A place in a file system that a container has of its own: /dev, /proc, /sys or /tmp. */
bool cdi_path_is_fresh(const char *path);

#endif
