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

#endif
