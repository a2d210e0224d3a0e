#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"

/* The directories drivers are put into, resolved, once each. */
static size_t mount_dirs(const struct facts *facts, const char *out[3])
{
	const char *dirs[2];
	size_t count = 0;

	runtime_driver_dirs(facts, dirs);
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
		const char *real = facts_real(facts, dirs[i]);

		if (!count || !str_equal(out[0], real))
			out[count++] = real;
	}
	return count;
}

/* A name the runtime mounts: the versioned one, or a soname where it is what is mounted. */
static bool is_mount_target(const char *name, const struct driver_entry *e)
{
	if (driver_version_of(name))
		return true;
	for (size_t i = 0; i < e->soname_count; i++) {
		if (str_equal(e->sonames[i], name))
			return true;
	}
	return false;
}

static void report(const struct rule *rule, const struct facts *facts, struct findings *found,
		   const struct tree_node *node)
{
	const char *path = facts_path(facts, node);
	struct finding *f;
	/* Of libraries, only WSL2 mounts the soname; elsewhere it is the versioned name. */
	bool wsl_only = strstr(path, ".so") && !driver_version_of(path_name(path));

	f = finding_add(
		found, rule, path, facts_layer(facts, node), "",
		"%s is a link (to %s) where the runtime%s mounts the driver's file of that name; "
		"it "
		"opens its targets without following links, so the start can stop with \"file "
		"exists\".",
		path, tree_link(node), wsl_only ? " of WSL2 hosts" : "");
	if (str_starts(tree_link(node), "/etc/alternatives/"))
		f->fix = "Remove the driver's package, whose alternative this is; link against the "
			 "stub in the toolkit's stubs directory where a build wants the library.";
	if (facts->target->runtimes & RUNTIME_WSL)
		f->severity = SEVERITY_ERROR;
	else if (strstr(path, ".so") && runtime_is_apptainer(facts))
		f->severity = SEVERITY_INFO;
}

/* What leads to a stub or to compat is told by the rules about those. */
static bool is_anothers(const struct facts *facts, const char *real)
{
	const struct object *o = facts_object(facts, real);

	return path_is_stub(real) || path_is_compat(real) || (o && object_is_stub(o));
}

static void check_dir(const struct rule *rule, const struct facts *facts, struct findings *found,
		      const char *dir)
{
	struct tree_nodes nodes = { 0 };

	facts_list(facts, dir, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		const char *name = facts_name(facts, nodes.items[i]);
		const char *path = facts_path(facts, nodes.items[i]), *real = NULL;
		const struct driver_entry *e = runtime_driver_library(facts, name);

		if (nodes.items[i]->entry.type != TAR_SYMLINK || !e || !is_mount_target(name, e))
			continue;
		if (facts_resolve(facts, path, &real) && !is_anothers(facts, real))
			report(rule, facts, found, nodes.items[i]);
	}
	vec_release(&nodes);
}

static void check_programs(const struct rule *rule, const struct facts *facts,
			   struct findings *found)
{
	struct tree_nodes nodes = { 0 };

	facts_list(facts, "/usr/bin", &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		const struct driver_entry *e =
			driver_program(&facts->driver, facts_name(facts, nodes.items[i]));

		if (nodes.items[i]->entry.type == TAR_SYMLINK && e && e->verdict == DRIVER_ERROR)
			report(rule, facts, found, nodes.items[i]);
	}
	vec_release(&nodes);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *dirs[3];
	size_t count = mount_dirs(facts, dirs);

	(void)err;
	for (size_t i = 0; i < count; i++)
		check_dir(rule, facts, found, dirs[i]);
	check_programs(rule, facts, found);
	return 0;
}

const struct rule rule_drv002 = {
	.id = "DRV002",
	.name = "driver-symlink-blocks-mount",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A symbolic link has the name of a file that the container runtime mounts.",
	.why = "The runtime creates its mount targets and does not follow links there: an existing "
	       "link "
	       "makes container start stop with \"file exists\". Under WSL2 the sonames themselves "
	       "are "
	       "mounted, so there it is an error.",
	.fix = "Delete the links; they are usually left from a build with the GPU runtime as the "
	       "engine's default.",
	.sources = "NVIDIA/libnvidia-container src/nvc_mount.c; NVIDIA/nvidia-container-toolkit "
		   "issue 289",
	.check = check,
};
