/*
 * A finished image on its way to layouts and archives: blobs first, the tag last, so that a
 * destination is complete or untouched.
 */
#ifndef BUILDER_PUBLISH_H
#define BUILDER_PUBLISH_H

#include "builder/build.h"

struct publication_blob {
	struct digest digest;
	uint64_t size;
	struct slice bytes; /* heap, owned; data NULL: it lies in the store */
};

struct publication {
	struct store *store;
	const char *default_tag;
	struct descriptor index;
	struct {
		struct publication_blob *items;
		size_t len, cap;
	} blobs;
};

void publication_release(struct publication *p);
/* Bytes are copied. */
void publication_add_bytes(struct publication *p, struct slice bytes);
/* A blob that is in the store. */
void publication_add_layer(struct publication *p, const struct digest *digest, uint64_t size);
/*
 * Write to "oci:DIR[:TAG]" or "oci-archive:FILE[:TAG]". ERROR_USAGE for any other destination;
 * ERROR_SYSTEM, with what to do when the disk is full.
 */
int publication_write(struct publication *p, const char *destination, struct error *err) MUST_USE;
/* Put the image into a temporary layout of the store and let `check` judge it. */
int publication_check(struct publication *p, build_check_fn *check, void *user,
		      struct error *err) MUST_USE;

#endif
