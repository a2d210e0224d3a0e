#include "builder/layer.h"

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

static void key_entry(struct digest_state *state, const struct layer_entry *e)
{
	const struct tar_entry *t = e->tar;

	layer_key_u64(state, t->type);
	layer_key_text(state, t->path);
	layer_key_text(state, t->link);
	layer_key_u64(state, t->size);
	layer_key_u64(state, t->mode);
	layer_key_u64(state, t->uid);
	layer_key_u64(state, t->gid);
	layer_key_u64(state, (uint64_t)t->mtime);
	layer_key_u64(state, t->xattr_count);
	for (size_t i = 0; i < t->xattr_count; i++) {
		layer_key_text(state, t->xattrs[i].name);
		layer_key_u64(state, t->xattrs[i].len);
		digest_update(state, t->xattrs[i].value, t->xattrs[i].len);
	}
	if (t->type == TAR_FILE)
		digest_update(state, e->identity->bytes, digest_size(e->identity->algorithm));
}

struct digest layer_key(const struct layer_entries *entries, const struct layer_options *options)
{
	cleanup_digest struct digest_state state = { 0 };
	cleanup_free char *coder = compression_identity(options->compression, options->level);

	digest_init(&state, DIGEST_SHA256);
	layer_key_text(&state, "gpuimg layer");
	layer_key_u64(&state, ASSEMBLY_VERSION);
	layer_key_text(&state, coder);
	for (size_t i = 0; i < entries->len; i++)
		key_entry(&state, &entries->items[i]);
	return digest_finish(&state);
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

/* True when the store knows the recipe and still holds the blob. */
static bool recall(struct store *store, const struct digest *key, struct layer *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 }; /* a record that cannot be used is written again */

	return store_get_record(store, "layers", key, &text, &ignored) == 0 &&
	       record_parse(strbuf_slice(&text), out, &ignored) == 0 &&
	       store_has(store, &out->digest, out->size);
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

static int write_entries(struct sink *tar, const struct layer_entries *entries, struct error *err)
{
	for (size_t i = 0; i < entries->len; i++) {
		const struct layer_entry *e = &entries->items[i];
		cleanup_stream struct stream *content = NULL;

		if (e->tar->type == TAR_FILE && e->tar->size) {
			content = content_open(e->content, e->tar->size, err);
			if (!content)
				return error_wrap(err, "/%s", e->tar->path);
		}
		if (tar_write_entry(tar, e->tar, content, err) < 0)
			return error_wrap(err, "/%s", e->tar->path);
	}
	return tar_write_end(tar, err);
}

int layer_write(struct store *store, const struct layer_entries *entries,
		const struct layer_options *options, struct pool *pool, struct layer *out,
		struct error *err)
{
	struct digest key = layer_key(entries, options);
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_digest struct digest_state raw = { 0 };
	cleanup_sink struct sink *compressed = NULL, *tar = NULL;

	*out = (struct layer){ .media_type = mediatype_layer(options->compression) };
	if (recall(store, &key, out)) {
		out->cached = true;
		return 0;
	}
	if (store_put_open(store, &pending, err) < 0)
		return -1;
	digest_init(&raw, DIGEST_SHA256);
	out->raw_size = 0;
	if (options->compression != COMPRESSION_NONE)
		compressed =
			compress_sink(pending.sink, options->compression, options->level, pool);
	tar = sink_digest(compressed ? compressed : pending.sink, &raw, &out->raw_size);
	if (write_entries(tar, entries, err) < 0)
		return -1;
	if (compressed && sink_finish(compressed, err) < 0)
		return -1;
	out->diff_id = digest_finish(&raw);
	if (store_put_commit(&pending, NULL, 0, &out->digest, &out->size, err) < 0)
		return -1;
	return remember(store, &key, out, err);
}
