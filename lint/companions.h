/*
 * Libraries that others open by name when they run, so that no NEEDED entry tells.
 * Source: strings of cuDNN 8 and 9, NVRTC, ONNX Runtime, TensorRT; manifests/tables/cudnn.json
 * file_sets; PyTorch ATen/native/cuda/NVRTC.
 */
#ifndef LINT_COMPANIONS_H
#define LINT_COMPANIONS_H

#include "lint/loader.h"

struct companion {
	const char *name;
	bool optional; /* nothing is amiss without it */
};

struct companions {
	struct companion *items;
	size_t len, cap;
};

/* What `opener` opens by name, by its own name and version. Release with vec_release. */
void companions_of(const struct facts *facts, const struct object *opener, struct companions *out);
/*
 * Where `opener` finds `name`: beside itself, else as the loader would. False: nowhere.
 */
bool companion_find(struct loader *loader, const struct object *opener, const char *name,
		    struct loader_hit *out);

#endif
