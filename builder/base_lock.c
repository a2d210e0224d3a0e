/* A base image's name into locked blobs. */
#include "base/fs.h"
#include "builder/base_image.h"
#include "oci/mediatype.h"
#include "oci/reference.h"

static const char *const local_prefixes[] = { "oci:", "oci-archive:", "docker-archive:",
					      "rootfs:" };

static size_t local_prefix(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(local_prefixes); i++) {
		if (str_starts(text, local_prefixes[i]))
			return strlen(local_prefixes[i]);
	}
	return 0;
}

static bool has_scheme(const char *text)
{
	return str_starts(text, "docker://") || str_starts(text, "docker-daemon:") ||
	       str_starts(text, "containers-storage:");
}

char *base_image_name(const char *directory, const char *text)
{
	size_t prefix = local_prefix(text);
	cleanup_free char *joined = NULL;

	if (has_scheme(text) || (prefix && text[prefix] == '/') || (!prefix && text[0] == '/'))
		return xstrdup(text);
	joined = fs_join(directory && *directory ? directory : ".", text + prefix);
	if (prefix)
		return xasprintf("%.*s%s", (int)prefix, text, joined);
	/* "debian:12" is a registry's, unless such a path is beside the manifest */
	if (text[0] == '.' || fs_exists(AT_FDCWD, joined))
		return xstrdup(joined);
	return xasprintf("docker://%s", text);
}

struct base_locking {
	const struct base_lock_request *request;
	struct arena *arena;
	struct lock_platform *inputs;
	const char *url, *stage;
};

static void append(struct base_locking *l, const char *name, const char *version,
		   const struct descriptor *blob)
{
	struct lock_input in = {
		.kind = LOCK_IMAGE,
		.stage = l->stage,
		.source = "base",
		.name = name,
		.version = version,
		.arch = "",
		.url = l->url,
		.license = "",
		.digest = blob->digest,
		.size = blob->size,
		.requested = str_equal(name, "base"),
	};

	vec_push(&l->inputs->inputs, in);
}

static int put_document(struct store *store, const struct strbuf *text,
			const struct descriptor *want, const char *what, struct error *err)
{
	struct digest digest;

	if (store_put_bytes(store, strbuf_slice(text), &digest, err) < 0)
		return -1;
	if (digest_equal(&digest, &want->digest))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "the %s of the image is named by another digest than SHA-256, which a "
			 "lock cannot hold; copy the image (skopeo copy) so that it is",
			 what);
}

static int put_layer(struct base_locking *l, struct image *image, size_t i, struct error *err)
{
	const struct descriptor *d = &image->manifest.layers[i];
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_stream struct stream *blob = NULL;
	struct digest digest;
	uint64_t size;
	char text[32];

	if (store_has(l->request->store, &d->digest, d->size))
		return 0;
	out_verbose(l->request->out, "%s: layer %zu, %s", image->name, i, out_size(d->size, text));
	blob = image_layer_blob(image, i, err);
	if (!blob || store_put_open(l->request->store, &pending, err) < 0 ||
	    sink_copy(pending.sink, blob, NULL, err) < 0)
		return -1;
	return store_put_commit(&pending, &d->digest, d->size, &digest, &size, err);
}

/* What can be built upon: layers that are there, may be passed on, and every engine reads. */
static int check_layers(const struct image *image, struct error *err)
{
	const struct manifest *m = &image->manifest;

	if (image->config.diff_id_count != m->layer_count)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: the manifest has %zu layers and the configuration %zu "
				 "diff_ids; the image is damaged",
				 image->name, m->layer_count, image->config.diff_id_count);
	for (size_t i = 0; i < m->layer_count; i++) {
		const struct mediatype *type = mediatype_find(m->layers[i].media_type);

		if (!type || type->kind != MEDIA_LAYER)
			return error_set(err, ERROR_FORMAT,
					 "%s: layer %zu is of type '%.100s'; images are built on "
					 "layers of tar, plain or compressed by gzip or zstd",
					 image->name, i, m->layers[i].media_type);
		if (type->nondistributable)
			return error_set(err, ERROR_FORMAT,
					 "%s: layer %zu may not be distributed (%s); the new image "
					 "could not be pushed: choose another base",
					 image->name, i, type->name);
		if (m->layers[i].digest.algorithm != DIGEST_SHA256)
			return error_set(err, ERROR_USAGE,
					 "%s: layer %zu is named by another digest than SHA-256, "
					 "which a lock cannot hold",
					 image->name, i);
	}
	return 0;
}

/* The content is what the media type says: other tools go by that. */
static int check_compression(struct store *store, const struct image *image, struct error *err)
{
	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		const struct descriptor *d = &image->manifest.layers[i];
		cleanup_stream struct stream *s = store_read(store, &d->digest, d->size, err);
		enum compression want = mediatype_find(d->media_type)->compression, is;
		uint8_t head[6];
		size_t n = (size_t)MIN(d->size, (uint64_t)sizeof(head));

		if (!s || stream_read_exact(s, head, n, err) < 0)
			return error_wrap(err, "%s: layer %zu", image->name, i);
		is = compression_detect(slice_of(head, n));
		if (is == want)
			continue;
		return error_set(err, ERROR_FORMAT,
				 "%s: layer %zu is said to be compressed by %s, and its content "
				 "is by %s; images cannot be built on it",
				 image->name, i, compression_name(want), compression_name(is));
	}
	return 0;
}

