/*
 * CUDA as distributions package it themselves (libcudart12, nvidia-cuda-toolkit), locked beside
 * NVIDIA's own: two copies of libraries that find each other by the same names, of which a program
 * gets whichever the loader meets first. The names are those of components.json, "distribution".
 */
#ifndef BUILDER_DISTRIBUTION_CUDA_H
#define BUILDER_DISTRIBUTION_CUDA_H

#include "base/out.h"
#include "manifests/lockfile.h"

/*
 * Warns once for each stage of a platform in which both were locked, with the packages, who brings
 * them and what to do. ERROR_FORMAT: the table is malformed.
 */
int distribution_cuda_check(const struct lockfile *lock, const struct out *out,
			    struct error *err) MUST_USE;

#endif
