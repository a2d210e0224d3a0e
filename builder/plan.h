/*
 * Which component goes to which layer, and why.
 *
 * split component: a component of at least 96 MiB (raw; about 64 MiB compressed) has a layer of
 * its own, the same bytes in every image that holds it; smaller ones are grouped by how often
 * their kind changes: CUDA, other Python distributions, operating system, application, metadata
 * (what depends on the whole set), in this order, so that a change re-ships little. A layer whose
 * files sum up to more than `max-size` is cut between files. split stage: what each stage
 * contributes; split single: one layer.
 *
 * Layers are disjoint but for directories. A directory has the attributes of the component that
 * brings it in that layer, else the default ones; where that leaves other attributes than the tree
 * has, the last layer sets them right.
 */
#ifndef BUILDER_PLAN_H
#define BUILDER_PLAN_H

#include "builder/layer.h"
#include "builder/rootfs.h"
#include "manifests/stack.h"

struct plan_layer {
	const char *title;      /* "os", "nvidia-cublas 13.1.0.3", "application", "metadata" */
	const char *components; /* their names, separated by blanks */
	struct layer_entries entries;
	uint64_t bytes; /* of file content */
};

struct plan {
	struct arena arena;
	struct {
		struct plan_layer *items;
		size_t len, cap;
	} layers; /* lowest first */
};

/* Entries borrow from `r`, which must outlive the plan. Release with plan_release. */
int plan_make(struct rootfs *r, const struct stack_layers *options, struct plan *out,
	      struct error *err) MUST_USE;
void plan_release(struct plan *plan);
#define cleanup_plan cleanup(plan_release)

/* The names of the components that finish actions write to: each has its own place in the plan. */
#define PLAN_FILESYSTEM "filesystem" /* merged links and folders: with the operating system */
#define PLAN_CUDA "gpuimg-cuda"      /* links and the stub: with CUDA */
#define PLAN_METADATA "gpuimg"       /* what depends on the set: last */

#endif
