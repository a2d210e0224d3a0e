/*
 * A layer in pieces that are compressed once: a fragment is a run of tar entries that begins a
 * member of its own, so that its bytes depend on its entries alone and not on where in which layer
 * it stands. The store remembers where each one lies in a finished layer (kind "fragments"), and a
 * later layer that holds the same run copies the compressed bytes from there.
 *
 * Rules (part of the assembly version). Entries are taken in the layer's order; a fragment ends
 *  - before and behind a file of at least FRAGMENT_BIG bytes, which is one by itself,
 *  - behind the directories that a layer begins with,
 *  - before a component that follows at least FRAGMENT_SMALL bytes,
 *  - from FRAGMENT_MIN bytes on before a path whose hash says so (one in four), so that an entry
 *    more or less moves no cut but its own,
 *  - before an entry that would take it over FRAGMENT_MAX bytes.
 * Bytes count 512 for a header and content rounded up to 512.
 *
 * A big file of a wheel is spliced: its deflate stream becomes a gzip member as it is, proven
 * while it is inflated for the layer's digest. Other big files are compressed by the `fast` coder
 * where `default` is asked for, everything else by the default one: on CUDA libraries that costs 3
 * % of size (gzip) or 1 % (zstd) for a fifth or half of the time, but more on the small files of a
 * distribution (docs/layers.md).
 */
#ifndef BUILDER_FRAGMENT_H
#define BUILDER_FRAGMENT_H

#include "builder/layer.h"

enum {
	FRAGMENT_SMALL = 256 * 1024,
	FRAGMENT_MIN = 1024 * 1024,
	FRAGMENT_BIG = 4 * 1024 * 1024,
	FRAGMENT_MAX = 8 * 1024 * 1024,
	SPLICE_MIN = 64 * 1024, /* bytes of content from which a file of a wheel is spliced */
};

struct fragment {
	size_t from, to; /* entries */
	uint64_t bytes;  /* about; of the tar */
	enum compression_level level;
	bool spliced;
	struct digest key; /* of entries and coder */
};

struct fragments {
	struct fragment *items;
	size_t len, cap;
};

/* Released with vec_release. */
void fragments_cut(const struct layer_entries *entries, const struct layer_options *options,
		   struct fragments *out);
/* All of the options that shows in the bytes: compression_identity and the rules above; heap. */
char *fragment_coder(const struct layer_options *options);

/* Where the compressed bytes of a fragment lie. */
struct fragment_place {
	struct digest layer;       /* an object of the store */
	uint64_t offset, len, raw; /* bytes: within the object, there, of the tar */
};

/* True when the store knows one, and the object is there. */
bool fragment_recall(struct store *store, const struct digest *key, struct fragment_place *out);
int fragment_remember(struct store *store, const struct digest *key,
		      const struct fragment_place *place, struct error *err) MUST_USE;

#endif
