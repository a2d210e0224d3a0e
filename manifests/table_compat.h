/*
 * Forward compatibility packages and the host branches they may run on: typed access to
 * forward-compat.json.
 */
#ifndef MANIFESTS_TABLE_COMPAT_H
#define MANIFESTS_TABLE_COMPAT_H

#include "manifests/table_read.h"

struct compat_package {
	const char *name; /* "cuda-compat-13-0" */
	const char *cuda; /* "13.0" */
	unsigned built_from;
	struct table_numbers hosts; /* branches whose hosts may use it */
	struct table_origin origin;
};

struct table_compat {
	struct compat_package *items;
	size_t count;
	struct table_numbers columns; /* the host branches the published table speaks of */
};

int table_compat_read(const struct table *table, struct arena *arena, struct table_compat *out,
		      struct error *err) MUST_USE;
/* The package that serves a CUDA minor, or NULL. */
const struct compat_package *compat_for(const struct table_compat *t, const char *cuda_minor);

#endif
