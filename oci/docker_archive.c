#include "oci/docker_archive.h"

#include "base/alloc.h"
#include "oci/config.h"
#include "oci/mediatype.h"
#include "oci/reference.h"

/* As written, or once both are completed ("app" is docker.io/library/app:latest). */
static bool same_reference(const char *a, const char *b)
{
	cleanup_arena struct arena arena = { 0 };
	struct error ignored = { 0 };
	struct reference x, y;

	if (str_equal(a, b))
		return true;
	return reference_parse(a, &arena, &x, &ignored) == 0 &&
	       reference_parse(b, &arena, &y, &ignored) == 0 &&
	       str_equal(reference_text(&x, &arena), reference_text(&y, &arena));
}

/* 2: one of the entry's tags is `tag`; 1: one ends in it; 0: none. */
static int match(const json_t *entry, const char *tag)
{
	const json_t *tags = json_object_get(entry, "RepoTags");
	cleanup_free char *suffix = xasprintf(":%s", tag);
	int best = 0;

	for (size_t i = 0; i < json_array_size(tags); i++) {
		const char *s = json_string_value(json_array_get(tags, i));

		if (s && same_reference(s, tag))
			return 2;
		if (s && str_ends(s, suffix))
			best = 1;
	}
	return best;
}

static void list_tags(const json_t *list, struct strbuf *out)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *tags = json_object_get(json_array_get(list, i), "RepoTags");

		for (size_t k = 0; k < json_array_size(tags); k++) {
			const char *s = json_string_value(json_array_get(tags, k));

			if (!s)
				continue;
			if (out->len > 200) {
				strbuf_adds(out, ", …");
				return;
			}
			strbuf_addf(out, "%s%.100s", out->len ? ", " : "", s);
		}
	}
}

static int choose(const json_t *list, const char *archive, const char *tag, const json_t **out,
		  struct error *err)
{
	cleanup_strbuf struct strbuf tags = { 0 };
	size_t count = json_array_size(list);
	int best = 0;

	*out = !tag && count == 1 ? json_array_get(list, 0) : NULL;
	for (size_t i = 0; tag && i < count; i++) {
		int how = match(json_array_get(list, i), tag);

		if (how && how == best)
			return error_set(err, ERROR_FORMAT,
					 "%s: the name '%.150s' stands for more than one image",
					 archive, tag);
		if (how > best) {
			best = how;
			*out = json_array_get(list, i);
		}
	}
	if (*out)
		return 0;
	list_tags(list, &tags);
	if (!count)
		return error_set(err, ERROR_NOT_FOUND, "%s: holds no image", archive);
	if (!tag)
		return error_set(err, ERROR_NOT_FOUND, "%s: holds %zu images, name one of them: %s",
				 archive, count, strbuf_text(&tags));
	return error_set(err, ERROR_NOT_FOUND, "%s: holds no image '%.150s'; there are: %s",
			 archive, tag, tags.len ? strbuf_text(&tags) : "one without a name");
}

static int hash_member(const struct tar_index *index, const struct tar_member *member,
		       struct digest *out, struct error *err)
{
	cleanup_stream struct stream *in = tar_index_open(index, member), *hashed = NULL;
	cleanup_digest struct digest_state state = { 0 };

	digest_init(&state, DIGEST_SHA256);
	hashed = stream_digest(in, &state, NULL);
	if (stream_drain(hashed, NULL, err) < 0)
		return -1;
	*out = digest_finish(&state);
	return 0;
}

static int kind_of(const struct tar_index *index, const struct tar_member *member,
		   enum compression *out, struct error *err)
{
	cleanup_stream struct stream *in = tar_index_open(index, member);
	uint8_t head[6];
	size_t len = (size_t)MIN(member->size, (uint64_t)sizeof(head));

	if (stream_read_exact(in, head, len, err) < 0)
		return -1;
	*out = compression_detect(slice_of(head, len));
	return 0;
}

static void add_blob(struct docker_archive *a, const struct digest *digest,
		     const struct tar_member *member, const struct tar_member **earlier)
{
	char text[DIGEST_TEXT_MAX];

	*earlier = docker_archive_blob(a, digest);
	if (!*earlier)
		map_put(&a->blobs, digest_text(digest, text), (void *)(uintptr_t)member);
}

/* As hash_member, once per member however often it is named. */
static int hash_once(struct docker_archive *a, const struct tar_index *index,
		     const struct tar_member *member, struct digest *out, struct error *err)
{
	struct digest *known = map_get(&a->hashed, member->name);

	if (!known) {
		known = arena_alloc(&a->arena, sizeof(*known));
		if (hash_member(index, member, known, err) < 0)
			return -1;
		map_put(&a->hashed, member->name, known);
	}
	*out = *known;
	return 0;
}

