/*
 * What rpmmd.c and rpmmd_index.c share of libsolv. Private to them.
 */
#ifndef BUILDER_SOURCES_RPMMD_SOLV_H
#define BUILDER_SOURCES_RPMMD_SOLV_H

#include <solv/pool.h>

#include "base/digest.h"
#include "base/slice.h"

/* An empty pool that prints nothing. */
Pool *rpmmd_pool(void);
/*
 * What a base image has installed, as the pool's installed packages: of a database of rpm as it is
 * (formats/pkgdb.h). -1 when it could not be read, or not to its end.
 */
int rpmmd_add_installed(Pool *pool, struct slice database, struct error *err) MUST_USE;
/* A checksum of libsolv's; -1 unless it is a SHA-256 or SHA-512. */
int rpmmd_digest(const unsigned char *bytes, Id type, struct digest *out) MUST_USE;

#endif
