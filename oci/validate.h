/*
 * Every promise an image makes, checked: digests and sizes of all blobs, media types of one
 * family, diff_ids against the layers, history against them, platform of config and descriptor,
 * tar hygiene of each layer. Used by lint's OCI rules, by `verify` and by the tests.
 */
#ifndef OCI_VALIDATE_H
#define OCI_VALIDATE_H

#include "oci/image.h"

struct validate_problem {
	int layer;        /* -1: not about a layer */
	const char *path; /* "" or the entry concerned */
	const char *text; /* one sentence */
};

struct validate_problems {
	struct arena arena;
	struct validate_problem *items;
	size_t len, cap;
};

void validate_problems_release(struct validate_problems *p);
/*
 * Reads all blobs once. 0 when it could be judged, problems or not; a blob that is missing, too
 * short, or has another digest is a problem, not an error. -1: I/O or memory limits.
 */
int validate_image(struct image *image, struct validate_problems *out, struct error *err) MUST_USE;

#endif
