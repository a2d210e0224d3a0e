/*
 * What the GPU code of a file means for a GPU: machine code that runs, PTX the driver compiles, or
 * nothing.
 * Source: CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility"; PTX ISA,
 * ".target" (suffixes a and f).
 */
#ifndef LINT_COVERAGE_H
#define LINT_COVERAGE_H

#include "lint/facts.h"

enum coverage { /* worst first */
		COVER_NONE,
		COVER_LTO,      /* only what a link at run time could make code of */
		COVER_EMBEDDED, /* code of another minor; whether such a chip runs it is not known
				 */
		COVER_PTX,
		COVER_CODE,
};

/* Whether entries of that row serve the GPU, and how. */
enum coverage coverage_of_row(const struct gpu_row *row, const struct host_gpu *gpu,
			      const struct tables *tables);
/* The best of all rows. */
enum coverage coverage_of(const struct gpu_code *code, const struct host_gpu *gpu,
			  const struct tables *tables);
/* "sm_80, sm_90a; PTX sm_90" for messages; in `arena`. */
const char *coverage_text(const struct gpu_code *code, struct arena *arena);
/* True when all machine code is of one exact chip ("a") and there is no PTX: made for it alone. */
bool coverage_is_exact(const struct gpu_code *code);

#endif
