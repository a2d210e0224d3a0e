#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"

/* libcuda.so -> libcuda.so.1 where the driver will be mounted: the runtime makes the target. */
static bool is_for_the_driver(const struct facts *facts, const char *path, const char *target)
{
	const char *name = path_name(path), *dir = path_dir(facts, path), *dirs[2];
	size_t len = strlen(name);

	if (!str_ends(name, ".so") || strncmp(path_name(target), name, len) != 0 ||
	    !str_equal(path_name(target) + len, ".1"))
		return false;
	runtime_driver_dirs(facts, dirs);
	return is_default_dir(facts, facts_real(facts, dir)) ||
	       str_equal(facts_real(facts, dir), facts_real(facts, dirs[0])) ||
	       str_equal(facts_real(facts, dir), facts_real(facts, dirs[1]));
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const char *path, *link = tree_link(nodes[i]);

		if (nodes[i]->entry.type != TAR_SYMLINK ||
		    !runtime_driver_library(facts, facts_name(facts, nodes[i])))
			continue;
		path = facts_path(facts, nodes[i]);
		if (facts_resolve(facts, path, NULL) || facts_is_dir(facts, path) ||
		    path_is_compat(path) || path_is_set_aside(path) ||
		    is_for_the_driver(facts, path, link))
			continue;
		finding_add(
			found, rule, path, facts_layer(facts, nodes[i]), "",
			"%s points to %s, which is not in the image; it was left by a driver that "
			"was mounted or deleted, and stands in the way of the host's.",
			path, link);
	}
	return 0;
}

const struct rule rule_drv004 = {
	.id = "DRV004",
	.name = "dangling-driver-link",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "A link with the name of a driver library leads nowhere.",
	.why = "It was made for a driver that is no longer there. The runtime opens its mount "
	       "targets "
	       "without following links, so an old one can stop the container's start, and a "
	       "program "
	       "that opens the name finds nothing.",
	.fix = "Delete the link.",
	.sources = "NVIDIA/libnvidia-container src/nvc_mount.c",
	.check = check,
};
