#include "builder/layer.h"

#include "builder/fragment.h"
#include "formats/json.h"
#include "formats/tar_write.h"
#include "oci/mediatype.h"

void layer_key_u64(struct digest_state *state, uint64_t value)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(value >> (8 * i) & 0xff);
	digest_update(state, bytes, sizeof(bytes));
}

void layer_key_text(struct digest_state *state, const char *text)
{
	layer_key_u64(state, strlen(text));
	digest_update(state, text, strlen(text));
}

static void fragments_release(struct fragments *f)
{
	vec_release(f);
}

static struct digest key_of(const struct fragments *fragments, const struct layer_options *options)
{
	cleanup_digest struct digest_state state = { 0 };
	cleanup_free char *coder = fragment_coder(options);

	digest_init(&state, DIGEST_SHA256);
	layer_key_text(&state, "gpuimg layer");
	layer_key_u64(&state, ASSEMBLY_VERSION);
	layer_key_text(&state, coder);
	for (size_t i = 0; i < fragments->len; i++)
		digest_update(&state, fragments->items[i].key.bytes,
			      digest_size(fragments->items[i].key.algorithm));
	return digest_finish(&state);
}

struct digest layer_key(const struct layer_entries *entries, const struct layer_options *options)
{
	cleanup(fragments_release) struct fragments fragments = { 0 };

	fragments_cut(entries, options, &fragments);
	return key_of(&fragments, options);
}

static int record_parse(struct slice text, struct layer *out, struct error *err)
{
	const char *diff_id, *digest;
	cleanup_json json_t *j = NULL;

	if (json_parse(text, &j, err) < 0 || json_get_str(j, "", "diff_id", &diff_id, err) < 0 ||
	    json_get_str(j, "", "digest", &digest, err) < 0 ||
	    json_get_u64(j, "", "size", &out->size, err) < 0 ||
	    json_get_u64(j, "", "raw_size", &out->raw_size, err) < 0 ||
	    digest_parse(slice_str(diff_id), &out->diff_id, err) < 0 ||
	    digest_parse(slice_str(digest), &out->digest, err) < 0)
		return -1;
	return 0;
}

bool layer_recall(struct store *store, const struct digest *key, struct layer *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 }; /* a record that cannot be used is written again */

	return store_get_record(store, "layers", key, &text, &ignored) == 0 &&
	       record_parse(strbuf_slice(&text), out, &ignored) == 0 &&
	       store_intact(store, &out->digest, out->size);
}

static int remember(struct store *store, const struct digest *key, const struct layer *l,
		    struct error *err)
{
	cleanup_json json_t *j = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	char buf[DIGEST_TEXT_MAX];

	json_put(j, "diff_id", json_text(digest_text(&l->diff_id, buf)));
	json_put(j, "digest", json_text(digest_text(&l->digest, buf)));
	json_put(j, "size", json_integer((json_int_t)l->size));
	json_put(j, "raw_size", json_integer((json_int_t)l->raw_size));
	json_canonical(j, &text);
	return store_put_record(store, "layers", key, strbuf_slice(&text), err);
}

/* A layer on its way. */
struct writing {
	struct store *store;
	const struct layer_entries *entries;
	const struct layer_options *options;
	struct store_pending pending;
	struct digest_state raw;
	uint64_t raw_size;
	struct sink *compressed; /* NULL: nothing is compressed; else digests what comes and goes */
	struct sink *file;       /* below `compressed` */
	struct sink *tar;        /* counts raw bytes */
	struct fragment_place *places;
	bool damaged; /* what a record named was not there any more, or not as it was */
};

static void writing_release(struct writing *w)
{
	sink_close(w->tar);
	sink_close(w->compressed);
	sink_close(w->file);
	digest_release(&w->raw);
	store_put_release(&w->pending);
	free(w->places);
}

static int writing_open(struct writing *w, size_t fragments, struct pool *pool, struct error *err)
{
	const struct layer_options *o = w->options;

	if (store_put_open(w->store, &w->pending, err) < 0)
		return -1;
	digest_init(&w->raw, DIGEST_SHA256);
	if (o->compression != COMPRESSION_NONE) {
		const struct compress_digests digests = { &w->raw, &w->pending.state };

		w->file = sink_digest(w->pending.raw, NULL, &w->pending.bytes);
		w->compressed = compress_sink(w->file, o->compression, o->level, pool);
		compress_sink_digests(w->compressed, &digests);
		w->tar = sink_digest(w->compressed, NULL, &w->raw_size);
	} else {
		w->tar = sink_digest(w->pending.sink, &w->raw, &w->raw_size);
	}
	w->places = xcalloc(fragments + 1, sizeof(*w->places));
	return 0;
}

