#include "lint/compat.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/stack_versions.h"
#include "manifests/dotted.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_compat_library struct compat_library library;
	struct stack_versions stack;

	(void)err;
	compat_library_find(facts, &library);
	stack_versions_find(facts, facts_arena(facts), &stack);
	if (library.path && library.cuda && stack.cuda && !compat_is_forced(facts) &&
	    dotted_order_minor(library.cuda, stack.cuda) < 0)
		finding_add(
			found, rule, path_dir(facts, library.path),
			facts_layer(facts, library.node), "",
			"The compat library %s serves CUDA %s, the image holds CUDA %s: on older "
			"hosts what needs that release fails all the same.",
			path_name(library.path), library.cuda, stack.cuda);
	return 0;
}

const struct rule rule_cmp004 = {
	.id = "CMP004",
	.name = "compat-older-than-toolkit",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = NEEDS_GPU_IMAGE,
	.what = "The forward-compatibility libraries are of an older CUDA release than the toolkit "
		"in "
		"the image.",
	.why = "They make an older host serve their own CUDA release, not a newer one: PTX and "
	       "features "
	       "of the toolkit's release stay out of reach.",
	.fix = "Install the compat package of the toolkit's CUDA minor.",
	.sources = "CUDA Compatibility guide, \"Forward Compatibility\"",
	.check = check,
};
