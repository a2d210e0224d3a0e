/*
 * What rpmmd.c and rpmmd_index.c share of libsolv. Private to them.
 */
#ifndef BUILDER_SOURCES_RPMMD_SOLV_H
#define BUILDER_SOURCES_RPMMD_SOLV_H

#include <solv/pool.h>

#include "base/digest.h"

/* An empty pool that prints nothing. */
Pool *rpmmd_pool(void);
/* A checksum of libsolv's; -1 unless it is a SHA-256 or SHA-512. */
int rpmmd_digest(const unsigned char *bytes, Id type, struct digest *out) MUST_USE;

#endif
