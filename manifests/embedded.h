/*
 * The files of manifests/tables/, made part of the program when it is built. The table itself is
 * written by manifests/embed; nobody lists files by hand.
 */
#ifndef MANIFESTS_EMBEDDED_H
#define MANIFESTS_EMBEDDED_H

#include "base/slice.h"

struct embedded {
	const char *name;          /* "components.json" */
	const uint8_t *data, *end; /* a NUL follows the last byte */
};

extern const struct embedded embedded_files[]; /* sorted by name */
extern const size_t embedded_count;

/* The bytes of that file; data NULL when there is none. */
struct slice embedded_file(const char *name);

#endif
