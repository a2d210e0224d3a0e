#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
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

			if (s->service || secret_is_published(path, s))
				continue;
			made = finding_add(found, rule, path, facts_layer(facts, nodes[i]), s->kind,
					   "%s holds a credential: %s (%s), line %zu.", path,
					   s->kind, s->masked, s->line);
			if (s->likely)
				made->confidence = CONFIDENCE_LIKELY;
			finding_evidence(found, made, "kind", s->kind);
			finding_evidence(found, made, "masked", s->masked);
		}
	}
	return 0;
}

const struct rule rule_sec002 = {
	.id = "SEC002",
	.name = "credential-file-or-token",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.what = "A file holds a private key, a cloud or Git token, or the password of a package "
		"index, a registry or a cluster.",
	.why = "Whoever can pull the image can use it, long after the build that needed it. Keys "
	       "of test suites and of published packages are left out: everybody has them.",
	.fix = "Revoke it, then rebuild and hand it to the build as a secret mount, so that it "
	       "enters no layer. A key of the host (/etc/ssh/ssh_host_*) is made when a container "
	       "starts.",
	.sources = "RFC 7468; GitHub documentation, \"About authentication to GitHub\"; netrc(5); "
		   "containers-auth.json(5)",
	.check = check,
};
