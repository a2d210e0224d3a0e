/*
 * Every promise an image makes, checked: digests and sizes of all blobs, media types of one
 * family, diff_ids against the layers, history against them, platform of config and descriptor,
 * tar hygiene of each layer. Written apart from what makes and judges images.
 */
#ifndef TESTS_SUPPORT_VALIDATE_H
#define TESTS_SUPPORT_VALIDATE_H

#include "oci/image.h"

enum validate_kind {
	VALIDATE_BLOB,       /* a blob is missing, short, or has another digest or size */
	VALIDATE_DIFF_ID,    /* a layer's content is not what the configuration says */
	VALIDATE_MEDIA_TYPE, /* unknown, of the other family, or not what the content is */
	VALIDATE_PLATFORM,   /* the configuration and the index entry differ */
	VALIDATE_ENTRY,      /* an entry that must not be unpacked: unsafe name, bad archive */
	VALIDATE_ENTRY_ODD,  /* an entry that tools treat differently */
	VALIDATE_CONFIG,     /* history, Env and the like */
};

struct validate_problem {
	enum validate_kind kind;
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
#define cleanup_problems cleanup(validate_problems_release)
/*
 * Reads all layers once; manifest and configuration were verified when the image was opened. At
 * most 100 problems with entries are kept per layer, the last of them says that there are more.
 * What a docker-archive does not promise (digests of layer files) is true by construction. An
 * unpacked root has no promises. 0 when it could be judged, problems or not; a blob that is
 * missing, too short, or has another digest is a problem, not an error. -1: I/O or memory limits.
 */
int validate_image(struct image *image, struct validate_problems *out, struct error *err) MUST_USE;

#endif
