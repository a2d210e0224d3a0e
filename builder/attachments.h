/*
 * What is said of an image beside it: SBOMs, provenance, the accounting of its files.
 * Each is an object of the store; a record under the digest of the platform's manifest says which,
 * so that they are at hand when the image is pushed, and written to files at any time.
 */
#ifndef BUILDER_ATTACHMENTS_H
#define BUILDER_ATTACHMENTS_H

#include "builder/store.h"

enum attachment {
	ATTACHMENT_SPDX,
	ATTACHMENT_CYCLONEDX,
	ATTACHMENT_PROVENANCE,
	ATTACHMENT_FILES,
	ATTACHMENT_COUNT,
};

struct attachments {
	struct {
		struct digest digest;
		uint64_t size; /* bytes */
	} items[ATTACHMENT_COUNT];
};

/* "spdx", "cyclonedx", "provenance", "files". */
const char *attachment_name(enum attachment which);
/* "application/spdx+json" …: what a registry keeps it as. */
const char *attachment_media_type(enum attachment which);

/* Remember them under a key: an image's digest, or what settles it. ERROR_SYSTEM. */
int attachments_keep(struct store *store, const struct digest *key,
		     const struct attachments *attachments, struct error *err) MUST_USE;
/* True when all are in the store, whole. */
bool attachments_find(struct store *store, const struct digest *key, struct attachments *out);
/* Append one. ERROR_NOT_FOUND when the store knows nothing of that image. */
int attachments_read(struct store *store, const struct digest *key, enum attachment which,
		     struct strbuf *out, struct error *err) MUST_USE;

#endif
