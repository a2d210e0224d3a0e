/*
 * Which files of NVIDIA's products the licences name as those that may be handed on: typed access
 * to tables/redistribution.json, where each list names its source. What is said here is what a
 * list says; it grants nothing, and the same texts have conditions that no file name shows.
 */
#ifndef MANIFESTS_REDISTRIBUTION_H
#define MANIFESTS_REDISTRIBUTION_H

#include "base/arena.h"
#include "base/error.h"

struct redistribution_row {
	const char *match; /* shell pattern of the file name */
	const char *says;  /* "named in Attachment A of the CUDA Toolkit EULA" */
};

struct redistribution {
	struct arena arena;
	struct redistribution_row *rows;
	size_t count;
};

/* ERROR_FORMAT when the table is not what this reads. */
int redistribution_load(struct redistribution *out, struct error *err) MUST_USE;
void redistribution_release(struct redistribution *table);

/* What is said of a file of that name ("libcublas.so.13.0.0.19"); NULL: no list names it. */
const char *redistribution_of(const struct redistribution *table, const char *name);
/* True of a licence that is NVIDIA's own, by its name ("CUDA Toolkit", "NVIDIA Proprietary…"). */
bool redistribution_governs(const char *license);

#endif
