#include "base/map.h"
#include "formats/tar_write.h"
#include "oci/layout.h"
#include "oci/mediatype.h"

/* The one time of what we write: 1980-01-01, the earliest that every archiver can hold. */
enum { ARCHIVE_MTIME = 315532800, DEPTH_MAX = 4 };

/* "blobs/sha256/<hex>" → struct descriptor in the arena. */
struct collection {
	struct layout *layout;
	struct arena arena;
	struct map blobs;
};

static void collection_release(struct collection *c)
{
	map_release(&c->blobs);
	arena_release(&c->arena);
}

static const char *blob_path(struct arena *arena, const struct digest *digest)
{
	char hex[DIGEST_HEX_MAX];

	return arena_printf(arena, "blobs/%s/%s",
			    digest->algorithm == DIGEST_SHA512 ? "sha512" : "sha256",
			    digest_hex(digest, hex));
}

static struct stream *open_blob(struct layout *l, const struct descriptor *d, struct stream **out,
				struct error *err)
{
	*out = layout_blob(l, &d->digest, err);
	return *out ? stream_verify(*out, &d->digest, d->size) : NULL;
}

static int read_blob(struct layout *l, const struct descriptor *d, struct strbuf *out,
		     struct error *err)
{
	cleanup_stream struct stream *blob = NULL, *verified = open_blob(l, d, &blob, err);
	char digest[DIGEST_TEXT_MAX];

	if (!verified)
		return -1;
	if (stream_read_all(verified, MANIFEST_BYTES_MAX, out, err) < 0)
		return error_wrap(err, "blob %s", digest_text(&d->digest, digest));
	return 0;
}

static int collect(struct collection *c, const struct descriptor *d, unsigned depth,
		   struct error *err);

static int collect_manifest(struct collection *c, struct slice text, unsigned depth,
			    struct error *err)
{
	cleanup_manifest struct manifest m = { 0 };

	if (manifest_parse(text, &c->arena, &m, err) < 0 || collect(c, &m.config, depth, err) < 0)
		return -1;
	for (size_t i = 0; i < m.layer_count; i++) {
		if (collect(c, &m.layers[i], depth, err) < 0)
			return -1;
	}
	return 0;
}

static int collect_index(struct collection *c, struct slice text, unsigned depth, struct error *err)
{
	cleanup_index struct index index = { 0 };

	if (index_parse(text, &c->arena, &index, err) < 0)
		return -1;
	for (size_t i = 0; i < index.manifest_count; i++) {
		if (collect(c, &index.manifests[i], depth, err) < 0)
			return -1;
	}
	return 0;
}

/* `d` and all that it refers to. */
static int collect(struct collection *c, const struct descriptor *d, unsigned depth,
		   struct error *err)
{
	const struct mediatype *type = mediatype_find(d->media_type);
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor *copy = arena_alloc(&c->arena, sizeof(*copy));
	char digest[DIGEST_TEXT_MAX];
	bool index = type && type->kind == MEDIA_INDEX;
	int rc;

	*copy = *d;
	copy->annotations = NULL;
	if (map_put(&c->blobs, blob_path(&c->arena, &d->digest), copy))
		return 0;
	if (!index && (!type || type->kind != MEDIA_MANIFEST))
		return 0;
	if (depth > DEPTH_MAX)
		return error_set(err, ERROR_LIMIT, "indexes are nested more than %d deep",
				 DEPTH_MAX);
	if (read_blob(c->layout, d, &text, err) < 0)
		return -1;
	rc = index ? collect_index(c, strbuf_slice(&text), depth + 1, err)
		   : collect_manifest(c, strbuf_slice(&text), depth + 1, err);
	return rc < 0 ? error_wrap(err, "blob %s", digest_text(&d->digest, digest)) : 0;
}

static int write_dir(struct sink *out, const char *path, struct error *err)
{
	struct tar_entry e = {
		.type = TAR_DIR, .path = path, .link = "", .mode = 0755, .mtime = ARCHIVE_MTIME
	};

	return tar_write_entry(out, &e, NULL, err);
}

static int write_file(struct sink *out, const char *path, uint64_t size, struct stream *content,
		      struct error *err)
{
	struct tar_entry e = { .type = TAR_FILE,
			       .path = path,
			       .link = "",
			       .mode = 0644,
			       .size = size,
			       .mtime = ARCHIVE_MTIME };

	return tar_write_entry(out, &e, content, err);
}

static int write_text(struct sink *out, const char *path, struct slice text, struct error *err)
{
	cleanup_stream struct stream *content = stream_memory(text);

	return write_file(out, path, text.len, content, err);
}

static int write_blobs(struct collection *c, struct sink *out, struct error *err)
{
	const struct map_entry *entries = map_sorted(&c->blobs);
	const char *dir = "";

	for (size_t i = 0; i < c->blobs.len; i++) {
		const struct descriptor *d = entries[i].value;
		cleanup_stream struct stream *blob = NULL,
					     *verified = open_blob(c->layout, d, &blob, err);
		const char *its_dir =
			d->digest.algorithm == DIGEST_SHA512 ? "blobs/sha512" : "blobs/sha256";

		if (!verified)
			return -1;
		if (!str_equal(dir, its_dir) && write_dir(out, its_dir, err) < 0)
			return -1;
		dir = its_dir;
		if (write_file(out, entries[i].key, d->size, verified, err) < 0)
			return error_wrap(err, "%s", entries[i].key);
	}
	return 0;
}

static int write_index(const struct descriptor *d, const char *tag, struct sink *out,
		       struct error *err)
{
	cleanup_json json_t *annotations = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor tagged = *d;

	if (tag) {
		json_put(annotations, "org.opencontainers.image.ref.name", json_text(tag));
		tagged.annotations = annotations;
	}
	index_write(&tagged, 1, NULL, &text);
	return write_text(out, "index.json", strbuf_slice(&text), err);
}

int layout_archive(struct layout *l, const char *tag, struct sink *out, struct error *err)
{
	cleanup(collection_release) struct collection c = { .layout = l };
	struct descriptor root;

	if (layout_resolve(l, tag, &c.arena, &root, err) < 0 || collect(&c, &root, 1, err) < 0 ||
	    write_dir(out, "blobs", err) < 0 || write_blobs(&c, out, err) < 0 ||
	    write_index(&root, tag, out, err) < 0 ||
	    write_text(out, "oci-layout", slice_str("{\"imageLayoutVersion\":\"1.0.0\"}"), err) < 0)
		return -1;
	return tar_write_end(out, err);
}
