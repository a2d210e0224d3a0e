/*
 * The source of NVIDIA's redistrib manifests at lock time: which release's manifest is read, from
 * where, and what it has. A manifest is read once per lock and kept here.
 *
 * The source's `url` is the folder of a product that holds redistrib_LABEL.json, such as
 * "https://mirror.example/compute/cuda/redist/". Its `suite` is the label; without it, the label is
 * the newest known release of stack.cuda, and for a folder of cuDNN that of stack.cudnn.
 */
#ifndef BUILDER_SOURCES_REDIST_H
#define BUILDER_SOURCES_REDIST_H

#include "builder/sources/package_source.h"
#include "builder/sources/redist_json.h"

/* One manifest. */
struct redist_catalog {
	struct arena arena;
	const char *source, *label;
	const char *file; /* "redistrib_13.0.2.json" */
	char *folder;     /* ends in "/"; may hold credentials; heap */
	struct redist_manifest manifest;
	struct digest digest;
	bool pinned; /* the digest is the one in our tables */
};

/*
 * The catalog of `source` for the platform of `context`. ERROR_USAGE when there is no label or the
 * stack names no CUDA, ERROR_NOT_FOUND, ERROR_NETWORK, ERROR_INTEGRITY (not the pinned manifest, or
 * nothing proves it: plain http and no pin), ERROR_FORMAT.
 */
int redist_catalog_get(const struct source_context *context, const struct stack_source *source,
		       const struct redist_catalog **out, struct error *err) MUST_USE;

#endif
