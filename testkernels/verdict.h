/*
 * From what was seen to who is to blame and what to do: the tables of codes and of loader
 * messages, and the sentences for people.
 *
 * Sources: cuda.h (CUresult), driver_types.h (cudaError), cublas_api.h, cudnn_graph.h, nvrtc.h,
 * nccl.h; glibc's elf/dl-load.c for the loader's messages.
 */
#ifndef TESTKERNELS_VERDICT_H
#define TESTKERNELS_VERDICT_H

#include "testkernels/probe_lines.h"

struct verdict {
	enum test_status status;
	enum test_blame blame;
	const char *code_name; /* NULL: none */
	const char *message;   /* NULL: nothing to say */
	const char *hint;      /* NULL: no advice */
};

/* What is known besides the outcome. */
struct verdict_context {
	enum test_tier tier;
	const char *path;     /* the library under test, as the image names it; NULL: none */
	const char *damage;   /* what reading the file found wrong; NULL: nothing */
	const char *root;     /* prefix of the image's files in the outcome; "" for "/" */
	uint64_t timeout_ms;  /* that applied */
	bool driver_injected; /* a driver library was given to the image */
	const char *driver_version, *module_version; /* of the host; NULL: unknown */
	bool driver_from_image; /* the libcuda that answered is the image's own */
	bool command;           /* a command of the manifest: its status and its output decide */
	const char *expect;     /* what the output must hold; NULL: nothing */
};

/*
 * Judge one test. `o` NULL: the probe never spoke of it (TEST_ERROR). Texts live in `arena`; paths
 * in them are the image's.
 */
void verdict_of(const struct probe_outcome *o, const struct verdict_context *context,
		struct arena *arena, struct verdict *out);

/*
 * The row of a code of the driver API or of the CUDA runtime (they agree where this is used), or
 * false when it is not known. `driver_from_image` decides between suspects.
 */
bool verdict_driver_code(int64_t code, bool driver_injected, bool driver_from_image,
			 struct verdict *out);

#endif
