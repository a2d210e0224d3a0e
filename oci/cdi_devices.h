/*
 * The CDI devices of a machine: every specification of the directories engines look into, and what
 * a container needs for the devices it asks for.
 *
 * Files are `*.json` and `*.yaml` directly in a directory. A device in a later directory hides one
 * of the same name in an earlier; the same device twice in one directory cannot be had at all. A
 * file that cannot be read hides nothing of others: it is noted, and said when one of its devices
 * might have been meant.
 * Source: cncf-tags/container-device-interface SPEC.md 1.1.0, pkg/cdi/cache.go.
 */
#ifndef OCI_CDI_DEVICES_H
#define OCI_CDI_DEVICES_H

#include "formats/cdi.h"

struct cdi_devices {
	struct arena arena;
	VEC(struct cdi_spec) specs; /* by directory, then by file name */
	VEC(size_t) directory;      /* of each spec: its position in the list given */
	VEC(const char *) damaged;  /* "FILE:LINE:COLUMN: why", of files that cannot be read */
};

/*
 * Read all of `dirs`, NULL-terminated; NULL: /etc/cdi and /var/run/cdi. A directory that does not
 * exist is empty. Never an error: see `damaged`.
 */
void cdi_devices_read(const char *const *dirs, struct cdi_devices *out);
void cdi_devices_release(struct cdi_devices *d);
#define cleanup_cdi_devices cleanup(cdi_devices_release)

/* True when some specification is of that kind. */
bool cdi_devices_have(const struct cdi_devices *d, const char *kind);

/*
 * Add to `edits` what the device ("nvidia.com/gpu=0") needs: first, once per file, the edits at the
 * top of the file. `used` (a growing list of specs, in the caller's hands) tells which files were
 * used. "KIND=all" where no file has a device of that name stands for all devices of the kind.
 * Errors: ERROR_USAGE  not of that form; no such device, with those that there are and the files
 *                      that could not be read; or one directory has it twice, with both files
 */
struct cdi_used {
	const struct cdi_spec **items;
	size_t len, cap;
};
int cdi_devices_add(const struct cdi_devices *d, const char *device, struct cdi_used *used,
		    struct cdi_edits *edits, struct error *err) MUST_USE;
/*
 * The soname of a library of this machine, its file's name when it has none; NULL when it is no
 * library of `machine` (0: of any). In `arena`.
 */
const char *cdi_devices_soname(const char *path, uint16_t machine, struct arena *arena);

#endif
