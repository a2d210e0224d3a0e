/*
 * Which CUDA, cuDNN, NCCL and framework an image holds, for reports. In order of trust: the labels
 * of an image that gpuimg built, package records (wheels, dpkg), versions in library file names.
 * What none of them tells stays NULL: a version is never guessed.
 */
#ifndef LINT_STACK_VERSIONS_H
#define LINT_STACK_VERSIONS_H

#include "lint/facts.h"

struct stack_versions {
	const char *cuda, *cudnn, *nccl, *torch; /* in the arena given; NULL: not known */
};

void stack_versions_find(const struct facts *facts, struct arena *arena,
			 struct stack_versions *out);

#endif
