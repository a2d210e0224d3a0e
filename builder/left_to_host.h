/*
 * Packages of the driver that others depend on: an image has their record, the host has the rest.
 * What is said of them where a lock is made, an image built, and in its SBOM.
 */
#ifndef BUILDER_LEFT_TO_HOST_H
#define BUILDER_LEFT_TO_HOST_H

#include "base/out.h"
#include "manifests/lockfile.h"

/* What became of the package and why, as a sentence without its name; NULL for any other. */
const char *left_to_host(const struct lock_input *in, struct arena *arena);
/* A note of each such package of the lock, once for each name and version. */
void left_to_host_tell(const struct lockfile *lock, const struct out *out);

#endif
