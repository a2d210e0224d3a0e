/*
 * What the bytes of an image belong to, for people who want it smaller: libraries of the CUDA
 * stack, Python packages, parts of the system. Judged by where files lie; effective files only,
 * hard links once.
 */
#ifndef LINT_COMPONENTS_H
#define LINT_COMPONENTS_H

#include "lint/facts.h"

struct component {
	const char *name; /* "cublas", "python: torch", "/usr/lib" */
	uint64_t bytes;   /* unpacked */
	size_t files;
};

struct components {
	struct component *items; /* the largest first */
	size_t len, cap;
};

/* Names live in `arena`. Release with vec_release. */
void components_find(const struct facts *facts, struct arena *arena, struct components *out);

/* "cublas" of "libcublasLt.so.12.4.2.65"; NULL: no library of the CUDA stack. */
const char *component_library(const char *file_name);

#endif
