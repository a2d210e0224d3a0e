/*
 * GPU code in an image's own programs and libraries: what nvcc puts into `.nv_fatbin`, to be loaded
 * on the device. NVIDIA's libraries are not the image's own: they choose among their code by
 * themselves. Relocatable code (`__nv_relfatbin`) is not loaded before it is linked, and is left
 * out.
 *
 * Only the headers of containers are read, so that gigabytes cost a page each.
 */
#ifndef TESTKERNELS_IMAGE_CODE_H
#define TESTKERNELS_IMAGE_CODE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

enum { CODE_CONTAINERS_MAX = 48, CODE_OBJECTS_MAX = 64 };

struct code_container {
	uint64_t offset, size; /* bytes, in the file; its header included */
};

struct code_object {
	const char *path; /* absolute in the image */
	struct code_container containers[CODE_CONTAINERS_MAX];
	size_t count;
	size_t total; /* in the file; of more than can be kept every so many-th is */
};
struct code_objects {
	struct code_object *items; /* by path */
	size_t len, cap;
	size_t left_out; /* objects beyond CODE_OBJECTS_MAX */
};

/* Those below `rootfd`. Strings live in `arena`; release with vec_release. ERROR_SYSTEM. */
int image_code_find(int rootfd, struct arena *arena, struct code_objects *out,
		    struct error *err) MUST_USE;

#endif
