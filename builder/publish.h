/*
 * A finished image on its way to layouts and archives: blobs first, the tag last, so that a
 * destination is complete or untouched.
 */
#ifndef BUILDER_PUBLISH_H
#define BUILDER_PUBLISH_H

#include "builder/build.h"
#include "oci/source.h"

struct publication_blob {
	struct digest digest;
	uint64_t size, raw_size; /* raw_size: of a layer's tar */
	struct slice bytes;      /* heap, owned; data NULL: it lies in the store */
};

struct publication {
	struct store *store;
	const char *name; /* "acme/app": of the image in archives for engines */
	const char *default_tag;
	const struct out *out; /* warnings; NULL: none. Its `out` is what "-" writes to */
	struct descriptor index;
	struct {
		struct publication_blob *items;
		size_t len, cap;
	} blobs;
};

void publication_release(struct publication *p);
/* Bytes are copied. */
void publication_add_bytes(struct publication *p, struct slice bytes);
/* A blob that is in the store; `raw_size` is that of its tar. */
void publication_add_layer(struct publication *p, const struct digest *digest, uint64_t size,
			   uint64_t raw_size);
/* ERROR_USAGE unless it is one of those below; nothing is written. */
int publication_check_name(const char *destination, struct error *err) MUST_USE;
/*
 * Write to one of
 *   oci:DIR[:TAG], oci-archive:FILE[:TAG]      all platforms; TAG: default_tag
 *   docker-archive:FILE[:NAME:TAG]             as `docker load` takes it
 *   -                                          the same on standard output
 *   docker-daemon:NAME[:TAG], containers-storage:NAME[:TAG]   through docker, podman or skopeo
 *   rootfs:DIR                                 the files, in a folder that is yet to be made
 * The last five hold one image: this machine's, or the only one. Missing folders are made.
 * ERROR_USAGE for any other destination; ERROR_NOT_FOUND no image for this machine, or no engine;
 * ERROR_SYSTEM, with what to do when the disk is full.
 */
int publication_write(struct publication *p, const char *destination, struct error *err) MUST_USE;
/*
 * Whether the store still has every layer as it was when it was made, so that no damaged one is
 * judged or handed out: see store_intact. ERROR_INTEGRITY or ERROR_NOT_FOUND name what is not.
 */
int publication_verify(struct publication *p, struct error *err) MUST_USE;
/*
 * The image as a source: its blobs where they lie, with no folder made and no link. Never NULL; the
 * caller closes it, before the publication goes.
 */
struct image_source *publication_source(const struct publication *p);

#endif
