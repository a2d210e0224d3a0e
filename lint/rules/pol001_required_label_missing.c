#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/site_policy.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct site_policy *site = facts->site;

	(void)err;
	for (size_t i = 0; i < site->label_count; i++) {
		const struct site_label *label = &site->labels[i];
		const char *value = config_label(facts->config, label->name);

		if (!value)
			finding_add(found, rule, "", -1, label->name,
				    "The label %s is missing; the policy asks for it (line %zu).",
				    label->name, label->place.line);
		else if (label->matches && !path_matches(label->matches, value))
			finding_add(found, rule, "", -1, label->name,
				    "The label %s has a value that does not match '%s' (line %zu).",
				    label->name, label->matches, label->place.line);
	}
	return 0;
}

const struct rule rule_pol001 = {
	.id = "POL001",
	.name = "required-label-missing",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_POLICY | NEEDS_CONFIG,
	.what = "The image lacks a label that the policy asks for, or the label has another value.",
	.why = "Sites find the owner, the source and the license of an image by its labels; one "
	       "without them cannot be traced when it has to be patched.",
	.fix = "Set the label when the image is built: image.labels of a manifest, LABEL of a "
	       "Dockerfile, --label of the builder.",
	.sources = "The policy of your site (docs/lint-policy.md)",
	.check = check,
};
