/*
 * Combinations that are known not to work: typed access to known-bad.json.
 */
#ifndef MANIFESTS_TABLE_KNOWN_BAD_H
#define MANIFESTS_TABLE_KNOWN_BAD_H

#include "manifests/table_read.h"

struct known_bad {
	const char *id;
	bool avoid;               /* not chosen freely; else only said */
	const char *cudnn, *cuda; /* ranges that must hold; NULL: any */
	const char *framework, *framework_range;
	struct table_texts gpus; /* capabilities of which one must be a target; none: any */
	bool system_libraries;   /* only when the libraries come from the system */
	const char *effect;
	struct table_origin origin;
};

struct table_known_bad {
	struct known_bad *items;
	size_t count;
};

int table_known_bad_read(const struct table *table, struct arena *arena,
			 struct table_known_bad *out, struct error *err) MUST_USE;

#endif
