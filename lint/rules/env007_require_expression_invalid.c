#include "lint/findings.h"
#include "lint/require_env.h"
#include "lint/rule.h"

static void judge(const struct rule *rule, const struct facts *facts, struct findings *found,
		  const struct require_env *v)
{
	struct arena *arena = facts_arena(facts);
	const struct host_requirement *q = &v->expression;

	for (size_t i = 0; i < q->terms.len; i++) {
		const struct host_requirement_term *t = &q->terms.items[i];
		struct finding *f;

		if (!t->problem)
			continue;
		f = finding_add(
			found, rule, "", -1, v->name,
			"%s=%s: the term '%s' is not valid: %s. The classic runtime refuses "
			"to start%s.",
			v->name, v->value, t->text, t->problem,
			t->alternative ? ", unless an alternative before it holds" : "");
		finding_evidence(found, f, "parsed", host_requirement_text(q, arena));
		return;
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	require_env_each(rule, facts, found, judge);
	return 0;
}

const struct rule rule_env007 = {
	.id = "ENV007",
	.name = "require-expression-invalid",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "A requirement in NVIDIA_REQUIRE_* cannot be read.",
	.why = "The classic runtime checks these before it starts a container and refuses one with "
	       "a "
	       "term that is not a property (cuda, driver, arch, brand), an operator (= != < <= > "
	       ">=) and a value without blanks between. CDI checks none of it.",
	.fix = "Write it without blanks around the operator, for instance "
	       "NVIDIA_REQUIRE_CUDA=\"cuda>=12.4 driver>=550\".",
	.sources = "NVIDIA/libnvidia-container src/cli/dsl.c",
	.check = check,
};
