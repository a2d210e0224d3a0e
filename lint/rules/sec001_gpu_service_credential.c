#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const struct file_facts *f = node_facts(nodes[i]);
		const struct secret_facts *s = f ? f->secrets : NULL;
		const char *path = s ? facts_path(facts, nodes[i]) : NULL;

		for (; s; s = s->next) {
			struct finding *made;

			if (!s->service)
				continue;
			made = finding_add(
				found, rule, path, facts_layer(facts, nodes[i]), s->kind,
				"%s holds a credential: %s (%s)%s.", path, s->kind, s->masked,
				s->line ? arena_printf(facts_arena(facts), ", line %zu", s->line)
					: "");

			finding_evidence(found, made, "kind", s->kind);
			finding_evidence(found, made, "masked", s->masked);
		}
	}
	return 0;
}

const struct rule rule_sec001 = {
	.id = "SEC001",
	.name = "gpu-service-credential",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.what = "A file holds a key of a GPU service: NVIDIA API and NGC keys, registry logins, "
		"Hugging "
		"Face tokens, Weights & Biases keys, NVIDIA license tokens.",
	.why = "Whoever can pull the image can use it.",
	.fix = "Revoke it, then rebuild and hand it to the build as a secret mount, so that it "
	       "enters no "
	       "layer.",
	.sources = "NGC user guide, \"API keys\"; huggingface_hub, \"User access tokens\"",
	.check = check,
};
