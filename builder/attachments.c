#include "builder/attachments.h"

#include "formats/json.h"

enum { ATTACHMENT_BYTES_MAX = 512 * 1024 * 1024 };

static const struct {
	const char *name, *media_type;
} kinds[] = {
	[ATTACHMENT_SPDX] = { "spdx", "application/spdx+json" },
	[ATTACHMENT_CYCLONEDX] = { "cyclonedx", "application/vnd.cyclonedx+json" },
	[ATTACHMENT_PROVENANCE] = { "provenance", "application/vnd.in-toto+json" },
	[ATTACHMENT_FILES] = { "files", "text/tab-separated-values" },
};

const char *attachment_name(enum attachment which)
{
	return kinds[which].name;
}

const char *attachment_media_type(enum attachment which)
{
	return kinds[which].media_type;
}

int attachments_keep(struct store *store, const struct digest *key,
		     const struct attachments *attachments, struct error *err)
{
	cleanup_json json_t *record = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	char digest[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < ATTACHMENT_COUNT; i++) {
		json_t *o = json_object();

		json_put(o, "digest",
			 json_text(digest_text(&attachments->items[i].digest, digest)));
		json_put(o, "size", json_integer((json_int_t)attachments->items[i].size));
		json_put(record, kinds[i].name, o);
	}
	json_canonical(record, &text);
	return store_put_record(store, "attachments", key, strbuf_slice(&text), err);
}

static bool find_one(struct store *store, const json_t *record, enum attachment which,
		     struct attachments *out)
{
	struct error ignored = { 0 };
	const char *digest;
	json_t *o;

	return json_get_object(record, "", kinds[which].name, &o, &ignored) == 0 &&
	       json_get_str(o, "", "digest", &digest, &ignored) == 0 &&
	       json_get_u64(o, "", "size", &out->items[which].size, &ignored) == 0 &&
	       digest_parse(slice_str(digest), &out->items[which].digest, &ignored) == 0 &&
	       store_intact(store, &out->items[which].digest, out->items[which].size);
}

bool attachments_find(struct store *store, const struct digest *key, struct attachments *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *record = NULL;
	struct error ignored = { 0 };

	if (store_get_record(store, "attachments", key, &text, &ignored) < 0 ||
	    json_parse(strbuf_slice(&text), &record, &ignored) < 0)
		return false;
	for (int i = 0; i < ATTACHMENT_COUNT; i++) {
		if (!find_one(store, record, (enum attachment)i, out))
			return false;
	}
	return true;
}

int attachments_read(struct store *store, const struct digest *key, enum attachment which,
		     struct strbuf *out, struct error *err)
{
	struct attachments found;
	char digest[DIGEST_TEXT_MAX];

	if (!attachments_find(store, key, &found))
		return error_set(err, ERROR_NOT_FOUND,
				 "the store has nothing that was said of the image %s when it was "
				 "built",
				 digest_text(key, digest));
	return store_get_bytes(store, &found.items[which].digest, ATTACHMENT_BYTES_MAX, out, err);
}
