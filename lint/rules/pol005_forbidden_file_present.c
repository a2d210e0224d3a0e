#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/site_policy.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct site_policy *site = facts->site;
	cleanup_strbuf struct strbuf path = { 0 };
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	(void)err;
	for (size_t i = 0; i < site->must_not_have_count; i++) {
		const struct site_file *f = &site->must_not_have[i];
		const char *first = NULL;
		size_t matches = 0;
		int layer = -1;

		for (size_t k = 0; k < count; k++) {
			if (!path_matches(f->path, facts_path_in(facts, nodes[k], &path)))
				continue;
			if (!matches++) {
				first = facts_path(facts, nodes[k]);
				layer = facts_layer(facts, nodes[k]);
			}
		}
		if (matches)
			finding_add(found, rule, first, layer, f->path,
				    "%s is one of %zu that match %s, which the policy forbids "
				    "(line %zu)%s%s.",
				    first, matches, f->path, f->place.line, f->reason ? ": " : "",
				    f->reason ? f->reason : "");
	}
	return 0;
}

const struct rule rule_pol005 = {
	.id = "POL005",
	.name = "forbidden-file-present",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_POLICY,
	.what = "A file that the policy forbids is in the image.",
	.why = "What a site keeps out of its containers (compilers, shells, package managers, "
	       "keys) would be there for whoever gets in.",
	.fix = "Leave out the package that brings it.",
	.sources = "The policy of your site (docs/lint-policy.md)",
	.check = check,
};
