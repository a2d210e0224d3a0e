#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "oci/mediatype.h"

/* What is wrong with a layer's type, or NULL. */
static const char *wrong(const struct facts *facts, const struct layer_media *media, bool docker)
{
	const struct mediatype *type = mediatype_find(media->type);
	struct arena *arena = facts_arena(facts);

	if (!type || type->kind != MEDIA_LAYER)
		return arena_printf(arena, "'%.100s' is not the type of a layer", media->type);
	if (media->compression >= 0 && (enum compression)media->compression != type->compression)
		return arena_printf(arena, "'%s' says %s, and the content is %s", media->type,
				    compression_name(type->compression),
				    compression_name((enum compression)media->compression));
	if (type->docker != docker)
		return arena_printf(arena, "'%s' is a type of %s in a manifest of %s", media->type,
				    type->docker ? "Docker" : "OCI", docker ? "Docker" : "OCI");
	return NULL;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const struct mediatype *manifest = mediatype_find(facts->manifest_type);

	(void)err;
	for (size_t i = 0; i < facts->media.len; i++) {
		const char *text =
			wrong(facts, &facts->media.items[i], manifest && manifest->docker);
		cleanup_free char *cause = xasprintf("layer %zu", i);

		if (text)
			finding_add(found, rule, "", (int)i, cause, "Layer %zu: %s.", i, text);
	}
	return 0;
}

const struct rule rule_oci003 = {
	.id = "OCI003",
	.name = "media-type-inconsistent",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_LAYERS,
	.what = "A media type does not say what the blob is: another compression, the other family "
		"of types, or a type that no engine knows.",
	.why = "Engines choose the decompressor and the rules by the media type. Some look at the "
	       "bytes and go on, others stop with \"invalid tar header\" or \"unsupported media "
	       "type\"; so the same image works here and not there.",
	.fix = "Copy the image with a tool that writes the types anew (skopeo copy --format oci, "
	       "crane mutate), or correct the builder.",
	.sources = "OCI image specification, media-types.md and layer.md",
	.check = check,
};
