#include "manifests/table_frameworks.h"

#include "manifests/dotted.h"

static int compare_builds(const void *pa, const void *pb)
{
	const struct framework_build *a = pa, *b = pb;
	int order = strcmp(a->framework, b->framework);

	if (!order)
		order = dotted_order(b->version, a->version);
	if (!order)
		order = dotted_order(b->built_with ? b->built_with : "0",
				     a->built_with ? a->built_with : "0");
	if (!order)
		order = (int)b->is_default - (int)a->is_default;
	return order ? order : strcmp(a->flavour, b->flavour);
}

void table_frameworks_sort(struct table_frameworks *t)
{
	vec_sort(&t->builds, compare_builds);
}

bool framework_known(const struct table_frameworks *t, const char *name)
{
	for (size_t i = 0; i < t->builds.len; i++) {
		if (str_equal(t->builds.items[i].framework, name))
			return true;
	}
	return false;
}

const char *framework_glibc(const struct table_frameworks *t, const struct framework_build *build,
			    bool arm64)
{
	const char *found = NULL;

	if (!str_equal(build->framework, "torch"))
		return NULL;
	for (size_t i = 0; i < t->torch_tag_count; i++) {
		const struct framework_tag *tag = &t->torch_tags[i];
		const char *glibc = arm64 ? tag->arm64 : tag->amd64;

		if (glibc && dotted_order(build->version, tag->from) >= 0 &&
		    (!tag->to || dotted_order(build->version, tag->to) <= 0))
			found = glibc;
	}
	return found;
}

const char *framework_build_name(const struct framework_build *build, struct arena *arena)
{
	if (str_equal(build->flavour, "pypi") || str_equal(build->flavour, "tested"))
		return arena_printf(arena, "%s %s", build->framework, build->version);
	return arena_printf(arena, "%s %s (%s)", build->framework, build->version, build->flavour);
}
