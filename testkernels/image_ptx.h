/*
 * The PTX in an image's own objects, as samples to assemble: what the driver would have to compile
 * on a GPU for which there is no machine code.
 *
 * Large libraries hold thousands of such texts, of up to megabytes, whose assembly takes a minute.
 * For each object, architecture and version of PTX one is taken: the smallest that is more than a
 * few lines, since many are empty, and is assembled in a moment. Whether an assembler knows the
 * version and the architecture does not depend on the kernel. Relocatable code counts, since
 * assembling comes before linking.
 */
#ifndef TESTKERNELS_IMAGE_PTX_H
#define TESTKERNELS_IMAGE_PTX_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

struct ptx_sample {
	const char *object;    /* absolute in the image */
	const char *file;      /* its text, in the folder of the samples: "12.ptx"; NULL: it is
				  too large to be assembled for a test, or damaged */
	unsigned sm;           /* 90 */
	char suffix;           /* 'a', 'f', or 0 */
	unsigned major, minor; /* of PTX */
};
struct ptx_samples {
	struct ptx_sample *items; /* by object, then by architecture and version */
	size_t len, cap;
};

/*
 * The samples of the tree below `rootfd`. They are kept in the folder `dir`: read from there when
 * it is whole, else found in the tree's objects, which reads gigabytes, and written. Strings live
 * in `arena`; release with vec_release. ERROR_SYSTEM.
 */
int image_ptx_find(int rootfd, const char *dir, struct arena *arena, struct ptx_samples *out,
		   struct error *err) MUST_USE;

/*
 * True when a driver would compile PTX of this kind for the target ("sm_90", "compute_90a"): plain
 * PTX for its architecture and later ones, "a" for its own alone, "f" for its family.
 */
bool ptx_serves(const struct ptx_sample *sample, const char *target);

#endif
