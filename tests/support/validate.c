#include "tests/support/validate.h"

#include "base/map.h"
#include "base/vec.h"
#include "formats/tar_read.h"
#include "oci/mediatype.h"

enum { ENTRY_PROBLEMS_MAX = 100 };

/* One check of one image; `layer` is the one being read. */
struct check {
	struct image *image;
	struct validate_problems *out;
	int layer;
	size_t entry_problems;
	struct map seen; /* paths of the layer */
};

static void problem(struct check *c, enum validate_kind kind, const char *path, const char *fmt,
		    ...) PRINTF_LIKE(4, 5);
static void problem(struct check *c, enum validate_kind kind, const char *path, const char *fmt,
		    ...)
{
	struct arena *arena = &c->out->arena;
	struct validate_problem p = { .kind = kind, .layer = c->layer };
	cleanup_free char *text = NULL;
	va_list ap;

	if (kind == VALIDATE_ENTRY_ODD && c->entry_problems++ >= ENTRY_PROBLEMS_MAX)
		return;
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	if (c->entry_problems == ENTRY_PROBLEMS_MAX && kind == VALIDATE_ENTRY_ODD) {
		p.path = "";
		p.text = "more entries are odd; they are not listed";
	} else {
		p.path = arena_strdup(arena, path);
		p.text = arena_strdup(arena, text);
	}
	vec_push(c->out, p);
}

void validate_problems_release(struct validate_problems *p)
{
	if (!p)
		return;
	vec_release(p);
	arena_release(&p->arena);
}

/* What of ours stopped, rather than what is wrong with the image. */
static bool is_our_trouble(const struct error *err)
{
	return err->code == ERROR_SYSTEM || err->code == ERROR_NETWORK;
}

static void check_type(struct check *c, const struct descriptor *d, const char *what,
		       enum media_kind kind, bool docker)
{
	const struct mediatype *type = mediatype_find(d->media_type);

	if (!type || type->kind != kind)
		problem(c, VALIDATE_MEDIA_TYPE, "",
			"%s has media type '%.150s', which is none of %s", what, d->media_type,
			kind == MEDIA_LAYER    ? "a layer"
			: kind == MEDIA_CONFIG ? "an image configuration"
					       : "an image manifest");
	else if (type->docker != docker)
		problem(c, VALIDATE_MEDIA_TYPE, "",
			"%s has %s media type '%s' under a manifest of %s family", what,
			type->docker ? "Docker's" : "OCI's", type->name,
			docker ? "Docker's" : "OCI's");
}

static void check_types(struct check *c)
{
	const struct manifest *m = &c->image->manifest;
	const struct mediatype *type = mediatype_find(m->media_type);
	bool docker = type && type->docker;

	if (mediatype_find(c->image->descriptor.media_type) &&
	    !str_equal(m->media_type, c->image->descriptor.media_type))
		problem(c, VALIDATE_MEDIA_TYPE, "",
			"the manifest calls itself '%s', what refers to it '%s'", m->media_type,
			c->image->descriptor.media_type);
	check_type(c, &m->config, "the configuration", MEDIA_CONFIG, docker);
	for (size_t i = 0; i < m->layer_count; i++) {
		c->layer = (int)i;
		check_type(c, &m->layers[i], "the layer", MEDIA_LAYER, docker);
	}
	c->layer = -1;
}

