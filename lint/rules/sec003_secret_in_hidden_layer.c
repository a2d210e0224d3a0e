#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* The file that is seen now holds the same secret: SEC001 tells that one. */
static bool is_seen_still(const struct facts *facts, const struct tree_node *node,
			  const struct secret_facts *secret)
{
	const struct tree_node *now = facts_lookup(facts, facts_path(facts, node));
	const struct file_facts *f = node_facts(now);

	for (const struct secret_facts *s = f ? f->secrets : NULL; s; s = s->next) {
		if (str_equal(s->kind, secret->kind) && str_equal(s->masked, secret->masked))
			return true;
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	static const char *const fates[] = { "", "replaced", "deleted", "hidden" };

	(void)err;
	for (size_t i = 0; i < facts->tree.count; i++) {
		const struct tree_node *node = tree_node_at(&facts->tree, i);
		const struct file_facts *f = node->entry.type == TAR_FILE ? node->facts : NULL;
		const char *path;

		if (node->fate == TREE_EFFECTIVE || !f || !f->secrets)
			continue;
		path = facts_path(facts, node);
		for (const struct secret_facts *s = f->secrets; s; s = s->next) {
			struct finding *made;

			if (is_seen_still(facts, node, s) || secret_is_published(path, s))
				continue;
			made = finding_add(
				found, rule, path, facts_layer(facts, node), s->kind,
				"%s in layer %u holds a credential: %s (%s). Layer %u has it %s, "
				"but whoever pulls the image gets layer %u too.",
				path, node->layer, s->kind, s->masked, node->fate_layer,
				fates[node->fate], node->layer);
			finding_evidence(found, made, "masked", s->masked);
		}
	}
	return 0;
}

const struct rule rule_sec003 = {
	.id = "SEC003",
	.name = "secret-in-hidden-layer",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_LAYERS,
	.what = "A file with a credential was deleted or replaced by a later layer.",
	.why = "Layers are only added: the earlier one is still part of the image and can be read "
	       "from it.",
	.fix = "Revoke it, then rebuild so that it never enters a layer: a secret mount, or delete "
	       "it in "
	       "the step that creates it.",
	.sources = "OCI image specification, layer.md, \"Whiteouts\"",
	.check = check,
};
