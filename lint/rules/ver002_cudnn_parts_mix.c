#include "lint/companions.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/versions.h"

static bool is_front(const struct object *o)
{
	const char *soname = o->elf->soname ? o->elf->soname : path_name(o->path);

	return str_equal(soname, "libcudnn.so.9") || str_equal(soname, "libcudnn.so.8");
}

static void check_front(const struct rule *rule, const struct facts *facts, struct findings *found,
			const struct object *front)
{
	const char *version = library_version(facts, front);
	struct companions list = { 0 };

	companions_of(facts, front, &list);
	for (size_t i = 0; version && i < list.len; i++) {
		struct loader_hit hit;
		const char *other;

		if (!companion_find(facts->loader, front, list.items[i].name, &hit) || !hit.object)
			continue;
		other = library_version(facts, hit.object);
		if (!other || dotted_prefix(slice_str(version), slice_str(other)))
			continue;
		finding_add(found, rule, hit.object->path, facts_layer(facts, hit.object->node), "",
			    "%s of version %s takes %s of version %s, found by %s: the first call "
			    "ends with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH.",
			    front->path, version, hit.object->path, other, hit.via);
		break;
	}
	vec_release(&list);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];

		if (is_front(o) && object_is_used(facts, o))
			check_front(rule, facts, found, o);
	}
	return 0;
}

const struct rule rule_ver002 = {
	.id = "VER002",
	.name = "cudnn-parts-mix",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE,
	.what = "The front library of cuDNN would open a part of another version.",
	.why = "cuDNN is a small front and parts that it opens by name: from its own directory, "
	       "else "
	       "from wherever the loader finds them. All must be of one release; else the first "
	       "call "
	       "ends with CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH.",
	.fix = "Make the set beside the front complete, or remove the other cuDNN. Setting "
	       "LD_LIBRARY_PATH alone often does not help.",
	.sources =
		"cuDNN release notes, \"Sublibraries\"; pytorch/pytorch issues 185512 and 188892",
	.check = check,
};
