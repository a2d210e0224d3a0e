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
/*
 * The newest PTX that is sure to be compiled for a GPU that has no machine code in the file; NULL:
 * none is. Of every container the driver takes that of the highest architecture it can: what is of
 * the highest in the file is taken wherever it stands, what is of a lower one may stand beside it.
 */
const struct gpu_row *coverage_compiled(const struct gpu_code *code, const struct host_gpu *gpu,
					const struct tables *tables);
/* By its version of PTX. */
bool ptx_is_newer(const struct gpu_row *a, const struct gpu_row *b);
/* "sm_80, sm_90a; PTX sm_90" for messages; in `arena`. */
const char *coverage_text(const struct gpu_code *code, struct arena *arena);
/* True when all machine code is of one exact chip ("a") and there is no PTX: made for it alone. */
bool coverage_is_exact(const struct gpu_code *code);

#endif
