/*
 * The manifests under cosign's tags (".sig", ".att", ".sbom"): one layer for each signature.
 * Several may add to one at the same time. For registry/. Source: sigstore/cosign,
 * specs/SIGNATURE_SPEC.md.
 */
#ifndef REGISTRY_COSIGN_TAG_H
#define REGISTRY_COSIGN_TAG_H

#include "registry/artifact.h"

enum { COSIGN_LAYERS_MAX = 1000 };

/*
 * Add layers, whose blobs are there, to the manifest under a tag; those that stand there with the
 * same annotations are not added again. ERROR_LIMIT.
 */
int cosign_tag_add(struct artifact_place *p, const char *tag, const struct descriptor *layers,
		   size_t count, struct error *err) MUST_USE;
/*
 * The same in two steps, the second being artifact_update_settle of `update`. All of it stays where
 * it is until then.
 */
struct cosign_adding {
	struct artifact_place *place;
	const struct descriptor *layers;
	size_t count;
	struct artifact_update update;
};
int cosign_tag_begin(struct artifact_place *p, const char *tag, const struct descriptor *layers,
		     size_t count, struct cosign_adding *out, struct error *err) MUST_USE;

#endif
