#include "registry/artifact.h"

#include "oci/mediatype.h"

struct layout_place {
	struct artifact_place base;
	struct layout *layout;
};

static int read_blob(struct layout_place *p, const struct descriptor *desc, uint64_t limit,
		     struct strbuf *out, struct error *err)
{
	cleanup_stream struct stream *raw = layout_blob(p->layout, &desc->digest, err);
	cleanup_stream struct stream *verified = NULL;

	if (!raw)
		return -1;
	verified = stream_verify(raw, &desc->digest, desc->size);
	return stream_read_all(verified, limit, out, err);
}

/* A digest whose size nobody told: read under a limit, then checked. */
static int read_by_digest(struct layout_place *p, const struct digest *digest, struct strbuf *out,
			  struct descriptor *desc, struct error *err)
{
	cleanup_stream struct stream *raw = layout_blob(p->layout, digest, err);
	cleanup_digest struct digest_state state = { 0 };
	struct digest have;

	if (!raw || stream_read_all(raw, MANIFEST_BYTES_MAX, out, err) < 0)
		return -1;
	digest_init(&state, digest->algorithm);
	digest_update(&state, strbuf_text(out), out->len);
	have = digest_finish(&state);
	if (!digest_equal(&have, digest))
		return error_set(err, ERROR_INTEGRITY,
				 "the blob is damaged: it has another digest");
	*desc = (struct descriptor){ .digest = *digest, .size = out->len };
	return 0;
}

static int get_manifest(struct artifact_place *base, const char *name, struct arena *arena,
			struct strbuf *out, struct descriptor *desc, struct error *err)
{
	struct layout_place *p = (struct layout_place *)base;
	struct error ignored = { 0 };
	struct digest digest;

	if (digest_parse(slice_str(name), &digest, &ignored) == 0)
		return read_by_digest(p, &digest, out, desc, err);
	if (layout_resolve(p->layout, name, arena, desc, err) < 0)
		return -1;
	return read_blob(p, desc, MANIFEST_BYTES_MAX, out, err);
}

static int put_manifest(struct artifact_place *base, const char *name,
			const struct descriptor *desc, struct slice text, bool *out_listed,
			struct error *err)
{
	struct layout_place *p = (struct layout_place *)base;
	struct descriptor entry = { .media_type = desc->media_type,
				    .digest = desc->digest,
				    .size = text.len };
	struct descriptor put;

	*out_listed = false;
	if (layout_put_bytes(p->layout, text, &put, err) < 0)
		return -1;
	if (!reference_tag_valid(name) || strchr(name, ':'))
		return 0;
	if (!entry.media_type)
		entry.media_type = MEDIATYPE_OCI_MANIFEST;
	return layout_tag(p->layout, name, &entry, err);
}

static int get_blob(struct artifact_place *base, const struct descriptor *desc, struct strbuf *out,
		    struct error *err)
{
	return read_blob((struct layout_place *)base, desc, ARTIFACT_BYTES_MAX, out, err);
}

static int put_blob(struct artifact_place *base, const struct descriptor *desc, struct slice bytes,
		    struct error *err)
{
	struct layout_place *p = (struct layout_place *)base;
	struct descriptor put;

	if (layout_has(p->layout, &desc->digest, desc->size))
		return 0;
	return layout_put_bytes(p->layout, bytes, &put, err);
}

static int hold(struct artifact_place *base, struct error *err)
{
	return layout_lock(((struct layout_place *)base)->layout, err);
}

static void release(struct artifact_place *base)
{
	layout_unlock(((struct layout_place *)base)->layout);
}

static void close_place(struct artifact_place *base)
{
	struct layout_place *p = (struct layout_place *)base;

	layout_close(p->layout);
	free(p);
}

struct artifact_place *artifact_layout(struct layout *l)
{
	static const struct artifact_place_ops ops = { .get_manifest = get_manifest,
						       .put_manifest = put_manifest,
						       .get_blob = get_blob,
						       .put_blob = put_blob,
						       .hold = hold,
						       .release = release,
						       .close = close_place };
	struct layout_place *p;

	if (!l)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->base.ops = &ops;
	p->layout = l;
	return &p->base;
}
