#include "oci/docker_write.h"

#include "base/map.h"
#include "base/vec.h"
#include "formats/tar_write.h"

/* The one time of what we write: 1980-01-01, the earliest that every archiver can hold. */
enum { ARCHIVE_MTIME = 315532800 };

static int write_file(struct sink *out, const char *name, uint64_t size, struct stream *content,
		      struct error *err)
{
	struct tar_entry entry = { .type = TAR_FILE,
				   .path = name,
				   .link = "",
				   .mode = 0644,
				   .mtime = ARCHIVE_MTIME,
				   .size = size };

	return tar_write_entry(out, &entry, content, err);
}

static int write_json(struct sink *out, const char *name, const json_t *json, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_stream struct stream *s = NULL;

	json_canonical(json, &text);
	s = stream_memory(strbuf_slice(&text));
	return write_file(out, name, text.len, s, err);
}

/* "<hex of the diff_id>.tar" */
static char *layer_name(const struct image *image, size_t i)
{
	char hex[DIGEST_HEX_MAX];

	return xasprintf("%s.tar", digest_hex(&image->config.diff_ids[i], hex));
}

static char *config_name(const struct image *image)
{
	char hex[DIGEST_HEX_MAX];

	return xasprintf("%s.json", digest_hex(&image->manifest.config.digest, hex));
}

static json_t *manifest_of(const struct image *image, const char *reference)
{
	cleanup_free char *config = config_name(image);
	json_t *list = json_array(), *one = json_object(), *layers = json_array();
	json_t *tags = json_array();

	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		cleanup_free char *name = layer_name(image, i);

		json_push(layers, json_text(name));
	}
	if (reference)
		json_push(tags, json_text(reference));
	json_put(one, "Config", json_text(config));
	json_put(one, "Layers", layers);
	json_put(one, "RepoTags", tags);
	json_push(list, one);
	return list;
}

/* {"acme/app":{"1":"<hex of the last diff_id>"}}, for engines before manifest.json. */
static json_t *repositories_of(const struct image *image, const char *reference)
{
	const char *colon = reference ? strrchr(reference, ':') : NULL;
	json_t *all = json_object(), *tags;
	cleanup_free char *name = NULL;
	char hex[DIGEST_HEX_MAX];

	if (!colon || !image->config.diff_id_count)
		return all;
	name = xstrndup(reference, (size_t)(colon - reference));
	tags = json_object();
	json_put(tags, colon + 1,
		 json_text(digest_hex(&image->config.diff_ids[image->config.diff_id_count - 1],
				      hex)));
	json_put(all, name, tags);
	return all;
}

struct named_layer {
	char *name;
	size_t index;
};

static int by_name(const void *a, const void *b)
{
	const struct named_layer *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->index < y->index ? -1 : 1;
}

static int write_layer(struct image *image, const struct named_layer *l, uint64_t size,
		       struct sink *out, struct error *err)
{
	cleanup_stream struct stream *plain = image_layer(image, l->index, err);

	if (!plain)
		return -1;
	if (write_file(out, l->name, size, plain, err) < 0)
		return error_wrap(err, "layer %zu", l->index);
	return 0;
}

/* Sorted by name; a layer that is there twice is written once. */
static int write_layers(struct image *image, const uint64_t *raw_sizes, struct sink *out,
			struct error *err)
{
	VEC(struct named_layer) layers = { 0 };
	int rc = 0;

	for (size_t i = 0; i < image->manifest.layer_count; i++)
		vec_push(&layers, ((struct named_layer){ layer_name(image, i), i }));
	vec_sort(&layers, by_name);
	for (size_t i = 0; i < layers.len && rc == 0; i++) {
		if (i && str_equal(layers.items[i].name, layers.items[i - 1].name))
			continue;
		rc = write_layer(image, &layers.items[i], raw_sizes[layers.items[i].index], out,
				 err);
	}
	for (size_t i = 0; i < layers.len; i++)
		free(layers.items[i].name);
	vec_release(&layers);
	return rc;
}

int docker_archive_write(struct image *image, const uint64_t *raw_sizes, const char *reference,
			 struct sink *out, struct error *err)
{
	cleanup_free char *config = config_name(image);
	cleanup_json json_t *manifest = NULL, *repositories = NULL;
	cleanup_stream struct stream *text = stream_memory(strbuf_slice(&image->config_text));

	if (image->config.diff_id_count != image->manifest.layer_count)
		return error_set(err, ERROR_INTEGRITY, "%s: %zu layers and %zu diff_ids",
				 image->name, image->manifest.layer_count,
				 image->config.diff_id_count);
	manifest = manifest_of(image, reference);
	repositories = repositories_of(image, reference);
	if (write_layers(image, raw_sizes, out, err) < 0 ||
	    write_file(out, config, image->config_text.len, text, err) < 0 ||
	    write_json(out, "manifest.json", manifest, err) < 0 ||
	    write_json(out, "repositories", repositories, err) < 0)
		return -1;
	return tar_write_end(out, err);
}
