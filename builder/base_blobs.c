/* The locked blobs of a base image, out of the store. */
#include "base/alloc.h"
#include "builder/base_image.h"
#include "oci/mediatype.h"

struct blobs {
	struct image_source base;
	struct store *store;
	const struct lock_platform *inputs;
};

const struct lock_input *base_image_locked(const struct lock_platform *inputs)
{
	for (size_t i = 0; inputs && i < inputs->inputs.len; i++) {
		if (inputs->inputs.items[i].kind == LOCK_IMAGE)
			return &inputs->inputs.items[i];
	}
	return NULL;
}

static int blobs_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
		      struct error *err)
{
	struct blobs *b = (struct blobs *)base;
	const struct lock_input *in = base_image_locked(b->inputs);
	cleanup_stream struct stream *s = store_read(b->store, &in->digest, in->size, err);
	cleanup_json json_t *json = NULL;
	const char *type = NULL;

	if (!s || stream_read_all(s, MANIFEST_BYTES_MAX, out, err) < 0 ||
	    json_parse(strbuf_slice(out), &json, err) < 0)
		return -1;
	type = json_string_value(json_object_get(json, "mediaType"));
	*desc = (struct descriptor){
		.media_type = type && str_equal(type, MEDIATYPE_DOCKER_MANIFEST)
				      ? MEDIATYPE_DOCKER_MANIFEST
				      : MEDIATYPE_OCI_MANIFEST,
		.digest = in->digest,
		.size = in->size,
	};
	return 0;
}

static struct stream *blobs_blob(struct image_source *base, const struct descriptor *desc,
				 struct error *err)
{
	struct blobs *b = (struct blobs *)base;

	return store_read(b->store, &desc->digest, desc->size, err);
}

static void blobs_close(struct image_source *base)
{
	free(base);
}

struct image_source *base_image_source(struct store *store, const struct lock_platform *inputs)
{
	static const struct image_source_ops ops = { .root = blobs_root,
						     .blob = blobs_blob,
						     .close = blobs_close };
	struct blobs *b = xcalloc(1, sizeof(*b));

	assert(base_image_locked(inputs));
	b->base.ops = &ops;
	b->store = store;
	b->inputs = inputs;
	return &b->base;
}
