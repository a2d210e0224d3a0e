#include "base/out.h"
#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/site_policy.h"

static void over(struct findings *found, const struct rule *rule, int layer, const char *what,
		 uint64_t have, uint64_t most)
{
	char have_text[32], most_text[32];

	finding_add(found, rule, "", layer, what, "%s: %s, the policy allows %s.", what,
		    out_size(have, have_text), out_size(most, most_text));
}

static void check_layers(const struct rule *rule, const struct facts *facts, struct findings *found)
{
	cleanup_free uint64_t *bytes = xcalloc(facts->layer_count + 1, sizeof(*bytes));
	uint64_t total = 0, most = facts->site->layer_bytes;

	for (size_t i = 0; i < facts->tree.count; i++) {
		const struct tree_node *node = tree_node_at(&facts->tree, i);

		if (node->entry.type != TAR_FILE)
			continue;
		bytes[node->layer] += node->entry.size;
		total += node->entry.size;
	}
	if (facts->site->image_bytes && total > facts->site->image_bytes)
		over(found, rule, -1, "The image unpacks to more than its budget", total,
		     facts->site->image_bytes);
	for (size_t i = 0; most && i < facts->layer_count; i++) {
		cleanup_free char *what = xasprintf("Layer %zu unpacks to more than its budget", i);

		if (bytes[i] > most)
			over(found, rule, (int)i, what, bytes[i], most);
	}
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct site_policy *site = facts->site;
	uint64_t pull = 0;

	(void)err;
	check_layers(rule, facts, found);
	for (size_t i = 0; facts->manifest && i < facts->manifest->layer_count; i++)
		pull += facts->manifest->layers[i].size;
	if (site->pull_bytes && pull > site->pull_bytes)
		over(found, rule, -1, "A pull is larger than its budget", pull, site->pull_bytes);
	if (site->layer_count && facts->layer_count > site->layer_count)
		finding_add(found, rule, "", -1, "layers",
			    "The image has %zu layers, the policy allows %" PRIu64 ".",
			    facts->layer_count, site->layer_count);
	return 0;
}

const struct rule rule_pol003 = {
	.id = "POL003",
	.name = "size-budget-exceeded",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_POLICY | NEEDS_LAYERS,
	.what = "The image, a layer of it, or what is pulled is larger than the policy allows.",
	.why = "A node pulls an image before it starts it; on a fleet the largest layer and the "
	       "sum decide how long a rollout takes.",
	.fix = "See gpuimg inspect for what the bytes belong to, and SIZ001 to SIZ004 for what can "
	       "go.",
	.sources = "The policy of your site (docs/lint-policy.md)",
	.check = check,
};
