#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/site_policy.h"

static bool any_matches(const struct facts *facts, const char *pattern)
{
	cleanup_strbuf struct strbuf path = { 0 };
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	if (!strpbrk(pattern, "*?["))
		return facts_resolve(facts, pattern, NULL) || facts_is_dir(facts, pattern);
	for (size_t i = 0; i < count; i++) {
		if (path_matches(pattern, facts_path_in(facts, nodes[i], &path)))
			return true;
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct site_policy *site = facts->site;

	(void)err;
	for (size_t i = 0; i < site->must_have_count; i++) {
		const struct site_file *f = &site->must_have[i];

		if (!any_matches(facts, f->path))
			finding_add(found, rule, "", -1, f->path,
				    "Nothing matches %s, which the policy asks for (line %zu)%s%s.",
				    f->path, f->place.line, f->reason ? ": " : "",
				    f->reason ? f->reason : "");
	}
	return 0;
}

const struct rule rule_pol004 = {
	.id = "POL004",
	.name = "required-file-missing",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_POLICY | NEEDS_ALL_LAYERS,
	.what = "A file that the policy asks for is not in the image.",
	.why = "What a site relies on in every container (certificates, an agent, a license) is "
	       "missing at run time.",
	.fix = "Add the file, or the package that brings it.",
	.sources = "The policy of your site (docs/lint-policy.md)",
	.check = check,
};
