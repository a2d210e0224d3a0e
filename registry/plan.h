/*
 * What an image consists of: the documents to put, children first, and the blobs they need.
 */
#ifndef REGISTRY_PLAN_H
#define REGISTRY_PLAN_H

#include "oci/manifest.h"
#include "oci/source.h"

enum { PLAN_MANIFESTS_MAX = 4096, PLAN_DEPTH_MAX = 8, PLAN_BLOBS_MAX = 65536 };

struct plan_manifest {
	struct descriptor desc;
	struct strbuf text; /* the exact bytes */
};

struct plan_blob {
	struct descriptor desc;
	bool nondistributable; /* a layer that stays where it is */
};

struct plan {
	struct arena arena;
	struct {
		struct plan_manifest *items;
		size_t len, cap;
	} manifests; /* each once; the root is the last */
	struct {
		struct plan_blob *items;
		size_t len, cap;
	} blobs; /* each once, largest first, then by digest */
};

void plan_release(struct plan *p);
#define cleanup_plan cleanup(plan_release)

/* Read all documents of the source. ERROR_FORMAT, ERROR_INTEGRITY, ERROR_LIMIT, its own. */
int plan_read(struct image_source *source, struct plan *out, struct error *err) MUST_USE;

#endif
