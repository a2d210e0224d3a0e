#include "registry/cosign_tag.h"

#include "oci/mediatype.h"

static bool same_annotations(const json_t *a, const json_t *b)
{
	size_t size = a ? json_object_size(a) : 0;

	if (size != (b ? json_object_size(b) : 0))
		return false;
	return !size || json_equal(a, b);
}

static bool is_among(const struct descriptor *layers, size_t count, const struct descriptor *one)
{
	for (size_t i = 0; i < count; i++) {
		if (digest_equal(&layers[i].digest, &one->digest) &&
		    same_annotations(layers[i].annotations, one->annotations))
			return true;
	}
	return false;
}

static bool has_all(void *user, struct slice now)
{
	const struct cosign_adding *a = user;
	cleanup_arena struct arena arena = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	struct error ignored = { 0 };

	if (!now.len || manifest_parse(now, &arena, &m, &ignored) < 0)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (!is_among(m.layers, m.layer_count, &a->layers[i]))
			return false;
	}
	return true;
}

/* The configuration says nothing but the layers' digests. */
static int put_config(struct artifact_place *p, const struct descriptor *layers, size_t count,
		      struct descriptor *out, struct error *err)
{
	static const char unset[] = "0001-01-01T00:00:00Z";
	cleanup_json json_t *config = json_object();
	json_t *history = json_array(), *roots = json_object(), *ids = json_array();
	cleanup_strbuf struct strbuf text = { 0 };
	char digest[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < count; i++) {
		json_t *entry = json_object();

		json_put(entry, "created", json_text(unset));
		json_push(history, entry);
		json_push(ids, json_text(digest_text(&layers[i].digest, digest)));
	}
	json_put(roots, "type", json_text("layers"));
	json_put(roots, "diff_ids", ids);
	json_put(config, "architecture", json_text(""));
	json_put(config, "os", json_text(""));
	json_put(config, "created", json_text(unset));
	json_put(config, "history", history);
	json_put(config, "rootfs", roots);
	json_put(config, "config", json_object());
	json_canonical(config, &text);
	*out = (struct descriptor){ .media_type = MEDIATYPE_OCI_CONFIG,
				    .digest = digest_of(strbuf_slice(&text)),
				    .size = text.len };
	return p->ops->put_blob(p, out, strbuf_slice(&text), err);
}

static int add(void *user, struct slice old, struct strbuf *out, struct error *err)
{
	const struct cosign_adding *a = user;
	cleanup_arena struct arena arena = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	cleanup_free struct descriptor *all = NULL;
	struct descriptor config;
	size_t count;

	if (old.len && manifest_parse(old, &arena, &m, err) < 0)
		return -1;
	all = xcalloc(m.layer_count + a->count + 1, sizeof(*all));
	for (count = 0; count < m.layer_count; count++)
		all[count] = m.layers[count];
	for (size_t i = 0; i < a->count; i++) {
		if (!is_among(all, count, &a->layers[i]))
			all[count++] = a->layers[i];
	}
	if (count > COSIGN_LAYERS_MAX)
		return error_set(err, ERROR_LIMIT, "would hold %zu signatures; %d are allowed",
				 count, COSIGN_LAYERS_MAX);
	if (put_config(a->place, all, count, &config, err) < 0)
		return -1;
	manifest_write(&config, all, count, m.json ? json_object_get(m.json, "annotations") : NULL,
		       out);
	return 0;
}

int cosign_tag_begin(struct artifact_place *p, const char *tag, const struct descriptor *layers,
		     size_t count, struct cosign_adding *out, struct error *err)
{
	*out = (struct cosign_adding){ .place = p,
				       .layers = layers,
				       .count = count,
				       .update = { .tag = tag,
						   .change = add,
						   .done = has_all,
						   .user = out,
						   .media_type = MEDIATYPE_OCI_MANIFEST } };
	return artifact_update_begin(p, &out->update, err);
}

int cosign_tag_add(struct artifact_place *p, const char *tag, const struct descriptor *layers,
		   size_t count, struct error *err)
{
	struct cosign_adding adding;

	if (cosign_tag_begin(p, tag, layers, count, &adding, err) < 0)
		return -1;
	return artifact_update_settle(p, &adding.update, err);
}
