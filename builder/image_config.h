/*
 * Environment, labels, entrypoint and history of the image: what the manifest says, and what every
 * GPU image needs beside it.
 *
 * Added by itself: PATH, LANG=C.UTF-8; where the stack names CUDA, a driver, GPUs or a framework
 * also NVIDIA_VISIBLE_DEVICES=all, NVIDIA_DRIVER_CAPABILITIES=compute,utility and
 * NVIDIA_REQUIRE_CUDA. Never LD_LIBRARY_PATH, never CUDA_VERSION. The manifest's `env` wins.
 *
 * Over a base image its environment, user, entrypoint, command, folder, ports, volumes and labels
 * go on, with the manifest's on top; an entrypoint of the manifest drops the base's command. Its
 * history comes first, as it is.
 */
#ifndef BUILDER_IMAGE_CONFIG_H
#define BUILDER_IMAGE_CONFIG_H

#include "builder/base_image.h"
#include "builder/build.h"
#include "oci/config.h"

struct image_config_request {
	const struct stack *stack;
	const struct lock_stack *solved;
	struct platform platform;
	const char *created; /* RFC 3339 */
	const struct build_layer *layers;
	size_t layer_count;
	bool cuda_programs;               /* /usr/local/cuda/bin is there: it goes on PATH */
	bool bash;                        /* the default command's shell */
	const struct base_image *base;    /* whose configuration is gone on from; NULL */
	const struct digest *base_digest; /* of its manifest, for the annotations; NULL */
};

/* Fill *out; strings in `arena` or the request's. */
void image_config_make(const struct image_config_request *request, struct arena *arena,
		       struct image_config *out);
/* "2026-11-30T12:00:00Z" in `arena`. Seconds before year 0 or after 9999 give the nearest. */
const char *image_config_time(int64_t seconds, struct arena *arena);
/* Annotations of the image manifest; the caller's to json_decref. */
json_t *image_config_annotations(const struct image_config_request *request,
				 const char *compression);

#endif
