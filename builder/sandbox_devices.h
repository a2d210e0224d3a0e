/*
 * A device of this machine for the commands of a stage, by its CDI specification: nodes, mounts,
 * variables, and what NVIDIA's hooks do for libraries (hooks themselves are never run).
 *
 * Mount points and links are made in the stage's tree before the commands and taken away behind
 * them, so that nothing of the device is left to be copied out. A file that a command itself
 * copies stays.
 * Source: CDI specification 1.1.0; nvidia-container-toolkit 1.20, cmd/nvidia-cdi-hook.
 */
#ifndef BUILDER_SANDBOX_DEVICES_H
#define BUILDER_SANDBOX_DEVICES_H

#include "base/out.h"
#include "oci/cdi_devices.h"

struct sandbox_devices {
	struct arena arena;
	struct cdi_edits edits; /* sorted; mounts lead to places in the tree, links resolved */
	const char *libraries;  /* what goes on LD_LIBRARY_PATH, "/a:/b"; NULL: nothing */
	VEC(const char *) made; /* paths of the tree, outermost first */
};

/*
 * What `device` ("nvidia.com/gpu=all") needs; NULL: nothing. `dirs`: NULL-terminated, instead of
 * /etc/cdi and /var/run/cdi; or NULL. `stage` is for notes on hooks that are not known.
 * Errors: ERROR_USAGE  no such device; what it names does not exist on this machine
 */
int sandbox_devices_find(const char *device, const char *const *dirs, const struct out *out,
			 const char *stage, struct sandbox_devices *devices,
			 struct error *err) MUST_USE;
void sandbox_devices_release(struct sandbox_devices *devices);
#define cleanup_sandbox_devices cleanup(sandbox_devices_release)

/*
 * Mount points and links in the tree at `root`, whose links lead nowhere out of it. ERROR_USAGE:
 * a place that cannot be mounted at; ERROR_SYSTEM.
 */
int sandbox_devices_place(struct sandbox_devices *devices, const char *root,
			  struct error *err) MUST_USE;
/* Takes away what was made there and is as it was made. */
void sandbox_devices_clear(struct sandbox_devices *devices, const char *root);

#endif
