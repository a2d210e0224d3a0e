#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "oci/mediatype.h"

/* Layers whose diff_id is the digest of their compressed bytes, which were not unpacked wrongly. */
static bool equals_compressed(const struct facts *facts, size_t layer)
{
	const struct mediatype *type;

	if (!facts->manifest || layer >= facts->manifest->layer_count ||
	    layer >= facts->config->diff_id_count)
		return false;
	type = mediatype_find(facts->manifest->layers[layer].media_type);
	return type && type->compression != COMPRESSION_NONE &&
	       digest_equal(&facts->manifest->layers[layer].digest,
			    &facts->config->diff_ids[layer]);
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *text = "";
	int first = -1;

	(void)err;
	if (facts->manifest && facts->config->diff_id_count != facts->manifest->layer_count)
		text = arena_printf(facts_arena(facts),
				    "the configuration has %zu diff_ids for %zu layers",
				    facts->config->diff_id_count, facts->manifest->layer_count);
	for (size_t i = 0; i < facts->problems.len; i++) {
		const struct layer_problem *p = &facts->problems.items[i];

		if (!p->diff_id)
			continue;
		if (first < 0)
			first = (int)p->layer;
		text = arena_printf(facts_arena(facts), "%s%s%s%s", text, *text ? "; " : "",
				    p->text,
				    p->compressed || equals_compressed(facts, p->layer)
					    ? ", which is the compressed digest"
					    : "");
	}
	if (*text)
		finding_add(found, rule, "", first, "", "The diff_ids do not match the layers: %s.",
			    text);
	return 0;
}

const struct rule rule_oci002 = {
	.id = "OCI002",
	.name = "diffid-mismatch",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_LAYERS,
	.what = "The digest of an unpacked layer is not the one the configuration lists.",
	.why = "Engines check it while unpacking and refuse the image: \"wrong diff id calculated "
	       "on "
	       "extraction\".",
	.fix = "Export the image again with the tool that made it; a tool that lists the "
	       "compressed "
	       "digests must be corrected.",
	.sources = "OCI image specification, config.md, \"rootfs\"",
	.check = check,
};
