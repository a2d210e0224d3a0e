#include "lint/companions.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/versions.h"

static bool is_nvrtc(const struct object *o)
{
	const char *name = o->elf->soname ? o->elf->soname : path_name(o->path);

	return str_starts(name, "libnvrtc.so.") && !strstr(path_name(o->path), ".alt.");
}

/* Builtins of any release, to say what is there instead. */
static const char *others(const struct facts *facts, const struct object *o)
{
	const char *dir = path_dir(facts, o->path);

	for (size_t i = 0; i < facts->objects.len; i++) {
		const char *path = facts->objects.items[i].path;

		if (str_starts(path_name(path), "libnvrtc-builtins") &&
		    !strstr(path_name(path), ".alt.") && str_equal(path_dir(facts, path), dir))
			return arena_printf(facts_arena(facts), "; %s is beside it",
					    path_name(path));
	}
	return "";
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		const char *version, *name;
		struct loader_hit hit;

		if (!is_nvrtc(o) || !object_is_used(facts, o))
			continue;
		version = library_version(facts, o);
		if (!version)
			continue;
		name = arena_printf(facts_arena(facts), "libnvrtc-builtins.so.%" PRIu64 ".%" PRIu64,
				    dotted_number(version, 0), dotted_number(version, 1));
		if (!companion_find(facts->loader, o, name, &hit))
			finding_add(
				found, rule, o->path, facts_layer(facts, o->node), "",
				"%s of version %s opens %s when it compiles, and that is not in "
				"its directory nor where the loader looks%s.",
				o->path, version, name, others(facts, o));
	}
	return 0;
}

const struct rule rule_ver004 = {
	.id = "VER004",
	.name = "nvrtc-builtins-mismatch",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "NVRTC is in the image without the builtins library of its own release.",
	.why = "libnvrtc opens libnvrtc-builtins.so.MAJOR.MINOR by that exact name. Without it "
	       "each "
	       "compilation ends with \"failed to open libnvrtc-builtins\".",
	.fix = "Install both from the same package, and copy both where they are copied.",
	.sources = "NVRTC documentation, \"Installation\"",
	.check = check,
};
