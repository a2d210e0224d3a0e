/*
 * What a status of one of CUDA's libraries means on a device whose driver works: the tests of the
 * run tier have a context before they call a library.
 *
 * Sources: cublas_api.h, cudnn_graph.h, cufft.h, curand.h, cusolver_common.h, cusparse.h, nccl.h,
 * nvml.h (tests/tools/gpu-api compares names and numbers with those that are installed).
 */
#ifndef TESTKERNELS_VERDICT_LIBRARY_H
#define TESTKERNELS_VERDICT_LIBRARY_H

#include "testkernels/test_report.h"

struct library_status {
	const char *domain; /* "libcublas" */
	int64_t code;
	const char *name; /* as the library's header has it */
	enum test_blame blame;
	const char *message, *hint; /* NULL: nothing to say */
};

/* NULL when it is not known. */
const struct library_status *library_status_find(const char *domain, int64_t code);
/* Who is to blame for a status of `domain` that is not known. */
enum test_blame library_blame(const char *domain);

#endif
