#include "registry/cache.h"

#include "formats/dsse.h"
#include "oci/manifest.h"
#include "oci/mediatype.h"
#include "registry/artifact.h"
#include "registry/client_request.h"
#include "registry/fetch_blob.h"
#include "registry/upload.h"

#define PAYLOAD_TYPE "application/vnd.gpuimg.cache-entry.v1+json"
#define ARTIFACT_TYPE "application/vnd.gpuimg.cache.v1+json"

void cache_entry_release(struct cache_entry *e)
{
	if (!e)
		return;
	strbuf_release(&e->record);
	vec_release(&e->objects);
}

/* The document. */

static void write_payload(const struct cache_entry *e, struct strbuf *out)
{
	cleanup_json json_t *root = json_object();
	json_t *objects = json_array();
	char text[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < e->objects.len; i++) {
		json_t *o = json_object();

		json_put(o, "digest", json_text(digest_text(&e->objects.items[i].digest, text)));
		json_put(o, "size", json_integer((json_int_t)e->objects.items[i].size));
		json_push(objects, o);
	}
	json_put(root, "kind", json_text(e->kind));
	json_put(root, "key", json_text(digest_text(&e->key, text)));
	json_put(root, "record", json_text(strbuf_text(&e->record)));
	json_put(root, "objects", objects);
	json_canonical(root, out);
}

int cache_entry_write(const struct cache_entry *e, const struct key *key, struct strbuf *out,
		      struct error *err)
{
	cleanup_strbuf struct strbuf payload = { 0 };
	cleanup_json json_t *envelope = NULL;

	if (e->record.len > CACHE_RECORD_MAX || e->objects.len > CACHE_OBJECTS_MAX)
		return error_set(err, ERROR_LIMIT, "the cache takes no record as large as this");
	write_payload(e, &payload);
	if (!key) {
		strbuf_add(out, payload.data, payload.len);
		return 0;
	}
	envelope = dsse_sign(key, PAYLOAD_TYPE, strbuf_slice(&payload), err);
	if (!envelope)
		return -1;
	json_canonical(envelope, out);
	return 0;
}

static int parse_objects(const json_t *list, struct cache_entry *out, struct error *err)
{
	if (json_array_size(list) > CACHE_OBJECTS_MAX)
		return error_set(err, ERROR_LIMIT, "objects: more than %d", CACHE_OBJECTS_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *o = json_array_get(list, i);
		struct cache_object object;
		const char *digest;

		if (!json_is_object(o))
			return error_set(err, ERROR_FORMAT, "objects[%zu]: is not an object", i);
		if (json_get_str(o, "objects", "digest", &digest, err) < 0 ||
		    json_get_u64(o, "objects", "size", &object.size, err) < 0 ||
		    digest_parse(slice_str(digest), &object.digest, err) < 0)
			return -1;
		vec_push(&out->objects, object);
	}
	return 0;
}

static int parse_payload(struct slice text, const char *kind, const struct digest *key,
			 struct cache_entry *out, struct error *err)
{
	cleanup_json json_t *root = NULL;
	const char *said_kind, *said_key, *record;
	char want[DIGEST_TEXT_MAX];
	json_t *objects;

	if (json_parse(text, &root, err) < 0)
		return -1;
	if (!json_is_object(root))
		return error_set(err, ERROR_FORMAT, "is not an object");
	if (json_get_str(root, "", "kind", &said_kind, err) < 0 ||
	    json_get_str(root, "", "key", &said_key, err) < 0 ||
	    json_get_str(root, "", "record", &record, err) < 0 ||
	    json_get_array(root, "", "objects", &objects, err) < 0)
		return -1;
	if (!str_equal(said_kind, kind) || !str_equal(said_key, digest_text(key, want)))
		return error_set(err, ERROR_INTEGRITY, "is an entry for something else");
	out->kind = kind;
	out->key = *key;
	strbuf_adds(&out->record, record);
	return parse_objects(objects, out, err);
}

static int check_signed(const struct dsse *envelope, const struct key *const *keys,
			size_t key_count, struct error *err)
{
	if (!str_equal(envelope->payload_type, PAYLOAD_TYPE))
		return error_set(err, ERROR_INTEGRITY, "is an envelope of something else");
	for (size_t i = 0; i < key_count; i++) {
		if (dsse_verify(envelope, keys[i]))
			return 0;
	}
	return key_count ? error_set(err, ERROR_INTEGRITY, "is signed by none of the keys") : 0;
}

int cache_entry_read(struct slice text, const char *kind, const struct digest *key,
		     const struct key *const *keys, size_t key_count, struct cache_entry *out,
		     struct error *err)
{
	cleanup_dsse struct dsse envelope = { 0 };
	cleanup_json json_t *root = NULL;

	if (json_parse(text, &root, err) < 0)
		return error_wrap(err, "cache entry");
	if (json_is_object(root) && !json_object_get(root, "payload")) {
		if (key_count)
			return error_set(err, ERROR_INTEGRITY, "cache entry: is not signed");
		if (parse_payload(text, kind, key, out, err) < 0)
			return error_wrap(err, "cache entry");
		return 0;
	}
	if (dsse_parse(root, "envelope", &envelope, err) < 0 ||
	    check_signed(&envelope, keys, key_count, err) < 0 ||
	    parse_payload(strbuf_slice(&envelope.payload), kind, key, out, err) < 0)
		return error_wrap(err, "cache entry");
	return 0;
}