/* The name under which the very image is found again. */
static const char *locked_url(struct base_locking *l, const char *text, const struct image *image,
			      struct error *err)
{
	struct image_name name;
	char digest[DIGEST_TEXT_MAX];
	size_t prefix = local_prefix(text);

	if (prefix)
		return arena_strdup(l->arena, text);
	if (!has_scheme(text) && image_name_parse(text, l->arena, &name, err) < 0)
		return NULL;
	if (!has_scheme(text) && name.transport != TRANSPORT_DOCKER)
		return arena_printf(l->arena, "oci%s:%s",
				    name.transport == TRANSPORT_OCI ? "" : "-archive", text);
	if (image_name_parse(has_scheme(text) ? text : arena_printf(l->arena, "docker://%s", text),
			     l->arena, &name, err) < 0)
		return NULL;
	return arena_printf(l->arena, "docker://%s/%s@%s", name.ref.registry, name.ref.repository,
			    digest_text(&image->descriptor.digest, digest));
}

static int lock_opened(struct base_locking *l, const char *text, struct image *image,
		       struct error *err)
{
	struct store *store = l->request->store;
	const struct manifest *m = &image->manifest;
	char digest[DIGEST_TEXT_MAX];

	if (image->rootfs)
		return error_set(err, ERROR_USAGE,
				 "%s is a folder, not an image; put it into one (umoci insert), or "
				 "name it as a source of type dir",
				 image->name);
	l->url = locked_url(l, text, image, err);
	if (!l->url || check_layers(image, err) < 0 ||
	    put_document(store, &image->manifest_text, &image->descriptor, "manifest", err) < 0 ||
	    put_document(store, &image->config_text, &m->config, "configuration", err) < 0)
		return -1;
	append(l, "base", arena_strdup(l->arena, digest_text(&image->descriptor.digest, digest)),
	       &(struct descriptor){ .digest = image->descriptor.digest,
				     .size = image->manifest_text.len });
	append(l, "base.config", "", &m->config);
	for (size_t i = 0; i < m->layer_count; i++) {
		if (put_layer(l, image, i, err) < 0)
			return -1;
		append(l, arena_printf(l->arena, "base.layer[%zu]", i), "", &m->layers[i]);
	}
	return check_compression(store, image, err);
}

/* The base of the lock before: 1 when all of it is in the store. */
static bool keep_locked(struct base_locking *l)
{
	const struct lock_platform *keep = l->request->keep;

	for (size_t i = 0; i < keep->inputs.len; i++) {
		const struct lock_input *in = &keep->inputs.items[i];

		if (in->kind == LOCK_IMAGE && !store_has(l->request->store, &in->digest, in->size))
			return false;
	}
	for (size_t i = 0; i < keep->inputs.len; i++) {
		struct lock_input in = keep->inputs.items[i];

		if (in.kind != LOCK_IMAGE)
			continue;
		in.stage = l->stage;
		in.name = arena_strdup(l->arena, in.name);
		in.version = arena_strdup(l->arena, in.version);
		in.url = arena_strdup(l->arena, in.url);
		in.source = "base";
		in.arch = in.license = "";
		vec_push(&l->inputs->inputs, in);
	}
	return true;
}

static int lock_named(struct base_locking *l, const char *text, struct error *err)
{
	const struct base_lock_request *r = l->request;
	cleanup_free char *name = base_image_name(r->stack->directory, text);
	cleanup_image struct image image = { 0 };

	out_verbose(r->out, "base image %s for %s", name, platform_text(&r->platform, l->arena));
	if (!r->opener)
		return error_set(err, ERROR_USAGE, "%s cannot be opened here", name);
	if (r->opener->open(r->opener->user, name, &r->platform, &image, err) < 0)
		return -1;
	return lock_opened(l, text, &image, err);
}

int base_image_lock(const struct base_lock_request *request, struct lock_platform *inputs,
		    struct arena *arena, struct error *err)
{
	const struct stack *stack = request->stack;
	struct base_locking l = { .request = request, .arena = arena, .inputs = inputs };
	const struct lock_input *kept = request->keep ? base_image_locked(request->keep) : NULL;
	int rc = 0;

	l.stage = arena_strdup(arena, stack->stages[stack->stage_count - 1].name);
	if (kept && keep_locked(&l))
		return 0;
	/* a registry has what it had under its digest; what is on disk may have moved on */
	if (kept && str_starts(kept->url, "docker://"))
		rc = lock_named(&l, kept->url, err);
	else
		rc = lock_named(&l, stack->base_image, err);
	return rc;
}
