/*
 * Opens the image that a command-line argument names, whatever its transport.
 */
#ifndef CLI_IMAGE_ARG_H
#define CLI_IMAGE_ARG_H

#include "cli/command.h"
#include "oci/image.h"

/* For the option tables of commands that read images. */
#define PLATFORM_OPTION                                                                   \
	{                                                                                 \
		.name = "platform", .value = "OS/ARCH",                                   \
		.help = "which image of a multi-platform index (default: this machine's)" \
	}

/* Uses the option "platform" when the command has it. Release with image_release. */
int image_arg_open(const struct invocation *in, const char *text, struct image *out,
		   struct error *err) MUST_USE;

/*
 * Where the blobs of that name come from, whatever its transport, for commands that open several
 * images of one index. NULL on error.
 */
struct image_source *image_arg_source(const char *text, struct error *err) MUST_USE;

#endif
