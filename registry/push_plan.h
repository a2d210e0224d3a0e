/*
 * What an image consists of: the documents to put, children first, and the blobs they need.
 */
#ifndef REGISTRY_PUSH_PLAN_H
#define REGISTRY_PUSH_PLAN_H

#include "oci/manifest.h"
#include "oci/source.h"

enum { PUSH_PLAN_MANIFESTS_MAX = 4096, PUSH_PLAN_DEPTH_MAX = 8, PUSH_PLAN_BLOBS_MAX = 65536 };

struct push_plan_manifest {
	struct descriptor desc;
	struct strbuf text; /* the exact bytes */
};

struct push_plan_blob {
	struct descriptor desc;
	bool nondistributable; /* a layer that stays where it is */
};

struct push_plan {
	struct arena arena;
	struct {
		struct push_plan_manifest *items;
		size_t len, cap;
	} manifests; /* each once; the root is the last */
	struct {
		struct push_plan_blob *items;
		size_t len, cap;
	} blobs; /* each once, largest first, then by digest */
};

void push_plan_release(struct push_plan *p);
#define cleanup_push_plan cleanup(push_plan_release)

/* Read all documents of the source. ERROR_FORMAT, ERROR_INTEGRITY, ERROR_LIMIT, its own. */
int push_plan_read(struct image_source *source, struct push_plan *out, struct error *err) MUST_USE;

#endif
