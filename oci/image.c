#include "oci/image.h"

#include "base/fs.h"
#include "oci/engine_archive.h"
#include "oci/layout.h"
#include "oci/mediatype.h"

enum { INDEX_DEPTH_MAX = 4 };

/* What choosing among the entries of an index needs. */
struct choice {
	struct image *image;
	const struct platform *wanted; /* NULL: the host's, or the only one there is */
	struct platform platform;      /* what is looked for */
	struct strbuf seen;            /* "linux/amd64, linux/arm64": what there is */
	size_t seen_count;
	struct descriptor only; /* the last real image seen */
};

static bool is_index(const struct descriptor *d)
{
	const struct mediatype *type = mediatype_find(d->media_type);

	return type && type->kind == MEDIA_INDEX;
}

/* What BuildKit keeps beside the images of an index: provenance and SBOMs. */
static bool is_attestation(const struct descriptor *d)
{
	const char *type = descriptor_annotation(d, "vnd.docker.reference.type");

	return (type && str_equal(type, "attestation-manifest")) ||
	       (d->platform.os && str_equal(d->platform.os, "unknown") &&
		str_equal(d->platform.architecture, "unknown"));
}

static bool is_manifest(const struct descriptor *d)
{
	const struct mediatype *type = mediatype_find(d->media_type);

	return type && type->kind == MEDIA_MANIFEST && !d->artifact_type && !is_attestation(d);
}

/* The same but for the variant, where none was asked for. */
static bool platform_serves(const struct platform *have, const struct platform *want)
{
	struct platform stripped = { have->os, have->architecture, NULL };

	return platform_equal(have, want) || (!want->variant && platform_equal(&stripped, want));
}

static void note_seen(struct choice *c, const struct descriptor *d)
{
	c->seen_count++;
	c->only = *d;
	if (c->seen.len < 200)
		strbuf_addf(&c->seen, "%s%.60s", c->seen.len ? ", " : "",
			    d->platform.os ? platform_text(&d->platform, &c->image->arena)
					   : "one without a platform");
	else if (!str_ends(strbuf_text(&c->seen), "…"))
		strbuf_adds(&c->seen, ", …");
}

static int read_index(struct choice *c, const struct descriptor *d, struct strbuf *text,
		      struct error *err)
{
	return source_read(c->image->source, d, MANIFEST_BYTES_MAX, text, err);
}

/*
 * Look through the index in `text` and what it nests. 1: *out is the image; 0: there is none.
 * Annotations of *out are gone with the index.
 */
static int search(struct choice *c, struct slice text, unsigned depth, struct descriptor *out,
		  struct error *err)
{
	cleanup_index struct index index = { 0 };
	int rc = 0;

	if (depth > INDEX_DEPTH_MAX)
		return error_set(err, ERROR_LIMIT, "indexes are nested more than %d deep",
				 INDEX_DEPTH_MAX);
	if (index_parse(text, &c->image->arena, &index, err) < 0)
		return error_wrap(err, "the image index");
	for (int exact = 1; rc == 0 && exact >= 0; exact--) {
		for (size_t i = 0; rc == 0 && i < index.manifest_count; i++) {
			struct descriptor *d = &index.manifests[i];

			if (!is_manifest(d))
				continue;
			if (exact)
				note_seen(c, d);
			if (d->platform.os &&
			    (exact ? platform_equal(&d->platform, &c->platform)
				   : platform_serves(&d->platform, &c->platform))) {
				*out = *d;
				rc = 1;
			}
		}
	}
	for (size_t i = 0; rc == 0 && i < index.manifest_count; i++) {
		cleanup_strbuf struct strbuf nested = { 0 };

		if (!is_index(&index.manifests[i]))
			continue;
		rc = read_index(c, &index.manifests[i], &nested, err);
		if (rc == 0)
			rc = search(c, strbuf_slice(&nested), depth + 1, out, err);
	}
	out->annotations = NULL;
	c->only.annotations = NULL;
	return rc;
}

