/*
 * Facts of layers kept from one run to the next, so that an image which shares layers with one
 * that was judged before costs what is new in it. Where they lie is the caller's (the command line
 * joins this to the content store); what is kept proves itself when it is read, and what does not
 * is as if it were not there.
 *
 * A record is found by the digests of the layer, compressed and not, by fact_version and by
 * whether digests of files are in it. That the bytes of a blob are those of its digest is believed
 * of registries, which name blobs by it; of a file it is checked once (read and hashed, which is
 * less than unpacking it) and then remembered for as long as the file's identity stays the same.
 */
#ifndef LINT_FACT_CACHE_H
#define LINT_FACT_CACHE_H

#include "base/fs.h"
#include "base/sink.h"
#include "lint/fact_record.h"
#include "oci/image.h"

struct fact_cache {
	void *user;
	/* The file of that key, or -1. The caller closes it. Called from several threads. */
	int (*open)(void *user, const struct digest *key);
	/* Begin a file, and give it its place. */
	int (*begin)(void *user, struct fs_pending *out, struct error *err);
	int (*commit)(void *user, const struct digest *key, struct fs_pending *file,
		      struct error *err);
};

/* A record being read. */
struct fact_recall {
	int fd; /* -1 at first */
	struct stream *file, *plain;
	struct fact_record_reader reader;
};

/*
 * Open what is kept of layer `i`, when it is there, whole, and the image's blob is the one it was
 * made from. Sets image->layer_compressions[i]. False: it has to be read. Release *out either way.
 */
bool fact_cache_recall(const struct fact_cache *cache, struct image *image, size_t i, bool hashed,
		       struct fact_recall *out);
void fact_recall_release(struct fact_recall *r);
#define cleanup_fact_recall cleanup(fact_recall_release)

/* A record being written; what cannot be written is dropped without a word. Zeroed: none. */
struct fact_keeping {
	const struct fact_cache *cache;
	struct fs_pending file;
	struct sink *raw, *hashed, *packed;
	struct digest_state state;
	struct strbuf buf;
	bool open;
};

/* `cache` NULL: nothing is kept. Of a layer whose content was opened. */
void fact_keeping_begin(struct fact_keeping *k, const struct fact_cache *cache,
			enum compression compression);
void fact_keeping_entry(struct fact_keeping *k, const struct tar_entry *entry,
			const struct file_facts *facts);
void fact_keeping_odd(struct fact_keeping *k, const struct odd_entry *odd);
/* The layer was read to its end and is what it should be. */
void fact_keeping_commit(struct fact_keeping *k, struct image *image, size_t i, bool hashed);
void fact_keeping_release(struct fact_keeping *k);

#endif
