/*
 * One layer: entries in their final order become a tar, both digests and a stored blob in a single
 * pass: tar framing, SHA-256 (diff_id), compression on the pool's threads, SHA-256, file.
 *
 * A layer is a function of its recipe (entries, compression, assembly version). The store keeps
 * recipe → digests, so the same recipe is never written twice; and of a layer that differs in part,
 * only the fragments (builder/fragment.h) that no stored layer holds are compressed.
 *
 * Order within a layer (part of the assembly version): all directories, sorted; then component by
 * component, each sorted by path ("/" before other bytes), a hard link right after its file.
 */
#ifndef BUILDER_LAYER_H
#define BUILDER_LAYER_H

#include "base/pool.h"
#include "base/vec.h"
#include "builder/component.h"
#include "builder/store.h"
#include "formats/compress.h"

/* The version of all rules that make bytes. Whoever changes one of them raises it. */
enum { ASSEMBLY_VERSION = 3 };

/* All borrowed: there may be half a million of them. */
struct layer_entry {
	const struct tar_entry *tar;
	const struct content *content; /* of a TAR_FILE with bytes */
	const uint8_t *identity;       /* of a TAR_FILE: 32 bytes that settle its content */
	bool starts;                   /* the first of a component */
};

struct layer_entries {
	struct layer_entry *items;
	size_t len, cap;
};

struct layer_options {
	enum compression compression;
	enum compression_level level;
};

struct layer {
	struct digest diff_id, digest;
	uint64_t size, raw_size; /* bytes of the blob and of the tar */
	const char *media_type;
	bool cached; /* was in the store */
};

/*
 * The blob is in the store afterwards. `pool` NULL: in this thread. Errors: those of reading
 * content (ERROR_INTEGRITY when it is not what was promised) and of the store.
 */
int layer_write(struct store *store, const struct layer_entries *entries,
		const struct layer_options *options, struct pool *pool, struct layer *out,
		struct error *err) MUST_USE;
/* What the store knows under a recipe's digest; false when it does not hold the blob whole. */
bool layer_recall(struct store *store, const struct digest *key, struct layer *out);
/* The digest of the recipe: what the store keeps the layer under. */
struct digest layer_key(const struct layer_entries *entries, const struct layer_options *options);

/* Feed numbers and texts to a digest so that no two lists look alike: lengths go first. */
void layer_key_u64(struct digest_state *state, uint64_t value);
void layer_key_text(struct digest_state *state, const char *text);

#endif
