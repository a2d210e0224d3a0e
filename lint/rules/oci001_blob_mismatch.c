#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	(void)err;
	for (size_t i = 0; i < facts->problems.len; i++) {
		const struct layer_problem *p = &facts->problems.items[i];
		cleanup_free char *cause = NULL;

		if (p->diff_id)
			continue;
		cause = xasprintf("layer %zu", p->layer);
		finding_add(found, rule, "", (int)p->layer, cause,
			    "Layer %zu is not what the manifest "
			    "promises: %s.",
			    p->layer, p->text);
	}
	return 0;
}

const struct rule rule_oci001 = {
	.id = "OCI001",
	.name = "blob-mismatch",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_LAYERS,
	.what = "A blob is missing, cut, or has another digest or size than its descriptor.",
	.why = "Every engine refuses to pull or unpack it.",
	.fix = "Copy or export the image again from where it is whole (skopeo copy, podman save).",
	.sources = "OCI image specification, descriptor.md, \"Digests\"",
	.check = check,
};
