/*
 * Parts of an OCI runtime bundle's config.json that the sandbox of build stages and the run modes
 * of test kernels write alike. Values are new, the caller's. Source: OCI runtime
 * specification 1.0.2, config.md, config-linux.md.
 */
#ifndef OCI_RUNTIME_CONFIG_H
#define OCI_RUNTIME_CONFIG_H

#include "formats/cdi.h"
#include "formats/json.h"

/* Takes `options`, a list of texts. */
json_t *runtime_mount(const char *to, const char *type, const char *from, json_t *options);
/* Adds what every container has: /proc, an empty /dev with its terminals, a /tmp in memory. */
void runtime_add_mounts(json_t *mounts);
/* Adds one namespace of a new container: "pid", "network", … */
void runtime_add_namespace(json_t *namespaces, const char *kind);
/* A mapping of one id. */
json_t *runtime_id_mapping(uint32_t inside, uint32_t outside);
/* What a device needs to be mounted. */
void runtime_add_cdi_mounts(const struct cdi_edits *edits, json_t *mounts);
/* Its nodes and the rules that let them be opened, for a runtime that root starts: into "linux". */
void runtime_add_cdi_devices(const struct cdi_edits *edits, json_t *linux_part);
/*
 * The same for a plain user, whose runtime binds the host's node of the same path, whatever the
 * numbers: said as mounts.
 */
void runtime_bind_cdi_devices(const struct cdi_edits *edits, json_t *mounts);

#endif