/* The manifest's descriptor out of an index; its bytes come to `text`. */
static int choose(struct image *image, const struct platform *wanted, struct strbuf *text,
		  struct error *err)
{
	struct choice c = {
		.image = image,
		.wanted = wanted,
		.platform = wanted ? *wanted : platform_host(),
	};
	cleanup_strbuf struct strbuf chosen = { 0 };
	struct descriptor found = { 0 };
	int rc = search(&c, strbuf_slice(text), 1, &found, err);

	/* One image alone needs no choice, unless it says it is another one than what was asked. */
	if (rc == 0 && c.seen_count == 1 && (!wanted || !c.only.platform.os)) {
		found = c.only;
		rc = 1;
	}
	if (rc == 0)
		rc = error_set(err, ERROR_NOT_FOUND, "holds no image for %s; there are: %s",
			       platform_text(&c.platform, &image->arena),
			       c.seen_count ? strbuf_text(&c.seen) : "none at all");
	strbuf_release(&c.seen);
	if (rc < 0 || read_index(&c, &found, &chosen, err) < 0)
		return -1;
	image->descriptor = found;
	strbuf_release(text);
	*text = chosen;
	chosen = (struct strbuf){ 0 };
	return 0;
}

/* Docker's first formats have no configuration and no digest of a layer's content. */
static int refuse_schema1(const char *media_type, struct error *err)
{
	if (str_starts(media_type, "application/vnd.docker.distribution.manifest.v1+"))
		return error_set(err, ERROR_FORMAT,
				 "is an image in Docker's schema 1, which was given up in 2017; "
				 "convert it (skopeo copy --format v2s2) or build it again");
	return 0;
}

/* A document whose type is not known: an index is what has "manifests". */
static bool looks_like_index(struct slice text)
{
	cleanup_json json_t *json = NULL;
	struct error ignored = { 0 };

	return json_parse(text, &json, &ignored) == 0 && json_object_get(json, "manifests");
}

static int load_config(struct image *image, struct error *err)
{
	const struct descriptor *d = &image->manifest.config;
	const struct mediatype *type = mediatype_find(d->media_type);
	bool known = type && type->kind == MEDIA_CONFIG;

	if (source_read(image->source, d, MANIFEST_BYTES_MAX, &image->config_text, err) < 0)
		return error_wrap(err, "the configuration");
	if (config_parse(strbuf_slice(&image->config_text), &image->arena, &image->config, err) ==
	    0)
		return 0;
	if (!known)
		return error_set(err, ERROR_FORMAT,
				 "is no container image: its configuration is of type '%.200s'",
				 d->media_type);
	return error_wrap(err, "the configuration");
}

static int check_platform(const struct image *image, const struct platform *wanted,
			  struct arena *arena, struct error *err)
{
	const struct platform *have = &image->config.platform;

	if (!wanted || image->descriptor.platform.os || !have->os || !have->architecture ||
	    platform_serves(have, wanted))
		return 0;
	return error_set(err, ERROR_NOT_FOUND, "is an image for %s, not for %s",
			 platform_text(have, arena), platform_text(wanted, arena));
}

static int load(struct image *image, const struct platform *wanted, struct error *err)
{
	if (image->source->ops->root(image->source, &image->manifest_text, &image->root, err) < 0)
		return -1;
	image->root.annotations = NULL;
	image->descriptor = image->root;
	if (refuse_schema1(image->root.media_type, err) < 0)
		return -1;
	if ((is_index(&image->root) || (!mediatype_find(image->root.media_type) &&
					looks_like_index(strbuf_slice(&image->manifest_text)))) &&
	    choose(image, wanted, &image->manifest_text, err) < 0)
		return -1;
	if (manifest_parse(strbuf_slice(&image->manifest_text), &image->arena, &image->manifest,
			   err) < 0)
		return error_wrap(err, "the image manifest");
	image->layer_compressions = arena_alloc(&image->arena, image->manifest.layer_count + 1);
	memset(image->layer_compressions, -1, image->manifest.layer_count);
	if (load_config(image, err) < 0)
		return -1;
	return check_platform(image, wanted, &image->arena, err);
}

static void add_platform(struct platforms *out, const struct platform *platform)
{
	for (size_t i = 0; i < out->len; i++) {
		if (platform_equal(&out->items[i], platform))
			return;
	}
	vec_push(out, *platform);
}

