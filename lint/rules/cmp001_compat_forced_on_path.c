#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/loader.h"
#include "lint/rule.h"

static const struct tree_node *driver_in(const struct facts *facts, const char *dir)
{
	const char *path = arena_printf(facts_arena(facts), "%s/libcuda.so.1", dir);

	return facts_resolve(facts, path, NULL);
}

/* All that brings the directory on the path; *only_rebuilt: none of it holds as baked. */
static const char *sources_of(const struct facts *facts, const char *path, bool *only_rebuilt,
			      bool *only_objects)
{
	const struct loader_dirs *dirs = loader_dirs(facts->loader);
	const char *text = "";

	*only_rebuilt = *only_objects = true;
	for (size_t i = 0; i < dirs->len; i++) {
		const struct loader_dir *d = &dirs->items[i];

		if (!str_equal(d->path, path))
			continue;
		text = arena_printf(facts_arena(facts), "%s%s%s", text, *text ? ", " : "",
				    d->where);
		*only_rebuilt &= d->only_rebuilt;
		*only_objects &= d->by_object;
	}
	return text;
}

static void report_dir(const struct rule *rule, const struct facts *facts, struct findings *found,
		       const char *path, const struct tree_node *node)
{
	bool only_rebuilt, only_objects;
	const char *where = sources_of(facts, path, &only_rebuilt, &only_objects);
	struct finding *f;

	f = finding_add(
		found, rule, path, facts_layer(facts, node), "",
		"%s with its libcuda.so.1 is on the run-time path through %s%s. On a host whose "
		"driver is newer CUDA ends with error 803, and on GPUs without "
		"forward-compatibility (GeForce, most workstation boards) with error 804.",
		path, where,
		only_rebuilt ? "; the cache as baked does not have it, the cache as rebuilt at "
			       "start by the GPU runtime will, so it passes in one setup and "
			       "fails in another"
			     : "");
	finding_evidence(found, f, "searched-by", where);
	if (only_objects && is_in_conda(facts, path))
		f->severity = SEVERITY_WARNING;
}

static void check_dirs(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	const struct loader_dirs *dirs = loader_dirs(facts->loader);

	for (size_t i = 0; i < dirs->len; i++) {
		const char *path = dirs->items[i].path;
		const struct tree_node *node;
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= str_equal(dirs->items[k].path, path);
		if (seen || !path_is_compat(path) || path_is_sample(path))
			continue;
		node = driver_in(facts, path);
		if (node)
			report_dir(rule, facts, found, path, node);
	}
}

/* A link, or a copy, of the compat library in a default directory. */
static void check_defaults(const struct rule *rule, const struct facts *facts,
			   struct findings *found)
{
	const char *const *dirs = loader_default_dirs(facts, facts->machine, true);

	for (; *dirs; dirs++) {
		struct tree_nodes nodes = { 0 };
		const char *dir = facts_real(facts, *dirs);

		facts_list(facts, dir, &nodes);
		for (size_t i = 0; i < nodes.len; i++) {
			const char *path = facts_path(facts, nodes.items[i]), *real = NULL;

			if (!str_starts(path_name(path), "libcuda.so") ||
			    nodes.items[i]->entry.type != TAR_SYMLINK ||
			    !facts_resolve(facts, path, &real) || !path_is_compat(real))
				continue;
			finding_add(found, rule, path, facts_layer(facts, nodes.items[i]), "",
				    "%s in a default directory of the loader leads to the compat "
				    "library "
				    "%s. On a host whose driver is newer CUDA ends with error 803, "
				    "and on "
				    "GPUs without forward-compatibility with error 804.",
				    path, real);
		}
		vec_release(&nodes);
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

const struct rule rule_cmp001 = {
	.id = "CMP001",
	.name = "compat-forced-on-path",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "A directory with forward-compatibility libraries is on the run-time search path.",
	.why = "A compat libcuda that is always taken is wrong on every host whose driver is newer "
	       "than "
	       "it (error 803), and on GPUs that do not support forward-compatibility (error 804). "
	       "Where only ld.so.conf names it, that starts when the GPU runtime re-runs ldconfig.",
	.fix = "Leave the files in /usr/local/cuda/compat and take them off every path: current "
	       "runtimes "
	       "use them where they help.",
	.sources = "CUDA Compatibility guide, \"Forward Compatibility\"; CUDA Driver API, CUresult "
		   "803 "
		   "and 804",
	.check = check,
};
