/*
 * Images in the local store of an engine, through its own tool: `docker save` for docker-daemon:,
 * `podman save` for containers-storage:. The archive goes to an unlinked temporary file.
 */
#ifndef OCI_ENGINE_ARCHIVE_H
#define OCI_ENGINE_ARCHIVE_H

#include "oci/reference.h"
#include "oci/source.h"

/*
 * ERROR_NOT_FOUND: the tool is not installed; ERROR_SYSTEM with what the tool said when it did not
 * give the image. NULL on error.
 */
struct image_source *engine_source(const struct image_name *name, struct error *err) MUST_USE;

#endif
