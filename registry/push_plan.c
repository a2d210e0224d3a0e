#include "registry/push_plan.h"

#include "base/vec.h"
#include "oci/mediatype.h"

struct planner {
	struct image_source *source;
	struct push_plan *plan;
	struct error *err;
};

void push_plan_release(struct push_plan *p)
{
	for (size_t i = 0; i < p->manifests.len; i++)
		strbuf_release(&p->manifests.items[i].text);
	vec_release(&p->manifests);
	vec_release(&p->blobs);
	arena_release(&p->arena);
}

static bool has_manifest(const struct push_plan *p, const struct digest *digest)
{
	for (size_t i = 0; i < p->manifests.len; i++)
		if (digest_equal(&p->manifests.items[i].desc.digest, digest))
			return true;
	return false;
}

static int by_digest(const void *a, const void *b)
{
	const struct push_plan_blob *x = a, *y = b;
	int order = memcmp(x->desc.digest.bytes, y->desc.digest.bytes, 64);

	return order ? order
		     : (x->desc.digest.algorithm > y->desc.digest.algorithm) -
			       (x->desc.digest.algorithm < y->desc.digest.algorithm);
}

static int by_size(const void *a, const void *b)
{
	const struct push_plan_blob *x = a, *y = b;

	if (x->desc.size != y->desc.size)
		return x->desc.size < y->desc.size ? 1 : -1;
	return by_digest(a, b);
}

static int add_blob(struct planner *p, const struct descriptor *desc)
{
	const struct mediatype *type = mediatype_find(desc->media_type);
	struct push_plan_blob blob = { .desc = *desc,
				       .nondistributable = type && type->nondistributable };

	if (p->plan->blobs.len == PUSH_PLAN_BLOBS_MAX)
		return error_set(p->err, ERROR_LIMIT, "the image has more than %d blobs",
				 PUSH_PLAN_BLOBS_MAX);
	blob.desc.annotations = NULL; /* they die with their document */
	vec_push(&p->plan->blobs, blob);
	return 0;
}

static int fetch_document(struct planner *p, const struct descriptor *desc, struct strbuf *out)
{
	cleanup_stream struct stream *raw = NULL;
	cleanup_stream struct stream *verified = NULL;

	if (desc->size > MANIFEST_BYTES_MAX)
		return error_set(p->err, ERROR_LIMIT, "is larger than 4 MiB");
	raw = p->source->ops->blob(p->source, desc, p->err);
	if (!raw)
		return -1;
	verified = stream_verify(raw, &desc->digest, desc->size);
	return stream_read_all(verified, MANIFEST_BYTES_MAX, out, p->err);
}

static int add_document(struct planner *p, const struct descriptor *desc, unsigned depth);

static int add_children(struct planner *p, struct slice text, unsigned depth)
{
	cleanup_index struct index index = { 0 };

	if (index_parse(text, &p->plan->arena, &index, p->err) < 0)
		return -1;
	for (size_t i = 0; i < index.manifest_count; i++)
		if (add_document(p, &index.manifests[i], depth + 1) < 0)
			return -1;
	return 0;
}

static int add_image(struct planner *p, struct slice text)
{
	cleanup_manifest struct manifest m = { 0 };

	if (manifest_parse(text, &p->plan->arena, &m, p->err) < 0 || add_blob(p, &m.config) < 0)
		return -1;
	for (size_t i = 0; i < m.layer_count; i++)
		if (add_blob(p, &m.layers[i]) < 0)
			return -1;
	return 0;
}

/* What the descriptor says it is, else what it looks like. */
static bool is_index(const struct descriptor *desc, struct slice text)
{
	const struct mediatype *type = mediatype_find(desc->media_type);
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };

	if (type && (type->kind == MEDIA_INDEX || type->kind == MEDIA_MANIFEST))
		return type->kind == MEDIA_INDEX;
	return json_parse(text, &root, &ignored) == 0 && json_object_get(root, "manifests");
}

/* Takes `text`. Children come before the document itself. */
static int add_text(struct planner *p, const struct descriptor *desc, struct strbuf *text,
		    unsigned depth)
{
	struct slice bytes = strbuf_slice(text);
	struct push_plan_manifest *m;

	if (depth > PUSH_PLAN_DEPTH_MAX)
		return error_set(p->err, ERROR_LIMIT, "indexes are nested more than %d deep",
				 PUSH_PLAN_DEPTH_MAX);
	if ((is_index(desc, bytes) ? add_children(p, bytes, depth) : add_image(p, bytes)) < 0)
		return -1;
	if (p->plan->manifests.len == PUSH_PLAN_MANIFESTS_MAX)
		return error_set(p->err, ERROR_LIMIT, "the index has more than %d manifests",
				 PUSH_PLAN_MANIFESTS_MAX);
	m = vec_add(&p->plan->manifests);
	m->desc = *desc;
	m->desc.annotations = NULL;
	m->text = *text;
	*text = (struct strbuf){ 0 };
	return 0;
}

static int add_document(struct planner *p, const struct descriptor *desc, unsigned depth)
{
	cleanup_strbuf struct strbuf text = { 0 };
	char name[DIGEST_TEXT_MAX];

	if (has_manifest(p->plan, &desc->digest))
		return 0;
	if (fetch_document(p, desc, &text) < 0 || add_text(p, desc, &text, depth) < 0)
		return error_wrap(p->err, "manifest %.19s", digest_text(&desc->digest, name));
	return 0;
}

static void unique_blobs(struct push_plan *p)
{
	size_t kept = 0;

	vec_sort(&p->blobs, by_digest);
	for (size_t i = 0; i < p->blobs.len; i++)
		if (!kept || by_digest(&p->blobs.items[kept - 1], &p->blobs.items[i]))
			p->blobs.items[kept++] = p->blobs.items[i];
	p->blobs.len = kept;
	vec_sort(&p->blobs, by_size);
}

/* A root without a media type, as an archive may give it, says itself what it is. */
static const char *media_type_of(struct push_plan *p, const struct descriptor *desc,
				 struct slice text)
{
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };
	const char *type = NULL;

	if (desc->media_type && *desc->media_type)
		return desc->media_type;
	if (json_parse(text, &root, &ignored) == 0)
		type = json_string_value(json_object_get(root, "mediaType"));
	if (type)
		return arena_strdup(&p->arena, type);
	return json_object_get(root, "manifests") ? MEDIATYPE_OCI_INDEX : MEDIATYPE_OCI_MANIFEST;
}

int push_plan_read(struct image_source *source, struct push_plan *out, struct error *err)
{
	struct planner p = { source, out, err };
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor root;

	if (source->rootfs)
		return error_set(err, ERROR_USAGE,
				 "an unpacked root is no image; build a layout from it first");
	if (source->ops->root(source, &text, &root, err) < 0)
		return -1;
	root.media_type = arena_strdup(&out->arena, media_type_of(out, &root, strbuf_slice(&text)));
	if (add_text(&p, &root, &text, 0) < 0)
		return -1;
	unique_blobs(out);
	return 0;
}