static void check_config(struct check *c)
{
	const struct image_config *config = &c->image->config;
	const struct platform *entry = &c->image->descriptor.platform;
	size_t layers = c->image->manifest.layer_count, filled = 0;

	if (config->diff_id_count != layers)
		problem(c, VALIDATE_DIFF_ID, "",
			"the manifest has %zu layers, the configuration %zu diff_ids", layers,
			config->diff_id_count);
	for (size_t i = 0; i < config->history_count; i++)
		filled += !config->history[i].empty_layer;
	if (config->history_count && filled != layers)
		problem(c, VALIDATE_CONFIG, "",
			"the history tells of %zu layers, the manifest has %zu", filled, layers);
	if (!config->platform.os || !*config->platform.os || !config->platform.architecture ||
	    !*config->platform.architecture)
		problem(c, VALIDATE_PLATFORM, "",
			"the configuration does not say for which os and architecture it is");
	else if (entry->os && !platform_equal(entry, &config->platform))
		problem(c, VALIDATE_PLATFORM, "",
			"the index lists the image as %s, its configuration says %s",
			platform_text(entry, &c->out->arena),
			platform_text(&config->platform, &c->out->arena));
}

static bool bad_whiteout(const struct tar_entry *e, const char *name)
{
	if (str_equal(name, ".wh..wh..opq"))
		return false;
	return str_starts(name, ".wh..wh.") || str_equal(name, ".wh.") ||
	       str_equal(name, ".wh..") || str_equal(name, ".wh...") ||
	       (e->type != TAR_FILE && e->type != TAR_HARDLINK);
}

static void check_link(struct check *c, const struct tar_entry *e)
{
	const char *target = e->link;

	while (target[0] == '/' || (target[0] == '.' && target[1] == '/'))
		target += target[0] == '/' ? 1 : 2;
	if (!map_has(&c->seen, target))
		problem(c, VALIDATE_ENTRY_ODD, e->path,
			"is a hard link to '%.150s', which this layer does not hold before it",
			e->link);
}

static void check_entry(struct check *c, const struct tar_entry *e)
{
	const char *slash = strrchr(e->path, '/'), *name = slash ? slash + 1 : e->path;

	if (str_starts(name, ".wh.") && bad_whiteout(e, name))
		problem(c, VALIDATE_ENTRY_ODD, e->path, "is a malformed whiteout");
	if (e->type == TAR_CHAR || e->type == TAR_BLOCK)
		problem(c, VALIDATE_ENTRY_ODD, e->path, "is a device node (%s %u:%u)",
			e->type == TAR_CHAR ? "character" : "block", tar_extras(e)->dev_major,
			tar_extras(e)->dev_minor);
	if (e->type == TAR_HARDLINK)
		check_link(c, e);
	if (map_put(&c->seen, e->path, c))
		problem(c, VALIDATE_ENTRY_ODD, e->path, "is there more than once in this layer");
}

/* All entries; what is wrong with the archive itself is a problem. -1: trouble of ours. */
static int check_entries(struct check *c, struct stream *plain, struct error *err)
{
	cleanup_tar_reader struct tar_reader *reader = tar_read_open(plain);
	struct tar_entry e;
	int rc;

	while ((rc = tar_read_next(reader, &e, err)) > 0)
		check_entry(c, &e);
	if (rc < 0 && !is_our_trouble(err)) {
		problem(c, VALIDATE_ENTRY, "", "the archive cannot be unpacked: %s", err->text);
		*err = (struct error){ 0 };
		rc = 0;
	}
	return rc;
}

/* An error as a problem, unless it is trouble of ours. */
static int judge(struct check *c, enum validate_kind kind, const char *what, struct error *err)
{
	if (is_our_trouble(err))
		return -1;
	problem(c, kind, "", "%s: %s", what, err->text);
	*err = (struct error){ 0 };
	return 0;
}

static void check_compression(struct check *c, const struct descriptor *d, enum compression kind)
{
	const struct mediatype *type = mediatype_find(d->media_type);

	if (type && type->kind == MEDIA_LAYER && type->compression != kind)
		problem(c, VALIDATE_MEDIA_TYPE, "",
			"the layer is compressed with %s, its media type '%s' says %s",
			compression_name(kind), type->name, compression_name(type->compression));
}