static int write_entry(struct writing *w, const struct layer_entry *e, struct error *err)
{
	cleanup_stream struct stream *content = NULL;

	if (e->tar->type == TAR_FILE && e->tar->size) {
		content = content_open(e->content, e->tar->size, err);
		if (!content)
			return error_wrap(err, "/%s", e->tar->path);
	}
	if (tar_write_entry(w->tar, e->tar, content, err) < 0)
		return error_wrap(err, "/%s", e->tar->path);
	return 0;
}

static int insert(struct writing *w, const void *data, size_t len, struct error *err)
{
	digest_update(&w->pending.state, data, len);
	return compress_sink_insert(w->compressed, data, len, err);
}

/* Compressed bytes of a file and what they hold, both on their way into the layer. */
struct inserting {
	struct stream *coded, *plain;
	uint64_t coded_size, plain_size; /* in bytes */
	struct digest_state *content;    /* of what is plain; NULL: nobody wants it */
};

/* Both are read side by side, so that their digests cost as little as they can. */
static int insert_both(struct writing *w, const struct inserting *in, struct error *err)
{
	enum { CHUNK = 256 * 1024 };
	cleanup_free uint8_t *buf = xmalloc(2 * (size_t)CHUNK);
	uint8_t *coded = buf + CHUNK;
	uint64_t seen = 0;
	ssize_t n, m;

	do {
		uint64_t share = CHUNK;

		n = stream_read(in->plain, buf, CHUNK, err);
		if (n > 0)
			share = MIN(share, (uint64_t)n * in->coded_size / (in->plain_size + 1) + 1);
		m = n < 0 ? -1 : stream_read(in->coded, coded, share, err);
		if (m < 0)
			return -1;
		if (in->content)
			digest_update_three(&w->raw, slice_of(buf, (size_t)n), in->content,
					    slice_of(buf, (size_t)n), &w->pending.state,
					    slice_of(coded, (size_t)m));
		else
			digest_update_both(&w->raw, slice_of(buf, (size_t)n), &w->pending.state,
					   slice_of(coded, (size_t)m));
		seen += (uint64_t)n;
		if (compress_sink_insert(w->compressed, coded, (size_t)m, err) < 0)
			return -1;
	} while ((n || m) && seen <= in->plain_size);
	if (seen != in->plain_size)
		return error_set(err, ERROR_INTEGRITY,
				 "holds %" PRIu64 " bytes instead of %" PRIu64, seen,
				 in->plain_size);
	w->raw_size += seen;
	return 0;
}

static int insert_proven(struct writing *w, const struct inserting *in, const struct content *c,
			 struct error *err)
{
	cleanup_digest struct digest_state content = { 0 };
	struct inserting proven = *in;
	struct digest got, want = content_digest(c);

	if (!c->has_digest)
		return insert_both(w, in, err);
	digest_init(&content, DIGEST_SHA256);
	proven.content = &content;
	if (insert_both(w, &proven, err) < 0)
		return -1;
	got = digest_finish(&content);
	return digest_check(&got, &want, err);
}

/* A stream that is not what it should be ends the layer. */
static int splice_content(struct writing *w, const struct layer_entry *e, struct error *err)
{
	const struct content *c = e->content;
	const struct zip_entry *zip = c->zip;
	cleanup_stream struct stream *plain = zip_open(c->fd, zip),
				     *coded = stream_fd_range(c->fd, zip->data_offset,
							      zip->compressed_size,
							      "compressed data");
	const struct inserting in = { coded, plain, zip->compressed_size, e->tar->size, NULL };
	uint8_t header[GZIP_HEADER_BYTES], trailer[GZIP_TRAILER_BYTES];

	gzip_header(header);
	gzip_trailer(trailer, zip->crc32, zip->size);
	if (sink_finish(w->compressed, err) < 0 || insert(w, header, sizeof(header), err) < 0)
		return -1;
	if (insert_proven(w, &in, c, err) < 0)
		return c->path && err->code != ERROR_SYSTEM ? error_wrap(err, "%s", c->path) : -1;
	return insert(w, trailer, sizeof(trailer), err);
}

static int splice_entry(struct writing *w, const struct layer_entry *e, struct error *err)
{
	if (tar_write_header(w->tar, e->tar, err) < 0 || splice_content(w, e, err) < 0 ||
	    tar_write_padding(w->tar, e->tar, err) < 0)
		return error_wrap(err, "/%s", e->tar->path);
	return 0;
}

