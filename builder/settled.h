/*
 * The solver's choice as it binds Python packages: constraints for pip, and the check that what was
 * locked is what `gpuimg resolve` shows.
 */
#ifndef BUILDER_SETTLED_H
#define BUILDER_SETTLED_H

#include "base/vec.h"
#include "builder/base_image.h"
#include "manifests/lockfile.h"
#include "manifests/stack.h"

/* A framework of the solution. */
struct settled_framework {
	const char *key;     /* "jax": as the manifest says */
	const char *name;    /* of its distribution, normalized: "jax", "cupy-cuda12x" */
	const char *package; /* what pip is asked for: "jax[cuda12]" */
	const char *version; /* "0.8.3"; "1.22" when only the series is known */
	const char *flavour; /* of the build: "cu126" */
};

/* The solution for one platform; all NULL and empty when nothing was asked. */
struct settled {
	VEC(struct settled_framework)
	frameworks;               /* in the order of the manifest, then what they pin */
	const char *cuda;         /* "12.6"; NULL: no CUDA */
	const char *cudnn, *nccl; /* exact; NULL: not part of the stack, or not known for sure */
	const char *python;       /* the newest that all allow: "3.13"; NULL: not established */
	const char *constraints;  /* for pip, a line each; "" */
};

void settled_release(struct settled *settled);

/*
 * For the `index`th platform of a stack that solvable_check has passed; what a base image (NULL:
 * none) brings stays as it is, and `python` as in solvable_check. Texts live in `arena`.
 * Errors: those of reading the tables, and ERROR_USAGE for a clause that cannot be read.
 */
int settled_find(const struct stack *stack, size_t index, const struct base_image *base,
		 const char *python, struct arena *arena, struct settled *out,
		 struct error *err) MUST_USE;

/*
 * What the wheels of the image's stage are, against what was settled: a framework, CUDA's run-time
 * library, cuDNN and NCCL must be of those versions where they are wheels; and a wheel that says
 * what it was compiled against (flash-attn 2.8.3+cu12torch2.7cxx11abiTRUE) stands beside that torch
 * and that CUDA. ERROR_VERDICT names what disagrees, who gave it, and what can be done.
 */
int settled_confirm(const struct stack *stack, const struct lock_platform *inputs,
		    const struct settled *settled, struct error *err) MUST_USE;

#endif
