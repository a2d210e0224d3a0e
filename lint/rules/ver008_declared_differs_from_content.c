#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/hosts.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/versions.h"
#include "manifests/dotted.h"

/* What a variable says about, and the library that shows it. */
static const struct {
	const char *variable, *library, *name;
} variables[] = {
	{ "CUDA_VERSION", "libcudart.so.", "CUDA" },
	{ "NV_CUDA_CUDART_VERSION", "libcudart.so.", "cudart" },
	{ "NV_CUDNN_VERSION", "libcudnn.so.", "cuDNN" },
	{ "NCCL_VERSION", "libnccl.so.", "NCCL" },
	{ "NV_LIBNCCL_PACKAGE_VERSION", "libnccl.so.", "NCCL" },
};

/* All versions of a library in the image: none agrees. *out names what is there. */
static bool disagrees(const struct facts *facts, const char *library, const char *declared,
		      const char **out)
{
	const char *text = "";
	bool any = false;

	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *version;

		if (!str_starts(path_name(o->path), library) || path_is_set_aside(o->path) ||
		    path_is_stub(o->path))
			continue;
		version = library_version(facts, o);
		if (!version)
			return false;
		if (dotted_order_minor(version, declared) == 0)
			return false;
		if (!any)
			text = arena_printf(facts_arena(facts), "%s is %s", o->path, version);
		any = true;
	}
	*out = text;
	return any;
}

static void check_env(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *value = facts_env(facts, variables[i].variable), *there, *version;

		if (!value || !strchr(value, '.'))
			continue;
		version = arena_printf(facts_arena(facts), "%.*s",
				       (int)strspn(value, "0123456789."), value);
		if (*version && disagrees(facts, variables[i].library, version, &there))
			finding_add(found, rule, "", -1, variables[i].variable, "%s=%s, but %s.",
				    variables[i].variable, value, there);
	}
}

/* "cuda" : { "name" : "CUDA SDK", "version" : "12.4.1" }, the first version in the file. */
static const char *version_in(const struct facts *facts, struct slice text)
{
	const char *all = arena_slice(facts_arena(facts), text), *at = strstr(all, "\"cuda\"");

	at = at ? strstr(at, "\"version\"") : NULL;
	at = at ? strchr(at + 9, ':') : NULL;
	at = at ? strchr(at, '"') : NULL;
	return at ? arena_printf(facts_arena(facts), "%.*s", (int)strspn(at + 1, "0123456789."),
				 at + 1)
		  : NULL;
}

/* A toolkit's own file against the runtime library of the same toolkit. */
static void check_toolkit(const struct rule *rule, const struct facts *facts,
			  struct findings *found, const struct tree_node *node)
{
	const char *path = facts_path(facts, node), *dir = path_dir(facts, path);
	const char *declared = version_in(facts, facts_text(facts, path));

	for (size_t i = 0; declared && i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *version;

		if (!str_starts(o->path, dir) || o->path[strlen(dir)] != '/' ||
		    !str_starts(path_name(o->path), "libcudart.so."))
			continue;
		version = library_version(facts, o);
		if (version && dotted_order_minor(version, declared) != 0)
			finding_add(found, rule, path, facts_layer(facts, node), "",
				    "%s says CUDA %s, but %s is %s.", path, declared, o->path,
				    version);
		return;
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	(void)err;
	check_env(rule, facts, found);
	for (size_t i = 0; i < count; i++) {
		if (nodes[i]->entry.type == TAR_FILE &&
		    str_equal(facts_name(facts, nodes[i]), "version.json") &&
		    str_starts(facts_path(facts, nodes[i]), "/usr/local/cuda"))
			check_toolkit(rule, facts, found, nodes[i]);
	}
	return 0;
}

const struct rule rule_ver008 = {
	.id = "VER008",
	.name = "declared-differs-from-content",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "The image says that it holds another release of a CUDA library than it does.",
	.why = "Schedulers, the container runtime and builds on top of it believe the variables. "
	       "Usually "
	       "a layer exchanged the libraries and left what the base said.",
	.fix = "Set the variables from the content.",
	.sources = "NVIDIA CUDA container images, Dockerfiles",
	.check = check,
};