/* From a stored layer, if it still is what it was: else w->damaged. */
static int copy_place(struct writing *w, const struct fragment_place *p, struct error *err)
{
	cleanup_fd int fd = store_open_object(w->store, &p->layer, err);
	cleanup_stream struct stream *range = NULL, *coded = NULL, *plain = NULL;
	struct inserting in = { .coded_size = p->len, .plain_size = p->raw };

	if (fd < 0 || sink_finish(w->compressed, err) < 0)
		return -1;
	range = stream_fd_range(fd, p->offset, p->len, "layer");
	in.coded = coded = stream_fd_range(fd, p->offset, p->len, "layer");
	in.plain = plain = decompress_stream(range, w->options->compression);
	return insert_both(w, &in, err);
}

static int write_recalled(struct writing *w, const struct fragment *f,
			  const struct fragment_place *known, struct error *err)
{
	struct error why = { 0 };

	if (copy_place(w, known, &why) == 0)
		return 0;
	if (why.code == ERROR_FORMAT || why.code == ERROR_INTEGRITY || why.code == ERROR_LIMIT) {
		store_discard(w->store, &known->layer);
		w->damaged = true;
	}
	if (why.code == ERROR_NOT_FOUND)
		w->damaged = true;
	if (w->damaged)
		store_drop_record(w->store, "fragments", &f->key);
	*err = why;
	return -1;
}

static int write_fragment(struct writing *w, const struct fragment *f, struct error *err)
{
	struct fragment_place known;

	if (w->compressed && !f->spliced && fragment_recall(w->store, &f->key, &known))
		return write_recalled(w, f, &known, err);
	if (f->spliced)
		return splice_entry(w, &w->entries->items[f->from], err);
	for (size_t i = f->from; i < f->to; i++) {
		if (write_entry(w, &w->entries->items[i], err) < 0)
			return -1;
	}
	return 0;
}

static int write_fragments(struct writing *w, const struct fragments *fragments, struct error *err)
{
	for (size_t i = 0; i < fragments->len; i++) {
		const struct fragment *f = &fragments->items[i];
		struct fragment_place *p = &w->places[i];

		if (w->compressed &&
		    compress_sink_cut(w->compressed, f->level, &p->offset, err) < 0)
			return -1;
		p->raw = w->raw_size;
		if (write_fragment(w, f, err) < 0)
			return -1;
		p->raw = w->raw_size - p->raw;
	}
	if (w->compressed && compress_sink_cut(w->compressed, w->options->level,
					       &w->places[fragments->len].offset, err) < 0)
		return -1;
	return tar_write_end(w->tar, err);
}

/* Fragments of less are compressed sooner than looked up. */
enum { REMEMBER_MIN = 64 * 1024 };

static int remember_fragments(struct writing *w, const struct fragments *fragments,
			      const struct digest *layer, struct error *err)
{
	for (size_t i = 0; i < fragments->len; i++) {
		struct fragment_place *p = &w->places[i];

		if (fragments->items[i].spliced || p->raw < REMEMBER_MIN)
			continue;
		p->layer = *layer;
		p->len = p[1].offset - p->offset;
		if (fragment_remember(w->store, &fragments->items[i].key, p, err) < 0)
			return -1;
	}
	return 0;
}

static int write_layer(struct store *store, const struct layer_entries *entries,
		       const struct fragments *fragments, const struct layer_options *options,
		       struct pool *pool, bool *out_damaged, struct layer *out, struct error *err)
{
	cleanup(writing_release) struct writing w = { .store = store,
						      .entries = entries,
						      .options = options };

	if (writing_open(&w, fragments->len, pool, err) < 0)
		return -1;
	if (write_fragments(&w, fragments, err) < 0) {
		*out_damaged = w.damaged;
		return -1;
	}
	if (w.compressed && sink_finish(w.compressed, err) < 0)
		return -1;
	out->diff_id = digest_finish(&w.raw);
	out->raw_size = w.raw_size;
	if (store_put_commit(&w.pending, NULL, 0, &out->digest, &out->size, err) < 0)
		return -1;
	return w.compressed ? remember_fragments(&w, fragments, &out->digest, err) : 0;
}

int layer_write(struct store *store, const struct layer_entries *entries,
		const struct layer_options *options, struct pool *pool, struct layer *out,
		struct error *err)
{
	cleanup(fragments_release) struct fragments fragments = { 0 };
	struct digest key;
	bool damaged;
	int rc;

	fragments_cut(entries, options, &fragments);
	key = key_of(&fragments, options);
	*out = (struct layer){ .media_type = mediatype_layer(options->compression) };
	if (layer_recall(store, &key, out)) {
		out->cached = true;
		return 0;
	}
	do { /* each time round a record is gone, so this ends */
		struct error why = { 0 };

		damaged = false;
		rc = write_layer(store, entries, &fragments, options, pool, &damaged, out, &why);
		if (rc < 0 && !damaged)
			*err = why;
	} while (rc < 0 && damaged);
	return rc < 0 ? -1 : remember(store, &key, out, err);
}
