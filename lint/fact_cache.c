#include "lint/fact_cache.h"

#include <sys/stat.h>

#include "formats/compress.h"

/*
 * A file: the compressed record, then the SHA-256 of that. The first byte of the record is how the
 * layer was compressed, plus one.
 */
enum { PROOF_BYTES = 32, FLUSH_BYTES = 64 * 1024 };

static void make_key(const char *what, const char *text, const struct digest *blob,
		     const struct digest *diff_id, struct digest *out)
{
	char digest[DIGEST_TEXT_MAX];
	cleanup_digest struct digest_state state = { 0 };
	cleanup_strbuf struct strbuf all = { 0 };

	strbuf_addf(&all, "%s\n%s\n%s\n", what, text, digest_text(blob, digest));
	if (diff_id)
		strbuf_addf(&all, "%s\n", digest_text(diff_id, digest));
	digest_init(&state, DIGEST_SHA256);
	digest_update(&state, all.data, all.len);
	*out = digest_finish(&state);
}

/* False when the image does not say enough of the layer. */
static bool record_key(const struct image *image, size_t i, bool hashed, struct digest *out)
{
	if (i >= image->config.diff_id_count)
		return false;
	make_key(hashed ? "facts with digests" : "facts", fact_version,
		 &image->manifest.layers[i].digest, &image->config.diff_ids[i], out);
	return true;
}

static int hash_file(int fd, uint64_t len, struct digest *out)
{
	cleanup_stream struct stream *file = stream_fd_range(fd, 0, len, "facts"), *hashed = NULL;
	cleanup_digest struct digest_state state = { 0 };
	struct error ignored = { 0 };

	digest_init(&state, DIGEST_SHA256);
	hashed = stream_digest(file, &state, NULL);
	if (stream_drain(hashed, NULL, &ignored) < 0)
		return -1;
	*out = digest_finish(&state);
	return 0;
}

/* The bytes before the proof, when they are what it says; else false. */
static bool is_whole(int fd, uint64_t *out_len)
{
	uint8_t proof[PROOF_BYTES];
	struct digest digest;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < PROOF_BYTES)
		return false;
	*out_len = (uint64_t)st.st_size - PROOF_BYTES;
	return pread(fd, proof, sizeof(proof), (off_t)*out_len) == (ssize_t)sizeof(proof) &&
	       hash_file(fd, *out_len, &digest) == 0 &&
	       memcmp(digest.bytes, proof, sizeof(proof)) == 0;
}

/* A file of no bytes and their proof: its being there is what it says. */
static void remember(const struct fact_cache *cache, const struct digest *key)
{
	cleanup_pending struct fs_pending file = { .fd = -1 };
	cleanup_digest struct digest_state state = { 0 };
	struct error ignored = { 0 };
	struct digest nothing;

	digest_init(&state, DIGEST_SHA256);
	nothing = digest_finish(&state);
	if (cache->begin(cache->user, &file, &ignored) < 0 ||
	    write(file.fd, nothing.bytes, PROOF_BYTES) != PROOF_BYTES)
		return;
	ignore_result(cache->commit(cache->user, key, &file, &ignored)); /* then it is read anew */
}

static bool is_remembered(const struct fact_cache *cache, const struct digest *key)
{
	cleanup_fd int fd = cache->open(cache->user, key);
	uint64_t len;

	return fd >= 0 && is_whole(fd, &len) && len == 0;
}

/* The key under which it is remembered that a blob was proven; else what is known of it. */
static enum blob_identity proof_key(const struct image *image, size_t i, struct digest *out)
{
	const struct descriptor *d = &image->manifest.layers[i];
	cleanup_strbuf struct strbuf identity = { 0 };
	enum blob_identity known = source_identity(image->source, d, &identity);

	if (known == BLOB_IS_FILE)
		make_key("proven", strbuf_text(&identity), &d->digest, NULL, out);
	return known;
}

/* The blob is there and has its digest. */
static bool is_proven(const struct fact_cache *cache, struct image *image, size_t i)
{
	cleanup_stream struct stream *blob = NULL;
	struct error ignored = { 0 };
	struct digest key;
	enum blob_identity known = proof_key(image, i, &key);

	if (known == BLOB_IS_DIGEST || (known == BLOB_IS_FILE && is_remembered(cache, &key)))
		return true;
	blob = image_layer_blob(image, i, &ignored);
	if (!blob || stream_drain(blob, NULL, &ignored) < 0)
		return false;
	if (known == BLOB_IS_FILE)
		remember(cache, &key);
	return true;
}

