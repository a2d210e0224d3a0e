/*
 * What the store remembers of an image that was built: so that building it again, with nothing
 * changed, opens no package and compresses nothing.
 */
#ifndef BUILDER_IMAGE_RECORD_H
#define BUILDER_IMAGE_RECORD_H

#include "builder/build.h"

/* A finished image of one platform. Strings live in the result's arena. */
struct image_record {
	struct build_image image; /* layers; manifest is not part of the record */
	struct strbuf config;     /* canonical text */
	struct {
		struct build_action *items;
		size_t len, cap;
	} actions;
};

void image_record_release(struct image_record *r);
#define cleanup_image_record cleanup(image_record_release)
/*
 * The key: digest of all that settles the image: assembly version, coder, manifest, this
 * platform's inputs, the files of the manifest (a dir_files_digest for each stage), the one time.
 */
struct digest image_record_key(const struct stack *stack, const struct lockfile *lock,
			       const struct lock_platform *inputs, const struct digest *files,
			       const char *created);
/* True when the record is there and the store still holds all its layers. */
bool image_record_recall(struct store *store, const struct digest *key, struct arena *arena,
			 struct image_record *out);
int image_record_keep(struct store *store, const struct digest *key,
		      const struct image_record *record, struct error *err) MUST_USE;
/* Feed an input to a key. */
void image_record_key_input(struct digest_state *state, const struct lock_input *in);

#endif
