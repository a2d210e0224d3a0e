#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/stack_versions.h"
#include "lint/versions.h"

static bool has_gpu(const struct facts *facts, const struct table_texts *capabilities)
{
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		for (size_t k = 0; k < capabilities->count; k++) {
			if (str_equal(facts->hosts.gpus.items[i].target.arch->capability,
				      capabilities->items[k]))
				return true;
		}
	}
	return !capabilities->count;
}

/* Every condition holds, and all that it asks about is known. */
static bool applies(const struct facts *facts, const struct known_bad *row,
		    const struct stack_versions *stack, const struct package **out)
{
	*out = NULL;
	if (row->system_libraries || !has_gpu(facts, &row->gpus))
		return false;
	if (row->cudnn && (!stack->cudnn || !dotted_in(stack->cudnn, row->cudnn)))
		return false;
	if (row->cuda && (!stack->cuda || !dotted_in(stack->cuda, row->cuda)))
		return false;
	if (row->framework) {
		*out = wheel_in(facts, NULL, row->framework);
		if (!*out || !dotted_in((*out)->version, row->framework_range))
			return false;
	}
	return true;
}

static const char *what_of(const struct facts *facts, const struct known_bad *row,
			   const struct stack_versions *stack, const struct package *framework)
{
	const char *text = "";

	if (framework)
		text = arena_printf(facts_arena(facts), "%s %s", framework->name,
				    framework->version);
	if (row->cudnn)
		text = arena_printf(facts_arena(facts), "%s%scuDNN %s", text, *text ? " with " : "",
				    stack->cudnn);
	if (row->cuda)
		text = arena_printf(facts_arena(facts), "%s%sCUDA %s", text, *text ? " with " : "",
				    stack->cuda);
	return text;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct table_known_bad *table = &facts->tables.known_bad;
	struct stack_versions stack;

	(void)err;
	stack_versions_find(facts, facts_arena(facts), &stack);
	for (size_t i = 0; i < table->count; i++) {
		const struct known_bad *row = &table->items[i];
		const struct package *framework;

		if (!applies(facts, row, &stack, &framework))
			continue;
		finding_add(found, rule, framework ? framework->path : "",
			    framework ? facts_layer(facts,
						    facts_resolve(facts, framework->path, NULL))
				      : -1,
			    row->id, "%s: %s (%s).", what_of(facts, row, &stack, framework),
			    row->effect, row->origin.source);
	}
	return 0;
}

const struct rule rule_ver007 = {
	.id = "VER007",
	.name = "known-bad-version",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = NEEDS_GPU_IMAGE,
	.what = "The image holds a combination of versions that is known not to work.",
	.why = "Its maintainers, or those of a framework, have recorded what it does: wrong "
	       "results, "
	       "crashes, or an import that fails. The message names the source.",
	.fix = "Take the next release of the part that it is about.",
	.sources = "Table known-bad.json, where each row names its own",
	.check = check,
};
