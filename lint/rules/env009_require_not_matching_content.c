#include "lint/findings.h"
#include "lint/floor.h"
#include "lint/require_env.h"
#include "lint/rule.h"
#include "lint/stack_versions.h"
#include "manifests/dotted.h"

/* The lowest CUDA that any alternative lets in; NULL: one asks for none. */
static const char *lowest_cuda(const struct host_requirement *q)
{
	const char *lowest = NULL;

	for (size_t a = 0; a < q->alternatives; a++) {
		const char *cuda = NULL;
		bool has_driver = false;

		for (size_t i = 0; i < q->terms.len; i++) {
			const struct host_requirement_term *t = &q->terms.items[i];

			if (t->alternative != a)
				continue;
			if (t->problem)
				return NULL;
			if (strcasecmp(t->property, "cuda") == 0 && *t->op == '>')
				cuda = t->value;
			has_driver |= strcasecmp(t->property, "driver") == 0;
		}
		/* Alternatives by driver are for hosts with forward-compatibility. */
		if (!cuda && has_driver)
			continue;
		if (!cuda)
			return NULL;
		if (!lowest || dotted_order_minor(cuda, lowest) < 0)
			lowest = cuda;
	}
	return lowest;
}

static bool has_driver_alternative(const struct host_requirement *q)
{
	for (size_t i = 0; i < q->terms.len; i++) {
		if (strcasecmp(q->terms.items[i].property, "driver") == 0)
			return true;
	}
	return false;
}

static void check_value(const struct rule *rule, const struct facts *facts, struct findings *found,
			const char *value)
{
	cleanup_host_requirement struct host_requirement q;
	struct stack_versions stack;
	struct floor floor;
	const char *cuda;

	host_requirement_parse(value, facts_arena(facts), &q);
	cuda = lowest_cuda(&q);
	stack_versions_find(facts, facts_arena(facts), &stack);
	floor_find(facts, &floor);
	if (cuda && stack.cuda && dotted_order_minor(cuda, stack.cuda) > 0 &&
	    !has_driver_alternative(&q))
		finding_add(found, rule, "", -1, "NVIDIA_REQUIRE_CUDA",
			    "NVIDIA_REQUIRE_CUDA=%s asks for CUDA %s, and the image holds CUDA %s: "
			    "hosts that could run it are locked out.",
			    value, cuda, stack.cuda);
	else if (cuda && floor.object && dotted_number(cuda, 0) < floor.major)
		finding_add(found, rule, "", -1, "NVIDIA_REQUIRE_CUDA",
			    "NVIDIA_REQUIRE_CUDA=%s lets in hosts of CUDA %s, and %s needs %s of "
			    "CUDA %u: the container starts there and its first CUDA call fails.",
			    value, cuda, floor.object->path, floor.library, floor.major);
}

static bool is_true(const char *value)
{
	static const char *const words[] = { "1", "t", "T", "TRUE", "true", "True" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_equal(value, words[i]))
			return true;
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *value = facts_env(facts, "NVIDIA_REQUIRE_CUDA");
	const char *disabled = facts_env(facts, "NVIDIA_DISABLE_REQUIRE");

	(void)err;
	if (value && *value)
		check_value(rule, facts, found, value);
	if (disabled && is_true(disabled))
		finding_add(found, rule, "", -1, "NVIDIA_DISABLE_REQUIRE",
			    "NVIDIA_DISABLE_REQUIRE=%s in the image turns off every requirement: "
			    "hosts that cannot run it are found only when CUDA fails.",
			    disabled);
	return 0;
}

const struct rule rule_env009 = {
	.id = "ENV009",
	.name = "require-not-matching-content",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "The requirement on the host is not what the content of the image needs.",
	.why = "One that is too high locks out drivers that would work; one that is too low lets "
	       "the "
	       "container start where its first CUDA call fails; one that is turned off does both.",
	.fix = "Require the CUDA release of the libraries in the image, for instance "
	       "NVIDIA_REQUIRE_CUDA=cuda>=12.4.",
	.sources =
		"NVIDIA/nvidia-container-toolkit internal/config/image; CUDA Compatibility guide",
	.check = check,
};
