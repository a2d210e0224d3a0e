/*
 * Which component goes to which layer, and why.
 *
 * split component: a component of at least 96 MiB (raw; about 64 MiB compressed) has layers of its
 * own, the same bytes in every image that holds it. Smaller ones are grouped by how often their
 * kind changes, as assumed, in changes a year: CUDA 4, frameworks 8, operating system 12, other
 * Python distributions 30, application 300, metadata (what depends on the whole set) last; so a
 * change re-ships little. A class of 256 MiB or more is split in up to 8 groups by a hash of the
 * source's name without its version.
 *
 * A component of more than `max-size` (counted raw, so that the compressed layer is below it) is
 * cut: from half of that on before a file whose name without version hashes to one value in four,
 * at the limit in any case. A large folder of the user's is cut more finely: its files of 8 MiB
 * and more from 256 MiB on (one value in two), its other files from 64 MiB on (or a sixteenth of
 * their sum), so that one edited file is one small layer.
 *
 * split stage: what each stage contributes; split single: one layer; both cut at `max-size`.
 *
 * Where split component would make more than PLAN_LAYERS_WANTED layers, the base's among them, the
 * smallest neighbouring groups of a class are merged until it does not; then large folders are cut
 * at max-size alone. Solo layers stay, even if the image then has more. Where it would have more
 * than PLAN_LAYERS_MAX, each class becomes one layer, then all of it; only what max-size alone cuts
 * into more is refused.
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
	const char *class;      /* "cuda", "framework", "os", "python", "application", "metadata" */
	const char *reason;     /* why these are a layer */
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

/*
 * Over a base image (a part of kind COMPONENT_BASE, which comes to no layer) the last layer also
 * gives back the owner and mode of the base's directories where layers below it name others, and
 * holds the whiteouts of what was removed. Entries borrow from `r`, which must outlive the plan.
 * Release with plan_release.
 */
int plan_make(struct rootfs *r, const struct stack_layers *options, struct plan *out,
	      struct error *err) MUST_USE;
void plan_release(struct plan *plan);
#define cleanup_plan cleanup(plan_release)

enum {
	PLAN_LAYERS_WANTED = 48,
	PLAN_LAYERS_WARN = 100,
	PLAN_LAYERS_MAX = 127, /* what overlay file systems of container engines mount at most */
};

/* The names of the components that finish actions write to: each has its own place in the plan. */
#define PLAN_FILESYSTEM "filesystem" /* merged links and folders: with the operating system */
#define PLAN_CUDA "gpuimg-cuda"      /* links and the stub: with CUDA */
#define PLAN_METADATA "gpuimg"       /* what depends on the set: last */

#endif
