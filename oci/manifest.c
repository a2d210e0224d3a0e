#include "oci/manifest.h"

#include "oci/mediatype.h"

/* The document as an object of schema version 2, of `kind`. */
static int parse_document(struct slice text, enum media_kind kind, json_t **out,
			  const char **media_type, struct error *err)
{
	cleanup_json json_t *json = NULL;
	const struct mediatype *type;
	uint64_t version;

	if (text.len > MANIFEST_BYTES_MAX)
		return error_set(err, ERROR_FORMAT, "is %zu bytes long, %d are allowed", text.len,
				 MANIFEST_BYTES_MAX);
	if (json_parse(text, &json, err) < 0)
		return -1;
	if (!json_is_object(json))
		return error_set(err, ERROR_FORMAT, "is not an object");
	if (json_get_u64(json, "", "schemaVersion", &version, err) < 0)
		return -1;
	if (version == 1)
		return error_set(
			err, ERROR_FORMAT,
			"schemaVersion: 1, the manifest format Docker gave up in 2017; copy "
			"the image with a client that converts it (skopeo copy --format v2s2) "
			"or build it again");
	if (version != 2)
		return error_set(err, ERROR_FORMAT, "schemaVersion: is %" PRIu64 " instead of 2",
				 version);
	if (json_get_str_opt(json, "", "mediaType", media_type, err) < 0)
		return -1;
	type = mediatype_find(*media_type);
	if (*media_type && (!type || type->kind != kind))
		return error_set(err, ERROR_FORMAT, "mediaType: '%.200s' is not that of an %s",
				 *media_type,
				 kind == MEDIA_INDEX ? "image index" : "image manifest");
	*out = steal_ptr(&json);
	return 0;
}

/* The array `key`; null, as some writers have it for "none", is given as NULL. */
static int get_list(const json_t *json, const char *key, json_t **out, struct error *err)
{
	if (json_is_null(json_object_get(json, key))) {
		*out = NULL;
		return 0;
	}
	return json_get_array(json, "", key, out, err);
}

static int parse_list(json_t *list, const char *name, struct arena *arena, struct descriptor **out,
		      size_t *out_count, struct error *err)
{
	size_t count = json_array_size(list);
	struct descriptor *items = arena_array(arena, count, sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		char where[64];

		snprintf(where, sizeof(where), "%s[%zu]", name, i);
		if (descriptor_parse(json_array_get(list, i), where, arena, &items[i], err) < 0)
			return -1;
	}
	*out = items;
	*out_count = count;
	return 0;
}

/* A document that is both kinds at once is read differently by different programs. */
static int refuse_member(const json_t *json, const char *key, const char *what, struct error *err)
{
	if (json_object_get(json, key))
		return error_set(err, ERROR_FORMAT, "%s: does not belong into %s", key, what);
	return 0;
}

int manifest_parse(struct slice text, struct arena *arena, struct manifest *out, struct error *err)
{
	cleanup_manifest struct manifest m = { 0 };
	const char *media_type = NULL;
	json_t *config, *layers;

	if (parse_document(text, MEDIA_MANIFEST, &m.json, &media_type, err) < 0 ||
	    refuse_member(m.json, "manifests", "an image manifest", err) < 0 ||
	    json_get_object(m.json, "", "config", &config, err) < 0 ||
	    descriptor_parse(config, "config", arena, &m.config, err) < 0 ||
	    get_list(m.json, "layers", &layers, err) < 0 ||
	    parse_list(layers, "layers", arena, &m.layers, &m.layer_count, err) < 0)
		return -1;
	m.media_type = arena_strdup(arena, media_type ? media_type : MEDIATYPE_OCI_MANIFEST);
	*out = m;
	m.json = NULL;
	return 0;
}

void manifest_release(struct manifest *m)
{
	if (!m)
		return;
	json_decref(m->json);
	*m = (struct manifest){ 0 };
}

int index_parse(struct slice text, struct arena *arena, struct index *out, struct error *err)
{
	cleanup_index struct index i = { 0 };
	const char *media_type = NULL;
	json_t *list;

	if (parse_document(text, MEDIA_INDEX, &i.json, &media_type, err) < 0 ||
	    refuse_member(i.json, "layers", "an image index", err) < 0 ||
	    refuse_member(i.json, "config", "an image index", err) < 0 ||
	    get_list(i.json, "manifests", &list, err) < 0 ||
	    parse_list(list, "manifests", arena, &i.manifests, &i.manifest_count, err) < 0)
		return -1;
	i.media_type = arena_strdup(arena, media_type ? media_type : MEDIATYPE_OCI_INDEX);
	*out = i;
	i.json = NULL;
	return 0;
}

void index_release(struct index *i)
{
	if (!i)
		return;
	json_decref(i->json);
	*i = (struct index){ 0 };
}

static json_t *list_json(const struct descriptor *items, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(list, descriptor_json(&items[i]));
	return list;
}

static json_t *document(const char *media_type, const json_t *annotations)
{
	json_t *json = json_object();

	json_put(json, "schemaVersion", json_integer(2));
	json_put(json, "mediaType", json_text(media_type));
	if (annotations && json_object_size(annotations))
		json_put(json, "annotations", json_deep_copy(annotations));
	return json;
}

void manifest_write(const struct descriptor *config, const struct descriptor *layers,
		    size_t layer_count, const json_t *annotations, struct strbuf *out)
{
	cleanup_json json_t *json = document(MEDIATYPE_OCI_MANIFEST, annotations);

	json_put(json, "config", descriptor_json(config));
	json_put(json, "layers", list_json(layers, layer_count));
	json_canonical(json, out);
}

void index_write(const struct descriptor *manifests, size_t count, const json_t *annotations,
		 struct strbuf *out)
{
	cleanup_json json_t *json = document(MEDIATYPE_OCI_INDEX, annotations);

	json_put(json, "manifests", list_json(manifests, count));
	json_canonical(json, out);
}