static uint8_t first_byte(struct stream *s)
{
	struct error ignored = { 0 };
	uint8_t byte = 0;

	return stream_read_exact(s, &byte, 1, &ignored) < 0 ? 0 : byte;
}

bool fact_cache_recall(const struct fact_cache *cache, struct image *image, size_t i, bool hashed,
		       struct fact_recall *out)
{
	struct digest key;
	uint64_t len;
	uint8_t kind;

	if (!cache || !record_key(image, i, hashed, &key))
		return false;
	out->fd = cache->open(cache->user, &key);
	if (out->fd < 0 || !is_whole(out->fd, &len) || !is_proven(cache, image, i))
		return false;
	out->file = stream_fd_range(out->fd, 0, len, "facts");
	out->plain = decompress_stream(out->file, COMPRESSION_ZSTD);
	kind = first_byte(out->plain);
	if (!kind || kind > COMPRESSION_XZ + 1)
		return false;
	image->layer_compressions[i] = (signed char)(kind - 1);
	out->reader.in = out->plain;
	return true;
}

void fact_recall_release(struct fact_recall *r)
{
	stream_close(r->plain);
	stream_close(r->file);
	cleanup_fd_fn(&r->fd);
}

void fact_keeping_begin(struct fact_keeping *k, const struct fact_cache *cache,
			enum compression compression)
{
	struct error ignored = { 0 };

	k->cache = cache;
	k->file.fd = -1;
	if (!cache || cache->begin(cache->user, &k->file, &ignored) < 0)
		return;
	k->open = true;
	digest_init(&k->state, DIGEST_SHA256);
	k->raw = sink_fd(k->file.fd, "facts");
	k->hashed = sink_digest(k->raw, &k->state, NULL);
	k->packed = compress_sink(k->hashed, COMPRESSION_ZSTD, LEVEL_FAST, NULL);
	strbuf_addc(&k->buf, (char)(compression + 1));
}

static void drop(struct fact_keeping *k)
{
	k->open = false;
	strbuf_release(&k->buf);
	fs_pending_release(&k->file);
	k->file = (struct fs_pending){ .fd = -1 };
}

static void flush(struct fact_keeping *k, size_t above)
{
	struct error ignored = { 0 };

	if (!k->open || k->buf.len <= above)
		return;
	if (sink_write(k->packed, k->buf.data, k->buf.len, &ignored) < 0)
		drop(k);
	else
		strbuf_truncate(&k->buf, 0);
}

void fact_keeping_entry(struct fact_keeping *k, const struct tar_entry *entry,
			const struct file_facts *facts)
{
	if (!k->open)
		return;
	if (!fact_record_entry(&k->buf, entry, facts))
		drop(k);
	flush(k, FLUSH_BYTES);
}

void fact_keeping_odd(struct fact_keeping *k, const struct odd_entry *odd)
{
	if (k->open)
		fact_record_odd(&k->buf, odd);
}

void fact_keeping_commit(struct fact_keeping *k, struct image *image, size_t i, bool hashed)
{
	struct error ignored = { 0 };
	struct digest key, proof;

	if (!k->open || !record_key(image, i, hashed, &key))
		return;
	fact_record_end(&k->buf);
	flush(k, 0);
	if (!k->open || sink_finish(k->packed, &ignored) < 0)
		return;
	proof = digest_finish(&k->state);
	if (write(k->file.fd, proof.bytes, PROOF_BYTES) != PROOF_BYTES ||
	    k->cache->commit(k->cache->user, &key, &k->file, &ignored) < 0)
		return;
	k->open = false;
	if (proof_key(image, i, &key) == BLOB_IS_FILE)
		remember(k->cache, &key);
}

void fact_keeping_release(struct fact_keeping *k)
{
	sink_close(k->packed);
	sink_close(k->hashed);
	sink_close(k->raw);
	digest_release(&k->state);
	strbuf_release(&k->buf);
	if (k->cache)
		fs_pending_release(&k->file);
}
