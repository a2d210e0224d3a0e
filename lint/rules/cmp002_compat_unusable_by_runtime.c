#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

static const char RUNTIME_DIR[] = "/usr/local/cuda/compat";

/* A driver library of the toolkit's compat package, wherever it lies; NULL: none. */
static const struct tree_node *any_compat(const struct facts *facts)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const char *absolute;

		if (nodes[i]->entry.type == TAR_DIR ||
		    !str_starts(facts_name(facts, nodes[i]), "libcuda.so"))
			continue;
		absolute = facts_path(facts, nodes[i]);
		if (path_is_compat(absolute) && !path_is_stub(absolute) &&
		    !path_is_set_aside(absolute) && !path_is_tegra(absolute) &&
		    !is_in_conda(facts, absolute))
			return nodes[i];
	}
	return NULL;
}

/* The files the runtime's pattern takes. */
static const char *candidates(const struct facts *facts, const char *dir, struct tree_nodes *out)
{
	struct tree_nodes all = { 0 };
	const char *names = "";

	facts_list(facts, dir, &all);
	for (size_t i = 0; i < all.len; i++) {
		const char *name = facts_name(facts, all.items[i]);

		if (!path_matches("libcuda.so.*.*", name))
			continue;
		vec_push(out, all.items[i]);
		names = arena_printf(facts_arena(facts), "%s%s%s", names, *names ? ", " : "", name);
	}
	vec_release(&all);
	return names;
}

/* Why the one candidate will not do, or NULL. */
static const char *unusable(const struct facts *facts, const char *dir,
			    const struct tree_node *node)
{
	const char *path = facts_path(facts, node);
	const struct object *o = facts_object(facts, path);
	const char *version = path_name(path) + strlen("libcuda.so.");
	const char *jit;

	if (!facts_resolve(facts, path, NULL))
		return "it is a link whose file is not there";
	if (!o)
		return "it is not an ELF file";
	if (facts->machine && o->elf->machine != facts->machine)
		return arena_printf(facts_arena(facts), "it is for %s, the image for %s",
				    machine_name(o->elf->machine), machine_name(facts->machine));
	jit = arena_printf(facts_arena(facts), "%s/libnvidia-ptxjitcompiler.so.%s", dir, version);
	if (!facts_resolve(facts, jit, NULL))
		return arena_printf(facts_arena(facts), "%s is not beside it", path_name(jit));
	return NULL;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct tree_node *any = any_compat(facts);
	const char *dir, *names, *reason;
	struct tree_nodes list = { 0 };

	(void)err;
	if (!any || compat_is_forced(facts))
		return 0;
	dir = facts_real(facts, RUNTIME_DIR);
	names = candidates(facts, dir, &list);
	if (list.len == 1) {
		reason = unusable(facts, dir, list.items[0]);
		if (reason)
			finding_add(
				found, rule, dir, facts_layer(facts, list.items[0]), "",
				"%s has one candidate, %s, but %s; the runtime will not take it.",
				RUNTIME_DIR, names, reason);
	} else if (list.len > 1) {
		finding_add(
			found, rule, dir, facts_layer(facts, list.items[0]), "",
			"%s has %zu candidates (%s) where the runtime wants exactly one, and takes "
			"none.",
			RUNTIME_DIR, list.len, names);
	} else {
		const char *where = path_dir(facts, facts_path(facts, any));

		finding_add(found, rule, where, facts_layer(facts, any), "",
			    "%s holds compat libraries, but %s, where the runtime looks, has 0 "
			    "candidates (libcuda.so.*.*)%s.",
			    where, RUNTIME_DIR,
			    facts_is_dir(facts, RUNTIME_DIR) ? "" : " since it does not exist");
	}
	vec_release(&list);
	return 0;
}

const struct rule rule_cmp002 = {
	.id = "CMP002",
	.name = "compat-unusable-by-runtime",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "Forward-compatibility libraries are in the image, but not so that the container "
		"runtime "
		"takes them.",
	.why = "The runtime looks in /usr/local/cuda/compat only, wants exactly one file that "
	       "matches "
	       "libcuda.so.*.*, and that of the image's machine, with the PTX compiler of the same "
	       "version. Else the libraries are dead weight, and CUDA fails on hosts with an older "
	       "driver.",
	.fix = "Install one version with its real files, and let /usr/local/cuda lead to that "
	       "toolkit.",
	.sources = "NVIDIA/nvidia-container-toolkit cmd/nvidia-cdi-hook/cudacompat",
	.check = check,
};
