/*
 * What the GPU driver provides to a container at start, so that no layer should: typed access to
 * tables/driver-libraries.json, where each row names its source.
 */
#ifndef MANIFESTS_DRIVER_LIBRARIES_H
#define MANIFESTS_DRIVER_LIBRARIES_H

#include "base/arena.h"
#include "base/error.h"

/* A judgement about the file: the table's severity_meaning. */
enum driver_judgement { DRIVER_ALLOW, DRIVER_WARNING, DRIVER_ERROR };

struct driver_entry {
	const char *name;       /* "libcuda", "nvidia-smi" */
	const char *match;      /* shell pattern of the file name, or of the path when it has "/" */
	const char *kind;       /* "library", "binary", "config", "device", … */
	const char *capability; /* "compute", "utility", … */
	enum driver_judgement verdict;
	const char **sonames; /* what programs may need without any layer holding it */
	size_t soname_count;
	const char **allowed_where; /* patterns of paths where the name is legitimate */
	size_t allowed_count;
};

struct driver_libraries {
	struct arena arena;
	struct driver_entry *entries;
	size_t count;
	const char **always_allowed; /* patterns of paths */
	size_t always_allowed_count;
};

/* ERROR_FORMAT when the table is not what this reads. */
int driver_libraries_load(struct driver_libraries *out, struct error *err) MUST_USE;
void driver_libraries_release(struct driver_libraries *table);

/* The library entry whose pattern a file name matches ("libcuda.so.535.54.03"), or NULL. */
const struct driver_entry *driver_library(const struct driver_libraries *table, const char *name);
/* The program of that file name, or NULL. */
const struct driver_entry *driver_program(const struct driver_libraries *table, const char *name);
/* True when the entry may stand at that absolute path. */
bool driver_allowed_at(const struct driver_libraries *table, const struct driver_entry *entry,
		       const char *path);

#endif
