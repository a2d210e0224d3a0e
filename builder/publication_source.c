#include "builder/publish.h"

#include "base/alloc.h"
#include "oci/manifest.h"

struct publication_source {
	struct image_source base;
	const struct publication *of;
};

static const struct publication_blob *find(const struct publication *p, const struct digest *digest)
{
	for (size_t i = 0; i < p->blobs.len; i++) {
		if (digest_equal(&p->blobs.items[i].digest, digest))
			return &p->blobs.items[i];
	}
	return NULL;
}

static int read_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
		     struct error *err)
{
	const struct publication *p = ((struct publication_source *)base)->of;

	*desc = p->index;
	return source_read(base, desc, MANIFEST_BYTES_MAX, out, err);
}

static struct stream *open_blob(struct image_source *base, const struct descriptor *desc,
				struct error *err)
{
	const struct publication *p = ((struct publication_source *)base)->of;
	const struct publication_blob *b = find(p, &desc->digest);
	char text[DIGEST_TEXT_MAX];
	int fd;

	if (b && b->bytes.data)
		return stream_memory(b->bytes);
	fd = store_open_object(p->store, &desc->digest, err);
	return fd < 0 ? NULL : stream_fd(fd, digest_text(&desc->digest, text));
}

/* The store answers for what lies in it under a digest and is sealed. */
static enum blob_identity identity(struct image_source *base, const struct descriptor *desc,
				   struct strbuf *out)
{
	const struct publication *p = ((struct publication_source *)base)->of;
	const struct publication_blob *b = find(p, &desc->digest);

	(void)out;
	if (!b || (!b->bytes.data && !store_intact(p->store, &b->digest, b->size)))
		return BLOB_UNKNOWN;
	return BLOB_IS_DIGEST;
}

static void close_source(struct image_source *base)
{
	free(base);
}

struct image_source *publication_source(const struct publication *p)
{
	static const struct image_source_ops ops = { read_root, open_blob, close_source, identity };
	struct publication_source *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->of = p;
	return &s->base;
}