static int add_layer(struct docker_archive *a, const struct tar_index *index, const char *name,
		     const struct digest *diff_id, struct descriptor *out, struct error *err)
{
	const struct tar_member *member = tar_index_find(index, name, err), *earlier;
	enum compression kind;

	if (!member || kind_of(index, member, &kind, err) < 0)
		return -1;
	out->media_type = mediatype_layer(kind);
	out->size = member->size;
	out->digest = *diff_id;
	if (!out->media_type)
		return error_set(err, ERROR_FORMAT, "%s: layer '%.150s' is compressed with %s",
				 index->archive, name, compression_name(kind));
	if (kind != COMPRESSION_NONE && hash_once(a, index, member, &out->digest, err) < 0)
		return -1;
	add_blob(a, &out->digest, member, &earlier);
	/* Two files that claim one diff_id: only the first will be read, so the claim is proven. */
	if (earlier && earlier->offset != member->offset && kind == COMPRESSION_NONE) {
		struct digest got;

		if (hash_once(a, index, member, &got, err) < 0)
			return -1;
		if (!digest_equal(&got, diff_id))
			return error_set(
				err, ERROR_INTEGRITY,
				"%s: layer '%.150s' is not the one the configuration names",
				index->archive, name);
	}
	return 0;
}

static int add_config(struct docker_archive *a, const struct tar_index *index, const char *name,
		      struct image_config *config, struct descriptor *out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const struct tar_member *member = tar_index_find(index, name, err), *earlier;

	if (!member || tar_index_get(index, name, MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	if (config_parse(strbuf_slice(&text), &a->arena, config, err) < 0)
		return error_wrap(err, "%s: %.150s", index->archive, name);
	out->media_type = MEDIATYPE_OCI_CONFIG;
	out->digest = digest_of(strbuf_slice(&text));
	out->size = text.len;
	add_blob(a, &out->digest, member, &earlier);
	return 0;
}

static int make_manifest(struct docker_archive *a, const struct tar_index *index,
			 const json_t *entry, struct error *err)
{
	struct descriptor config_desc = { 0 }, *layers;
	struct image_config config;
	const char *config_name;
	json_t *names;
	size_t count;

	if (json_get_str(entry, "", "Config", &config_name, err) < 0 ||
	    json_get_array_opt(entry, "", "Layers", &names, err) < 0)
		return error_wrap(err, "%s: manifest.json", index->archive);
	if (add_config(a, index, config_name, &config, &config_desc, err) < 0)
		return -1;
	count = json_array_size(names);
	if (count != config.diff_id_count)
		return error_set(err, ERROR_FORMAT,
				 "%s: manifest.json lists %zu layers, the configuration %zu",
				 index->archive, count, config.diff_id_count);
	layers = arena_array(&a->arena, count, sizeof(*layers));
	for (size_t i = 0; i < count; i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (!name)
			return error_set(err, ERROR_FORMAT,
					 "%s: manifest.json: Layers[%zu]: is not text",
					 index->archive, i);
		if (add_layer(a, index, name, &config.diff_ids[i], &layers[i], err) < 0)
			return -1;
	}
	manifest_write(&config_desc, layers, count, NULL, &a->manifest);
	a->root.media_type = MEDIATYPE_OCI_MANIFEST;
	a->root.digest = digest_of(strbuf_slice(&a->manifest));
	a->root.size = a->manifest.len;
	return 0;
}

int docker_archive_open(const struct tar_index *index, const char *tag, struct docker_archive *out,
			struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *list = NULL;
	const json_t *entry;

	if (tar_index_get(index, "manifest.json", MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	if (json_parse(strbuf_slice(&text), &list, err) < 0)
		return error_wrap(err, "%s: manifest.json", index->archive);
	if (!json_is_array(list))
		return error_set(err, ERROR_FORMAT, "%s: manifest.json is not an array",
				 index->archive);
	if (choose(list, index->archive, tag, &entry, err) < 0)
		return -1;
	if (!json_is_object(entry))
		return error_set(err, ERROR_FORMAT, "%s: manifest.json: an image is not an object",
				 index->archive);
	return make_manifest(out, index, entry, err);
}

void docker_archive_release(struct docker_archive *a)
{
	if (!a)
		return;
	strbuf_release(&a->manifest);
	map_release(&a->blobs);
	map_release(&a->hashed);
	arena_release(&a->arena);
	*a = (struct docker_archive){ 0 };
}

const struct tar_member *docker_archive_blob(const struct docker_archive *a,
					     const struct digest *digest)
{
	char text[DIGEST_TEXT_MAX];

	return map_get(&a->blobs, digest_text(digest, text));
}