/* `text` is an index. */
static int list_platforms(struct image_source *source, struct slice text, unsigned depth,
			  struct arena *arena, struct platforms *out, struct error *err)
{
	cleanup_index struct index index = { 0 };

	if (depth > INDEX_DEPTH_MAX)
		return error_set(err, ERROR_LIMIT, "indexes are nested more than %d deep",
				 INDEX_DEPTH_MAX);
	if (index_parse(text, arena, &index, err) < 0)
		return error_wrap(err, "the image index");
	for (size_t i = 0; i < index.manifest_count; i++) {
		const struct descriptor *d = &index.manifests[i];
		cleanup_strbuf struct strbuf nested = { 0 };

		if (is_manifest(d) && (d->platform.os || index.manifest_count == 1))
			add_platform(out, &d->platform);
		if (!is_index(d))
			continue;
		if (source_read(source, d, MANIFEST_BYTES_MAX, &nested, err) < 0 ||
		    list_platforms(source, strbuf_slice(&nested), depth + 1, arena, out, err) < 0)
			return -1;
	}
	return 0;
}

int image_platforms(struct image_source *source, struct arena *arena, struct platforms *out,
		    struct error *err)
{
	static const struct platform single = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor root;

	if (!source->rootfs) {
		if (source->ops->root(source, &text, &root, err) < 0)
			return -1;
		if ((is_index(&root) ||
		     (!mediatype_find(root.media_type) && looks_like_index(strbuf_slice(&text)))) &&
		    list_platforms(source, strbuf_slice(&text), 1, arena, out, err) < 0)
			return -1;
	}
	if (!out->len)
		vec_push(out, single);
	return 0;
}

int image_open_source(struct image_source *source, const char *name,
		      const struct platform *platform, struct image *out, struct error *err)
{
	*out = (struct image){ .source = source, .unpacked_floor = IMAGE_UNPACKED_FLOOR };
	out->name = arena_strdup(&out->arena, name);
	if (source->rootfs) {
		out->rootfs = arena_strdup(&out->arena, source->rootfs);
		return 0;
	}
	if (load(out, platform, err) < 0) {
		image_release(out);
		return error_wrap(err, "%s", name);
	}
	return 0;
}

static struct image_source *open_archive(const struct image_name *name, struct error *err)
{
	int fd = name->transport == TRANSPORT_STDIN ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
						    : fs_open(AT_FDCWD, name->path, err);

	if (fd < 0) {
		if (name->transport == TRANSPORT_STDIN)
			error_set_errno(err, errno, "standard input");
		return NULL;
	}
	return archive_source(fd, name->path ? name->path : "standard input", name->tag, err);
}

struct image_source *image_source_open(const struct image_name *name, struct error *err)
{
	switch (name->transport) {
	case TRANSPORT_OCI:
		return layout_source(name->path, name->tag, err);
	case TRANSPORT_OCI_ARCHIVE:
	case TRANSPORT_DOCKER_ARCHIVE:
	case TRANSPORT_STDIN:
		return open_archive(name, err);
	case TRANSPORT_ROOTFS:
		return rootfs_source(name->path, err);
	case TRANSPORT_DOCKER_DAEMON:
	case TRANSPORT_CONTAINERS_STORAGE:
		return engine_source(name, err);
	case TRANSPORT_DOCKER:
		break;
	}
	error_set(err, ERROR_USAGE,
		  "'%s' is not on this disk: copy it to an oci: directory or an archive first",
		  name->text);
	return NULL;
}

int image_open(const struct image_name *name, const struct platform *platform, struct image *out,
	       struct error *err)
{
	struct image_source *source = image_source_open(name, err);

	return source ? image_open_source(source, name->text, platform, out, err) : -1;
}

void image_release(struct image *image)
{
	if (!image)
		return;
	manifest_release(&image->manifest);
	strbuf_release(&image->manifest_text);
	strbuf_release(&image->config_text);
	image_source_close(image->source);
	arena_release(&image->arena);
	*image = (struct image){ 0 };
}

