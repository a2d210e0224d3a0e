#include "builder/upstream.h"

#include "builder/component.h"
#include "builder/sources/dir.h"
#include "formats/json.h"

enum { DEPTH_MAX = 8 };

bool upstream_kind(const char *kind)
{
	static const char *const kinds[] = { "images", "attachments", "layers", "stages" };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (str_equal(kind, kinds[i]))
			return true;
	}
	return false;
}

static void add(struct upstream_objects *out, const struct digest *digest, uint64_t size)
{
	for (size_t i = 0; i < out->len; i++) {
		if (digest_equal(&out->items[i].digest, digest))
			return;
	}
	vec_push(out, ((struct upstream_object){ *digest, size }));
}

/* What has a digest and a size is an object, wherever it stands. */
static void walk(const json_t *value, unsigned depth, struct upstream_objects *out)
{
	const char *digest = json_string_value(json_object_get(value, "digest"));
	const json_t *size = json_object_get(value, "size");
	struct error ignored = { 0 };
	struct digest d;
	const char *key;
	json_t *member;
	size_t i;

	if (depth > DEPTH_MAX)
		return;
	if (digest && json_is_integer(size) && json_integer_value(size) >= 0 &&
	    digest_parse(slice_str(digest), &d, &ignored) == 0)
		add(out, &d, (uint64_t)json_integer_value(size));
	json_object_foreach((json_t *)(uintptr_t)value, key, member) walk(member, depth + 1, out);
	json_array_foreach(value, i, member) walk(member, depth + 1, out);
}

/* A stage's record is the digest of a listing, which names the files. */
static int list_stage(struct store *store, struct slice record, struct upstream_objects *out,
		      struct error *err)
{
	cleanup_component struct component *c = component_new(COMPONENT_STAGE, "stage", "");
	cleanup_strbuf struct strbuf text = { 0 };
	struct digest listing;

	if (digest_parse(record, &listing, err) < 0 ||
	    store_get_bytes(store, &listing, DIR_LISTING_BYTES_MAX, &text, err) < 0 ||
	    dir_listing_read(c, strbuf_slice(&text), NULL, err) < 0)
		return -1;
	add(out, &listing, text.len);
	for (size_t i = 0; i < c->entries.len; i++) {
		const struct component_entry *e = &c->entries.items[i];
		struct digest digest;

		if (e->tar.type != TAR_FILE)
			continue;
		digest = content_digest(&e->content);
		add(out, &digest, e->tar.size);
	}
	return 0;
}

int upstream_objects(struct store *store, const char *kind, struct slice record,
		     struct upstream_objects *out, struct error *err)
{
	cleanup_json json_t *root = NULL;

	if (str_equal(kind, "stages"))
		return list_stage(store, record, out, err);
	if (json_parse(record, &root, err) < 0)
		return -1;
	walk(root, 0, out);
	return 0;
}
