/*
 * Driver branches: typed access to driver-branches.json.
 */
#ifndef MANIFESTS_TABLE_DRIVERS_H
#define MANIFESTS_TABLE_DRIVERS_H

#include "manifests/table_read.h"

struct driver_branch {
	unsigned branch;
	const char *kind; /* "LTS", "PB", "NFB", "developer"; NULL: not established */
	const char *eol, *eol_confidence; /* "2026-06"; NULL: none known */
	const char *native_cuda; /* the CUDA it serves by itself, "12.2"; NULL: not established */
	const char *latest;      /* newest release met */
	struct table_origin origin;
};

struct table_drivers {
	struct driver_branch *items; /* oldest first */
	size_t count;
	struct table_numbers active;
};

int table_drivers_read(const struct table *table, struct arena *arena, struct table_drivers *out,
		       struct error *err) MUST_USE;
/* The row of that branch, or NULL. */
const struct driver_branch *driver_branch(const struct table_drivers *t, unsigned branch);
/* The newest known branch that is not newer than `driver` ("535.104"), or NULL. */
const struct driver_branch *driver_branch_of(const struct table_drivers *t, const char *driver);

#endif