/* The repository. */

static char *tag_of(const char *kind, const struct digest *key)
{
	char hex[DIGEST_HEX_MAX];

	return xasprintf("%s-%.64s", kind, digest_hex(key, hex));
}

static int get_manifest(struct client *c, const char *kind, const struct digest *key,
			struct arena *arena, struct strbuf *out, struct error *err)
{
	cleanup_free char *tag = tag_of(kind, key);
	struct descriptor ignored;

	return client_manifest_get(c, tag, arena, out, &ignored, err);
}

int cache_has(struct client *c, const char *kind, const struct digest *key, bool *out_there,
	      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct error failed = { 0 };

	*out_there = get_manifest(c, kind, key, &arena, &text, &failed) == 0;
	if (*out_there || failed.code == ERROR_NOT_FOUND)
		return 0;
	*err = failed;
	return -1;
}

struct uploading {
	cache_open_fn *open; /* NULL: `bytes` */
	void *user;
	const struct cache_object *object;
	struct slice bytes;
};

static struct stream *open_upload(void *user, struct error *err)
{
	struct uploading *u = user;

	return u->open ? u->open(u->user, u->object, err) : stream_memory(u->bytes);
}

static int put_blob(struct client *c, struct upload_host *host, struct uploading *u,
		    const struct descriptor *desc, struct error *err)
{
	struct upload upload = { .host = host,
				 .state_dir = client_options_of(c)->state_dir,
				 .desc = desc,
				 .open = open_upload,
				 .user = u };
	struct upload_result ignored;

	return upload_blob(&upload, c, &ignored, err);
}

static void write_manifest(const struct descriptor *config, const struct descriptor *layers,
			   size_t count, struct strbuf *out)
{
	cleanup_json json_t *root = json_object();
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(list, descriptor_json(&layers[i]));
	json_put(root, "schemaVersion", json_integer(2));
	json_put(root, "mediaType", json_text(MEDIATYPE_OCI_MANIFEST));
	json_put(root, "artifactType", json_text(ARTIFACT_TYPE));
	json_put(root, "config", descriptor_json(config));
	json_put(root, "layers", list);
	json_canonical(root, out);
}

static int put_entry(struct client *c, struct upload_host *host, const struct cache_entry *e,
		     struct slice document, cache_open_fn *open, void *user, struct error *err)
{
	cleanup_free struct descriptor *layers = xcalloc(e->objects.len + 1, sizeof(*layers));
	struct descriptor config = { .media_type = PAYLOAD_TYPE,
				     .digest = digest_of(document),
				     .size = document.len };
	cleanup_free char *tag = tag_of(e->kind, &e->key);
	cleanup_strbuf struct strbuf manifest = { 0 };
	struct uploading u = { .bytes = document };

	if (put_blob(c, host, &u, &config, err) < 0)
		return -1;
	for (size_t i = 0; i < e->objects.len; i++) {
		const struct cache_object *object = &e->objects.items[i];

		u = (struct uploading){ .open = open, .user = user, .object = object };
		layers[i] = (struct descriptor){ .media_type = "application/octet-stream",
						 .digest = object->digest,
						 .size = object->size };
		if (put_blob(c, host, &u, &layers[i], err) < 0)
			return -1;
	}
	write_manifest(&config, layers, e->objects.len, &manifest);
	return client_manifest_put(c, tag, MEDIATYPE_OCI_MANIFEST, strbuf_slice(&manifest), err);
}

int cache_put(struct client *c, const struct cache_entry *e, const struct key *key,
	      cache_open_fn *open, void *user, struct error *err)
{
	const struct client_repository *r = client_repository_of(c);
	cleanup_strbuf struct strbuf document = { 0 };
	struct upload_host *host;
	int rc;

	if (cache_entry_write(e, key, &document, err) < 0)
		return -1;
	host = upload_host_open(client_options_of(c)->state_dir, client_repository_registry(r),
				client_repository_realm_service(r), NULL);
	rc = put_entry(c, host, e, strbuf_slice(&document), open, user, err);
	upload_host_close(host);
	return rc;
}

int cache_get(struct client *c, const char *kind, const struct digest *key,
	      const struct key *const *keys, size_t key_count, struct cache_entry *out,
	      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 }, document = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	cleanup_sink struct sink *sink = sink_memory(&document);

	if (get_manifest(c, kind, key, &arena, &text, err) < 0 ||
	    manifest_parse(strbuf_slice(&text), &arena, &m, err) < 0)
		return -1;
	if (m.config.size > 2 * CACHE_RECORD_MAX)
		return error_set(err, ERROR_LIMIT, "cache entry: %" PRIu64 " bytes", m.config.size);
	if (client_blob_get(c, &m.config, sink, err) < 0)
		return -1;
	return cache_entry_read(strbuf_slice(&document), kind, key, keys, key_count, out, err);
}

int cache_fetch(struct origins *from, const struct cache_object *object, struct sink *out,
		struct error *err)
{
	struct descriptor desc = { .digest = object->digest, .size = object->size };
	struct blob_fetch fetch = { .origins = from, .desc = &desc, .out = out };
	int rc;

	digest_init(&fetch.state, object->digest.algorithm);
	rc = fetch_blob(&fetch, err);
	digest_release(&fetch.state);
	return rc;
}
