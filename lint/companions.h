/*
 * Libraries that others open by name when they run, so that no NEEDED entry tells.
 * Source: strings of cuDNN 8 and 9, NVRTC, ONNX Runtime, TensorRT, CTranslate2 4;
 * manifests/tables/cudnn.json file_sets; PyTorch ATen/native/cuda/NVRTC; XLA
 * tsl/platform/default/dso_loader.cc and the wheels that jax's extras cuda12 and cuda13 and
 * TensorFlow's and-cuda require.
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
/* It is loaded by name itself, as the purpose of its package, so it counts although nothing needs
 * it. */
bool companions_is_plugin(const struct object *object);
/* Without them it computes on the CPU, as those who have no GPU want it. */
bool companions_are_fallen_back_from(const struct object *opener);
/* What to install so that they are there: "pip install 'jax[cuda13]'"; NULL: nothing better is
 * known than their package. */
const char *companions_remedy(const struct object *opener);
/*
 * Where `opener` finds `name`: beside itself, else as the loader would. False: nowhere.
 */
bool companion_find(struct loader *loader, const struct object *opener, const char *name,
		    struct loader_hit *out);

#endif