static void check_blob_digest(struct check *c, const struct descriptor *d, const struct digest *got,
			      uint64_t size)
{
	char a[DIGEST_TEXT_MAX], b[DIGEST_TEXT_MAX];

	if (size != d->size)
		problem(c, VALIDATE_BLOB, "",
			"the blob holds %" PRIu64 " bytes, the manifest says %" PRIu64, size,
			d->size);
	if (!digest_equal(got, &d->digest))
		problem(c, VALIDATE_BLOB, "", "the blob has digest %s, the manifest says %s",
			digest_text(got, a), digest_text(&d->digest, b));
}

static void check_diff_id(struct check *c, const struct digest *got, enum compression kind)
{
	const struct image_config *config = &c->image->config;
	size_t i = (size_t)c->layer;
	char a[DIGEST_TEXT_MAX], b[DIGEST_TEXT_MAX];

	if (i >= config->diff_id_count || digest_equal(got, &config->diff_ids[i]))
		return;
	if (kind != COMPRESSION_NONE &&
	    digest_equal(&config->diff_ids[i], &c->image->manifest.layers[i].digest))
		problem(c, VALIDATE_DIFF_ID, "",
			"the diff_id %s is the digest of the compressed layer; its content has %s",
			digest_text(&config->diff_ids[i], a), digest_text(got, b));
	else
		problem(c, VALIDATE_DIFF_ID, "",
			"the content has digest %s, the configuration says %s (diff_id)",
			digest_text(got, a), digest_text(&config->diff_ids[i], b));
}

/* The plain side: entries and diff_id. Problems end it early; `raw` is left where it stood. */
static int check_content(struct check *c, const struct descriptor *d, struct stream *raw,
			 struct error *err)
{
	enum compression kind = COMPRESSION_NONE;
	cleanup_digest struct digest_state state = { 0 };
	cleanup_stream struct stream *plain = NULL, *hashed = NULL;
	struct digest got;
	size_t i = (size_t)c->layer;

	digest_init(&state, i < c->image->config.diff_id_count
				    ? c->image->config.diff_ids[i].algorithm
				    : DIGEST_SHA256);
	plain = decompress_auto(raw, &kind, err);
	if (!plain)
		return judge(c, VALIDATE_BLOB, "the layer cannot be read", err);
	check_compression(c, d, kind);
	hashed = stream_digest(plain, &state, NULL);
	if (check_entries(c, hashed, err) < 0)
		return -1;
	if (stream_drain(hashed, NULL, err) < 0)
		return judge(c, VALIDATE_BLOB, "the layer cannot be decompressed", err);
	got = digest_finish(&state);
	check_diff_id(c, &got, kind);
	return 0;
}

static int check_layer(struct check *c, size_t i, struct error *err)
{
	const struct descriptor *d = &c->image->manifest.layers[i];
	cleanup_digest struct digest_state state = { 0 };
	cleanup_stream struct stream *blob = NULL, *raw = NULL;
	struct digest got;
	uint64_t size = 0;

	c->layer = (int)i;
	c->entry_problems = 0;
	blob = c->image->source->ops->blob(c->image->source, d, err);
	if (!blob)
		return judge(c, VALIDATE_BLOB, "the blob cannot be read", err);
	digest_init(&state, d->digest.algorithm);
	raw = stream_digest(blob, &state, &size);
	if (check_content(c, d, raw, err) < 0)
		return -1;
	map_release(&c->seen);
	if (stream_drain(raw, NULL, err) < 0)
		return judge(c, VALIDATE_BLOB, "the blob cannot be read to its end", err);
	got = digest_finish(&state);
	check_blob_digest(c, d, &got, size);
	return 0;
}

int validate_image(struct image *image, struct validate_problems *out, struct error *err)
{
	struct check c = { .image = image, .out = out, .layer = -1 };
	int rc = 0;

	if (image->rootfs)
		return 0;
	check_types(&c);
	check_config(&c);
	for (size_t i = 0; rc == 0 && i < image->manifest.layer_count; i++)
		rc = check_layer(&c, i, err);
	map_release(&c.seen);
	return rc;
}
