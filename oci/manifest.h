/*
 * Image manifests and indexes, of OCI's and of Docker's family.
 * Source: OCI image specification 1.1, manifest.md and image-index.md.
 */
#ifndef OCI_MANIFEST_H
#define OCI_MANIFEST_H

#include "oci/descriptor.h"

enum { MANIFEST_BYTES_MAX = 4 * 1024 * 1024 };

struct manifest {
	const char *media_type; /* of the document itself */
	struct descriptor config;
	struct descriptor *layers;
	size_t layer_count;
	json_t *json; /* the whole document, owned; annotations point into it */
};

struct index {
	const char *media_type;
	struct descriptor *manifests;
	size_t manifest_count;
	json_t *json; /* owned */
};

/* Strings live in `arena`. Release with manifest_release / index_release. ERROR_FORMAT. */
int manifest_parse(struct slice text, struct arena *arena, struct manifest *out,
		   struct error *err) MUST_USE;
void manifest_release(struct manifest *m);
int index_parse(struct slice text, struct arena *arena, struct index *out,
		struct error *err) MUST_USE;
void index_release(struct index *i);
#define cleanup_manifest cleanup(manifest_release)
#define cleanup_index cleanup(index_release)

/* Canonical OCI manifest; `annotations` (may be NULL) is borrowed. Appended. */
void manifest_write(const struct descriptor *config, const struct descriptor *layers,
		    size_t layer_count, const json_t *annotations, struct strbuf *out);
/* Canonical OCI index. Appended. */
void index_write(const struct descriptor *manifests, size_t count, const json_t *annotations,
		 struct strbuf *out);

#endif
