/*
 * How an image was made, as an in-toto statement with SLSA provenance: what was asked for, every
 * input with its digest, and what came of it. The same build gives the same bytes: no clock, no
 * host.
 * Sources: in-toto Attestation Framework, "Statement v1"; SLSA v1.0, "Provenance".
 */
#ifndef BUILDER_PROVENANCE_H
#define BUILDER_PROVENANCE_H

#include "base/strbuf.h"
#include "manifests/lockfile.h"
#include "manifests/stack.h"

struct provenance_byproduct {
	const char *name; /* "spdx" */
	struct digest digest;
};

struct provenance_request {
	const struct stack *stack;
	const struct lockfile *lock;
	const struct lock_platform *inputs;
	const struct digest *files; /* by stage: of the manifest's files */
	const char *coder;          /* of the layers' compressed bytes */
	const char *created;        /* the one time of the image */
	struct digest image;        /* of the platform's manifest */
	const struct provenance_byproduct *byproducts;
	size_t byproduct_count;
};

/* Append the statement, canonical JSON with a final newline. */
void provenance_write(const struct provenance_request *request, struct strbuf *out);

/* What stands for this builder and for its way to build, in statements. */
#define PROVENANCE_BUILDER "urn:gpuimg:builder:local"
#define PROVENANCE_BUILD_TYPE "urn:gpuimg:build:1"

#endif
