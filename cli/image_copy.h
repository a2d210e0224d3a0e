/*
 * Images from one place to another: what pull, push and copy have in common.
 */
#ifndef CLI_IMAGE_COPY_H
#define CLI_IMAGE_COPY_H

#include "cli/registry_arg.h"
#include "oci/source.h"

/* Where the blobs of an image come from, with these options for registries. NULL on error. */
struct image_source *image_copy_source(const struct image_name *name,
				       const struct client_options *client,
				       struct error *err) MUST_USE;

struct image_copy {
	const struct invocation *in;
	struct registry_arg *registry;
	struct image_name from;
	const char *to; /* as the user wrote it */
	bool all;       /* an index with all its images, if no --platform is given */
};

/* Copy, and print what arrived. */
int image_copy_run(const struct image_copy *copy, struct error *err) MUST_USE;

#endif
