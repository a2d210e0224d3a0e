/*
 * Engines of TensorRT against the library that would load them. That an engine was built to be
 * version or hardware compatible does not stand where anybody documented it: hence heuristic.
 */
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/versions.h"

/* Engines that one TensorRT made. */
struct engines {
	const char *version;
	const struct tree_node *first;
	size_t count;
	struct strbuf paths; /* of the first few */
};

struct engine_groups {
	struct engines *items;
	size_t len, cap;
};

enum { NAMED = 3 };

static struct engines *group_of(struct engine_groups *groups, const char *version)
{
	for (size_t i = 0; i < groups->len; i++) {
		if (str_equal(groups->items[i].version, version))
			return &groups->items[i];
	}
	vec_push(groups, ((struct engines){ .version = version }));
	return &groups->items[groups->len - 1];
}

static void group_engines(const struct facts *facts, struct engine_groups *out)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);
	cleanup_strbuf struct strbuf path = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct file_facts *f =
			nodes[i]->entry.type == TAR_FILE ? node_facts(nodes[i]) : NULL;
		struct engines *e;

		if (!f || !f->engine || path_is_set_aside(facts_path_in(facts, nodes[i], &path)))
			continue;
		e = group_of(out, f->engine);
		if (!e->first)
			e->first = nodes[i];
		if (e->count++ < NAMED)
			strbuf_addf(&e->paths, "%s%s", e->count > 1 ? ", " : "",
				    strbuf_text(&path));
	}
}

static void release(struct engine_groups *groups)
{
	for (size_t i = 0; i < groups->len; i++)
		strbuf_release(&groups->items[i].paths);
	vec_release(groups);
}

/* "libnvinfer.so.10", not libnvinfer_plugin. */
static bool is_runtime(const struct object *o)
{
	const char *name = o->elf->soname ? o->elf->soname : path_name(o->path);

	return str_starts(name, "libnvinfer.so.") && !object_is_stub(o) &&
	       !path_is_set_aside(o->path);
}

/* The first numbers of both are the same: a file name has three, an engine four. */
static bool same_version(const char *library, const char *engine)
{
	unsigned numbers = 1;

	for (const char *c = library; *c; c++)
		numbers += *c == '.' && c[1] >= '0' && c[1] <= '9';
	for (unsigned i = 0; i < MIN(numbers, 4u); i++) {
		if (dotted_number(library, i) != dotted_number(engine, i))
			return false;
	}
	return true;
}

/* The TensorRT of the image that is not the engine's; NULL: one is, or of one it is not known. */
static const struct object *other_runtime(const struct facts *facts, const char *engine)
{
	const struct object *other = NULL;

	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *version = is_runtime(o) ? library_version(facts, o) : NULL;

		if (!is_runtime(o))
			continue;
		if (!version || same_version(version, engine))
			return NULL;
		if (!other)
			other = o;
	}
	return other;
}

static bool several_architectures(const struct facts *facts)
{
	for (size_t i = 1; i < facts->hosts.gpus.len; i++) {
		if (facts->hosts.gpus.items[i].sm != facts->hosts.gpus.items[0].sm)
			return true;
	}
	return false;
}

static void judge(const struct rule *rule, const struct facts *facts, struct findings *found,
		  const struct engines *e)
{
	const struct object *other = other_runtime(facts, e->version);
	const char *path = facts_path(facts, e->first), *more = e->count > NAMED ? ", ..." : "";
	int layer = facts_layer(facts, e->first);
	const char *were = e->count == 1 ? " was" : "s were";
	struct finding *f;

	if (other)
		finding_add(found, rule, path, layer, "version",
			    "%zu engine%s made by TensorRT %s, and %s is of version %s, which "
			    "refuses them unless they were built version compatible: %s%s. Each is "
			    "also tied to the architecture of the GPU it was made on unless built "
			    "hardware compatible.",
			    e->count, were, e->version, other->path, library_version(facts, other),
			    strbuf_text(&e->paths), more);
	if (other || !several_architectures(facts))
		return;
	f = finding_add(found, rule, path, layer, "architecture",
			"%zu engine%s made by TensorRT %s on a GPU of one architecture, and the "
			"image is judged for several; only those built hardware compatible serve "
			"all: %s%s.",
			e->count, were, e->version, strbuf_text(&e->paths), more);
	f->severity = SEVERITY_INFO;
	f->fix = "Build an engine for each architecture, when the program first starts if need be, "
		 "or build with hardware compatibility, which costs some speed.";
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct engine_groups groups = { 0 };

	(void)err;
	group_engines(facts, &groups);
	for (size_t i = 0; i < groups.len; i++)
		judge(rule, facts, found, &groups.items[i]);
	release(&groups);
	return 0;
}

const struct rule rule_ver005 = {
	.id = "VER005",
	.name = "tensorrt-plan-mismatch",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_HEURISTIC,
	.wave = 2,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "A serialized engine of TensorRT was made by another version than the one in the "
		"image.",
	.why = "An engine loads only into the very version that made it, unless it was built "
	       "version "
	       "compatible (\"The engine plan file is not compatible with this version of "
	       "TensorRT\"), and only on GPUs of the architecture it was made on, unless it was "
	       "built hardware compatible.",
	.fix = "Make the engine with the TensorRT of the image: in the build, or when the program "
	       "first starts on the GPU it will use; or install the TensorRT that made it.",
	.sources = "TensorRT documentation, \"Version Compatibility\" and \"Hardware "
		   "Compatibility\"; trtexec --getPlanVersionOnly, whose source reads the version",
	.check = check,
};
