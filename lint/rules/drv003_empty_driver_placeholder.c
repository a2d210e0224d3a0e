#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static bool is_placeholder(const struct facts *facts, const char *path)
{
	const char *name = path_name(path);

	if (path_is_stub(path) || path_is_set_aside(path))
		return false;
	if (runtime_driver_library(facts, name))
		return true;
	return runtime_is_cuda_library(name) &&
	       (is_default_dir(facts, path_dir(facts, path)) || path_is_tegra(path));
}

static bool is_placeholder_of_program(const struct facts *facts, const char *path)
{
	const struct driver_entry *e = driver_program(&facts->driver, path_name(path));

	return e && e->verdict == DRIVER_ERROR && !path_is_set_aside(path) &&
	       (str_starts(path, "/usr/bin/") || str_starts(path, "/bin/"));
}

/* Covered by the runtime's own where there is a GPU; a shell takes it for a script that succeeds.
 */
static void report_program(const struct rule *rule, const struct facts *facts,
			   struct findings *found, const struct tree_node *node, const char *path)
{
	struct finding *f =
		finding_add(found, rule, path, facts_layer(facts, node), "",
			    "%s is a file of no bytes, left where a program of the driver was "
			    "mounted: without the GPU runtime, starting it does nothing and "
			    "reports success to a shell.",
			    path);

	f->severity = SEVERITY_WARNING;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const char *path;
		struct finding *f;

		if (nodes[i]->entry.type != TAR_FILE || nodes[i]->entry.size)
			continue;
		path = facts_path(facts, nodes[i]);
		if (is_placeholder_of_program(facts, path))
			report_program(rule, facts, found, nodes[i], path);
		if (!strstr(path, ".so"))
			continue;
		if (!is_placeholder(facts, path))
			continue;
		f = finding_add(
			found, rule, path, facts_layer(facts, nodes[i]), "",
			"%s is a file of no bytes, left where a driver file was mounted: the "
			"loader and the linker say \"file too short\" or \"file truncated\".",
			path);
		if (facts_requests_jetson(facts) &&
		    facts_resolve(facts, "/etc/nv_tegra_release", NULL))
			f->severity = SEVERITY_INFO;
	}
	return 0;
}

const struct rule rule_drv003 = {
	.id = "DRV003",
	.name = "empty-driver-placeholder",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A file of no bytes has the name of a driver or CUDA library, or (a warning) of a "
		"program "
		"of the driver.",
	.why = "Committing a container that had driver files mounted leaves the empty mount "
	       "points. "
	       "The runtime may cover them or stop at them, and without it the loader finds a "
	       "library that is too short, ldconfig says \"file is empty, not checked\".",
	.fix = "Rebuild with the plain runtime as the engine's default, or delete the files.",
	.sources = "NVIDIA/libnvidia-container src/nvc_mount.c; glibc elf/ldconfig.c",
	.check = check,
};
