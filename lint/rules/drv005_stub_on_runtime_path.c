#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"

static const char *const sonames[] = { "libcuda.so.1", "libnvidia-ml.so.1" };

static const char *in_dir(const struct facts *facts, const char *dir, const char *name)
{
	return arena_printf(facts_arena(facts), "%s/%s", dir, name);
}

/* ldconfig files a library under its soname, whatever the file is called, and makes the link. */
static const struct tree_node *by_soname(const struct facts *facts, const char *dir,
					 const char *soname)
{
	struct tree_nodes nodes = { 0 };
	const struct tree_node *found = NULL;

	facts_list(facts, dir, &nodes);
	for (size_t i = 0; i < nodes.len && !found; i++) {
		const struct object *o = facts_object(facts, facts_path(facts, nodes.items[i]));

		if (o && o->elf->soname && str_equal(o->elf->soname, soname))
			found = nodes.items[i];
	}
	vec_release(&nodes);
	return found;
}

/* What the loader would take from that directory for `soname`. */
static const struct tree_node *taken(const struct facts *facts, const struct loader_dir *dir,
				     const char *soname)
{
	const struct tree_node *node = facts_resolve(facts, in_dir(facts, dir->path, soname), NULL);

	if (!node && str_starts(dir->where, "/etc/ld.so."))
		node = by_soname(facts, dir->path, soname);
	return node;
}

/* All sources that bring one directory, in the order they were found. */
static const char *sources_of(const struct facts *facts, const struct loader_dirs *dirs,
			      const char *path, bool *only_rebuilt)
{
	const char *text = "";

	*only_rebuilt = true;
	for (size_t i = 0; i < dirs->len; i++) {
		if (!str_equal(dirs->items[i].path, path))
			continue;
		text = arena_printf(facts_arena(facts), "%s%s%s", text, *text ? ", " : "",
				    dirs->items[i].where);
		*only_rebuilt &= dirs->items[i].only_rebuilt;
	}
	return text;
}

static void report_dir(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const struct loader_dirs *dirs, const char *path, const char *soname,
		       const struct tree_node *node)
{
	bool only_rebuilt;
	const char *where = sources_of(facts, dirs, path, &only_rebuilt);
	struct finding *f;

	f = finding_add(
		found, rule, path, facts_layer(facts, node), "",
		"%s is searched at run time (%s) and gives a link-time stub for %s; %s. Calls "
		"then end with error 34, \"CUDA driver is a stub library\".",
		path, where, soname,
		only_rebuilt ? "it takes hold once ldconfig is re-run, as the GPU runtime does "
			       "at start"
			     : "that holds already, without ldconfig being re-run");
	finding_evidence(found, f, "searched-by", where);
	finding_evidence(found, f, "stub", facts_path(facts, node));
}

static bool seen_before(const struct loader_dirs *dirs, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (str_equal(dirs->items[k].path, dirs->items[i].path))
			return true;
	}
	return false;
}

/* Any source of the directory may bring the stub, not only the first one. */
static const struct tree_node *taken_by_any(const struct facts *facts,
					    const struct loader_dirs *dirs, const char *path,
					    const char *soname)
{
	const struct tree_node *node = NULL;

	for (size_t i = 0; i < dirs->len && !node; i++) {
		if (str_equal(dirs->items[i].path, path))
			node = taken(facts, &dirs->items[i], soname);
	}
	return node;
}

static bool leads_to_stub(const struct facts *facts, const struct tree_node *node)
{
	const struct object *o = facts_object(facts, facts_path(facts, node));

	return o ? object_is_stub(o) : path_is_stub(facts_path(facts, node));
}

static void check_dirs(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	const struct loader_dirs *dirs = loader_dirs(facts->loader);

	for (size_t i = 0; i < dirs->len; i++) {
		const char *path = dirs->items[i].path;

		if (seen_before(dirs, i) || path_is_sample(path) || is_default_dir(facts, path))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(sonames); k++) {
			const struct tree_node *node = taken_by_any(facts, dirs, path, sonames[k]);

			if (!node || (!path_is_stub(path) && !leads_to_stub(facts, node)))
				continue;
			report_dir(rule, facts, found, dirs, path, sonames[k], node);
			break;
		}
	}
}

/* A stub, or a link to one, in a directory that is searched without being named anywhere. */
static void check_defaults(const struct rule *rule, const struct facts *facts,
			   struct findings *found)
{
	const char *const *dirs = loader_default_dirs(facts, facts->machine, true);

	for (; *dirs; dirs++) {
		for (size_t k = 0; k < ARRAY_LEN(sonames); k++) {
			const char *dir = facts_real(facts, *dirs);
			const char *path = in_dir(facts, dir, sonames[k]);
			const struct object *o = facts_object(facts, path);
			const struct tree_node *entry = facts_lookup(facts, path);

			if (!o || !entry || !object_is_stub(o))
				continue;
			finding_add(
				found, rule, path, facts_layer(facts, entry), "",
				"%s in a default directory of the loader is a link-time stub%s%s; "
				"that holds already, without ldconfig being re-run. Calls then end "
				"with error 34, \"CUDA driver is a stub library\".",
				path, str_equal(o->path, path) ? "" : ": it leads to ",
				str_equal(o->path, path) ? "" : o->path);
		}
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	check_dirs(rule, facts, found);
	check_defaults(rule, facts, found);
	return 0;
}

const struct rule rule_drv005 = {
	.id = "DRV005",
	.name = "stub-on-runtime-path",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A directory of the run-time search path holds a link-time stub under the driver "
		"library's soname.",
	.why = "The loader may take the stub before the library that the container runtime mounts; "
	       "every CUDA call then fails with error 34, CUDA_ERROR_STUB_LIBRARY.",
	.fix = "Take the directory off the run-time path, name it to the linker only (-L.../stubs "
	       "or "
	       "LIBRARY_PATH), and delete libcuda.so.1 links that were made for a build.",
	.sources = "CUDA Driver API, CUresult 34; glibc elf/ldconfig.c",
	.check = check,
};
