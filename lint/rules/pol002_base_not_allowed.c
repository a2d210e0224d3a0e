#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/site_policy.h"

static const char *stated(const struct facts *facts, const char *key)
{
	const char *label = config_label(facts->config, key);
	const json_t *annotations =
		facts->manifest ? json_object_get(facts->manifest->json, "annotations") : NULL;

	return label ? label : json_string_value(json_object_get(annotations, key));
}

static bool is_allowed(const struct stack_texts *bases, const char *name, const char *digest)
{
	for (size_t i = 0; i < bases->count; i++) {
		if ((name && path_matches(bases->items[i], name)) ||
		    (digest && str_equal(bases->items[i], digest)))
			return true;
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *name = stated(facts, "org.opencontainers.image.base.name");
	const char *digest = stated(facts, "org.opencontainers.image.base.digest");

	(void)err;
	if (!name && !digest)
		finding_add(found, rule, "", -1, "",
			    "The image does not say what it stands on "
			    "(org.opencontainers.image.base.name), and the policy allows only some "
			    "bases.");
	else if (!is_allowed(&facts->site->bases, name, digest))
		finding_add(found, rule, "", -1, "",
			    "The image stands on %s, which the policy does not allow.",
			    name ? name : digest);
	return 0;
}

const struct rule rule_pol002 = {
	.id = "POL002",
	.name = "base-not-allowed",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_POLICY | NEEDS_CONFIG,
	.what = "The image stands on a base that the policy does not allow, or does not say on "
		"which.",
	.why = "Bases that a site has not looked at bring packages that nobody there patches.",
	.fix = "Build on an allowed base, and let the builder record it: "
	       "org.opencontainers.image.base.name and org.opencontainers.image.base.digest, as "
	       "labels or annotations.",
	.sources = "OCI image specification, annotations.md, \"Pre-Defined Annotation Keys\"",
	.check = check,
};