/* A chain of streams that ends where all digests were checked. */
struct layer_stream {
	struct stream base;
	char *name;                             /* "IMAGE: layer 2" */
	struct stream *blob, *verified, *plain; /* plain NULL: the compressed bytes are wanted */
	struct digest_state state;
	struct digest diff_id;
	uint64_t stored, unpacked, limit; /* bytes */
	bool has_diff_id, ended;
};

static int layer_end(struct layer_stream *s, struct error *err)
{
	char want[DIGEST_TEXT_MAX], got[DIGEST_TEXT_MAX];
	struct digest digest;

	s->ended = true;
	if (!s->plain)
		return 0;
	/* A decompressor may leave what follows its data: the digest covers it. */
	if (stream_drain(s->verified, NULL, err) < 0)
		return error_wrap(err, "%s", s->name);
	if (!s->has_diff_id)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: the configuration has no diff_id for it", s->name);
	digest = digest_finish(&s->state);
	if (digest_equal(&digest, &s->diff_id))
		return 0;
	return error_set(err, ERROR_INTEGRITY,
			 "%s: its content has digest %s, the configuration says %s (diff_id)",
			 s->name, digest_text(&digest, got), digest_text(&s->diff_id, want));
}

static ssize_t layer_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct layer_stream *s = (struct layer_stream *)base;
	ssize_t n;

	if (s->ended)
		return 0;
	n = stream_read(s->plain ? s->plain : s->verified, buf, len, err);
	if (n < 0)
		return error_wrap(err, "%s", s->name);
	if (n == 0)
		return layer_end(s, err);
	if (!s->plain)
		return n;
	s->unpacked += (uint64_t)n;
	if (s->unpacked > s->limit)
		return error_set(err, ERROR_LIMIT,
				 "%s: its %" PRIu64 " bytes unpack to more than %" PRIu64
				 ": no image needs that, an archive bomb does",
				 s->name, s->stored, s->limit);
	digest_update(&s->state, buf, (size_t)n);
	return n;
}

static uint64_t unpacked_limit(const struct image *image, uint64_t stored)
{
	uint64_t limit;

	if (mul_overflows(stored, (uint64_t)IMAGE_RATIO_MAX, &limit))
		return UINT64_MAX;
	return MAX(limit, image->unpacked_floor);
}

static void layer_close(struct stream *base)
{
	struct layer_stream *s = (struct layer_stream *)base;

	stream_close(s->plain);
	stream_close(s->verified);
	stream_close(s->blob);
	digest_release(&s->state);
	free(s->name);
}

static struct layer_stream *layer_open(struct image *image, size_t i, struct error *err)
{
	static const struct stream_ops ops = { .read = layer_read, .close = layer_close };
	const struct descriptor *d = &image->manifest.layers[i];
	struct stream *blob;
	struct layer_stream *s;

	assert(i < image->manifest.layer_count);
	blob = image->source->ops->blob(image->source, d, err);
	if (!blob) {
		error_wrap(err, "%s: layer %zu", image->name, i);
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &ops;
	s->name = xasprintf("%s: layer %zu", image->name, i);
	s->blob = blob;
	s->verified = stream_verify(blob, &d->digest, d->size);
	return s;
}

struct stream *image_layer_blob(struct image *image, size_t i, struct error *err)
{
	struct layer_stream *s = layer_open(image, i, err);

	return s ? &s->base : NULL;
}

struct stream *image_layer(struct image *image, size_t i, struct error *err)
{
	struct layer_stream *s = layer_open(image, i, err);
	enum compression kind;

	if (!s)
		return NULL;
	s->stored = image->manifest.layers[i].size;
	s->limit = unpacked_limit(image, s->stored);
	s->has_diff_id = i < image->config.diff_id_count;
	if (s->has_diff_id)
		s->diff_id = image->config.diff_ids[i];
	digest_init(&s->state, s->diff_id.algorithm);
	s->plain = decompress_auto(s->verified, &kind, err);
	if (!s->plain) {
		error_wrap(err, "%s", s->name);
		stream_close(&s->base);
		return NULL;
	}
	image->layer_compressions[i] = (signed char)kind;
	return &s->base;
}
