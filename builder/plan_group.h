/*
 * The components that share a layer, and where layers are cut: the part of builder/plan that knows
 * names and sizes and no paths.
 */
#ifndef BUILDER_PLAN_GROUP_H
#define BUILDER_PLAN_GROUP_H

#include "builder/plan.h"

/* By how often they change, as assumed; the order of the layers. */
enum plan_class {
	PLAN_CLASS_CUDA,
	PLAN_CLASS_FRAMEWORK,
	PLAN_CLASS_OS,
	PLAN_CLASS_PYTHON,
	PLAN_CLASS_APPLICATION,
	PLAN_CLASS_METADATA,
};

struct plan_group {
	const char *title, *reason; /* in the arena */
	enum plan_class class;
	bool solo;
	bool folder;    /* cut by sizes: large files apart from small ones */
	uint64_t bytes; /* of file content */
	struct {
		size_t *items; /* indexes of rootfs parts, ascending */
		size_t len, cap;
	} parts;
};

struct plan_groups {
	struct plan_group *items;
	size_t len, cap;
};

/*
 * `few`: a layer for each class and no more. Over a base with many layers (r->base_layers) the
 * small components of a class stay together in any case.
 */
void plan_groups_make(const struct rootfs *r, enum stack_split split, bool few, struct arena *arena,
		      struct plan_groups *out);
void plan_groups_release(struct plan_groups *g);
/*
 * Merge neighbours of one class that are not solo, `count` times those two that are smallest
 * together. Returns how many times more that could be done.
 */
size_t plan_groups_merge(struct plan_groups *g, size_t count, struct arena *arena);
/* Folders are cut as other components are. */
void plan_groups_coarsen(struct plan_groups *g, struct arena *arena);

/* "cuda", "framework", "os", "python", "application", "metadata". */
const char *plan_class_name(enum plan_class class);

/*
 * A cut is made before an entry from `min` bytes on when the hash of its name says so, and always
 * when it would take the layer over `max`; so it depends on names near it and on nothing far away.
 */
struct plan_cutter {
	uint64_t min, max;
	unsigned one_in; /* hash values that cut */
};
bool plan_cuts(const struct plan_cutter *c, uint64_t bytes, const struct tar_entry *next);
/* For a component of its own: cuts from half of `max` on. */
struct plan_cutter plan_cutter(uint64_t max);
/* For the large or the small files of a folder that hold `total` bytes. */
struct plan_cutter plan_folder_cutter(uint64_t total, bool large, uint64_t max);
/* From which size on a file of a folder counts as large. */
#define PLAN_LARGE_FILE (8 * MIB)

#endif
