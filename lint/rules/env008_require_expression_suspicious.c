#include "lint/findings.h"
#include "lint/require_env.h"
#include "lint/rule.h"

static bool is_readable(const struct host_requirement *q)
{
	for (size_t i = 0; i < q->terms.len; i++) {
		if (q->terms.items[i].problem)
			return false;
	}
	return true;
}

static const char *suspicion(const struct host_requirement *q)
{
	if (q->comma_then_blank)
		return "a blank follows a comma, and a blank means OR: what stands after it no "
		       "longer restricts anything";
	if (q->has_empty_factor)
		return "there is nothing between two commas, or at an end";
	for (size_t i = 0; i < q->alternatives; i++) {
		if (host_requirement_is_void(q, i))
			return "no host can satisfy all terms of one of its alternatives";
	}
	return NULL;
}

static void judge(const struct rule *rule, const struct facts *facts, struct findings *found,
		  const struct require_env *v)
{
	const char *why = is_readable(&v->expression) ? suspicion(&v->expression) : NULL;

	if (why)
		finding_add(found, rule, "", -1, v->name, "%s=%s: %s. It is read as %s.", v->name,
			    v->value, why,
			    host_requirement_text(&v->expression, facts_arena(facts)));
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	require_env_each(rule, facts, found, judge);
	return 0;
}

const struct rule rule_env008 = {
	.id = "ENV008",
	.name = "require-expression-suspicious",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "A requirement in NVIDIA_REQUIRE_* says something else than it seems to.",
	.why = "Commas join terms that must all hold, blanks separate alternatives. A blank after "
	       "a "
	       "comma therefore turns \"both\" into \"either\", and terms that exclude each other "
	       "make an alternative that nobody satisfies.",
	.fix = "Join with commas without blanks, and separate alternatives with one blank.",
	.sources = "NVIDIA/libnvidia-container src/cli/dsl.c",
	.check = check,
};
