#include "tests/support/test.h"

#include "tests/support/image.h"

#include "base/map.h"
#include "formats/compress.h"
#include "formats/tar_write.h"
#include "oci/config.h"
#include "oci/mediatype.h"

enum { MTIME = 315532800, WORDS_MAX = 32 };

struct layer {
	struct strbuf tar; /* plain */
	enum compression compression;
	const char *type;  /* NULL: what fits */
	const char *fault; /* NULL: none */
	uint64_t uid, gid;
};

struct image_text {
	struct platform platform;
	struct image_config config;
	bool fault_history, fault_platform;
	VEC(struct layer) layers;
	VEC(const char *) env, entrypoint, cmd, label_keys, label_values;
};

struct build {
	struct arena arena;
	const struct test_blob *blobs;
	size_t blob_count;
	VEC(struct image_text) images;
	bool said_image; /* the first image was announced, not implied */
	const char *line;
};

static void NORETURN bad_line(const struct build *b, const char *what)
{
	fail_msg("test image: %s: '%s'", what, b->line);
	abort();
}

static struct image_text *image_of(struct build *b)
{
	if (!b->images.len)
		vec_add(&b->images)->platform = (struct platform){ "linux", "amd64", NULL };
	return &b->images.items[b->images.len - 1];
}

static struct layer *layer_of(struct build *b)
{
	struct image_text *image = image_of(b);

	if (!image->layers.len)
		bad_line(b, "no layer yet");
	return &image->layers.items[image->layers.len - 1];
}

static void add_entry(struct build *b, struct tar_entry *e, struct slice content)
{
	struct layer *layer = layer_of(b);
	cleanup_sink struct sink *out = sink_memory(&layer->tar);
	cleanup_stream struct stream *in = stream_memory(content);
	struct error err = { 0 };

	e->uid = layer->uid;
	e->gid = layer->gid;
	e->mtime = MTIME;
	e->size = e->type == TAR_FILE ? content.len : 0;
	assert_ok(tar_write_entry(out, e, e->type == TAR_FILE ? in : NULL, &err), err);
}

/* "\n" to a newline. */
static struct slice unescape(struct arena *arena, const char *s)
{
	char *out = arena_strdup(arena, s), *to = out;

	for (; *s; s++) {
		if (s[0] == '\\' && s[1] == 'n') {
			*to++ = '\n';
			s++;
		} else {
			*to++ = *s;
		}
	}
	return slice_of(out, (size_t)(to - out));
}

static struct slice content_of(struct build *b, const char *s)
{
	char *filler;
	uint64_t size;

	if (*s == '=')
		return unescape(&b->arena, s + 1);
	if (*s == '*' && slice_u64(slice_str(s + 1), &size)) {
		filler = arena_alloc(&b->arena, size);
		memset(filler, 'x', size);
		return slice_of(filler, size);
	}
	for (size_t i = 0; *s == '@' && i < b->blob_count; i++) {
		if (str_equal(b->blobs[i].name, s + 1))
			return b->blobs[i].bytes;
	}
	if (*s)
		bad_line(b, "neither =TEXT, *SIZE nor a known @NAME");
	return slice_of("", 0);
}

static char *word(char **rest)
{
	char *start = *rest, *end;

	while (*start == ' ')
		start++;
	end = start + strcspn(start, " ");
	*rest = *end ? end + 1 : end;
	*end = '\0';
	return start;
}

static void add_file(struct build *b, char *rest, enum tar_type type)
{
	struct tar_entry e = {
		.type = type, .link = "", .path = word(&rest), .mode = type == TAR_DIR ? 0755 : 0644
	};

	while (*rest == ' ')
		rest++;
	if (*rest >= '0' && *rest <= '7')
		e.mode = (uint32_t)strtoul(word(&rest), NULL, 8);
	while (*rest == ' ')
		rest++;
	add_entry(b, &e, content_of(b, rest));
}

static void add_link(struct build *b, char *rest, enum tar_type type)
{
	struct tar_entry e = { .type = type, .mode = 0777, .path = word(&rest) };

	if (!str_starts(rest, "-> "))
		bad_line(b, "PATH -> TARGET is wanted");
	e.link = rest + 3;
	add_entry(b, &e, slice_of("", 0));
}

static void add_whiteout(struct build *b, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct tar_entry e = { .type = TAR_FILE, .mode = 0644, .link = "" };

	e.path = arena_printf(&b->arena, "%.*s.wh.%s", slash ? (int)(slash + 1 - path) : 0, path,
			      slash ? slash + 1 : path);
	add_entry(b, &e, slice_of("", 0));
}

static void add_opaque(struct build *b, const char *dir)
{
	struct tar_entry e = { .type = TAR_FILE, .mode = 0644, .link = "" };

	e.path = arena_printf(&b->arena, "%s%s.wh..wh..opq", dir, *dir ? "/" : "");
	add_entry(b, &e, slice_of("", 0));
}

static void start_image(struct build *b, const char *platform)
{
	struct error err = { 0 };
	struct platform p;

	assert_ok(platform_parse(platform, &b->arena, &p, &err), err);
	if (b->said_image || !b->images.len)
		vec_add(&b->images);
	b->said_image = true;
	image_of(b)->platform = p;
}

static void start_layer(struct build *b, const char *compression)
{
	struct layer layer = { .compression = COMPRESSION_GZIP };

	if (str_equal(compression, "none"))
		layer.compression = COMPRESSION_NONE;
	else if (str_equal(compression, "zstd"))
		layer.compression = COMPRESSION_ZSTD;
	else if (*compression && !str_equal(compression, "gzip"))
		bad_line(b, "unknown compression");
	vec_push(&image_of(b)->layers, layer);
}

static void set_owner(struct build *b, char *rest)
{
	layer_of(b)->uid = strtoul(word(&rest), NULL, 10);
	layer_of(b)->gid = strtoul(word(&rest), NULL, 10);
}

static void add_fault(struct build *b, const char *what)
{
	static const char *const faults[] = { "diff_id", "digest", "missing", "short" };

	if (str_equal(what, "history")) {
		image_of(b)->fault_history = true;
		return;
	}
	if (str_equal(what, "platform")) {
		image_of(b)->fault_platform = true;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		if (str_equal(what, faults[i])) {
			layer_of(b)->fault = faults[i];
			return;
		}
	}
	bad_line(b, "unknown fault");
}

static bool config_line(struct build *b, const char *verb, char *rest)
{
	struct image_text *image = image_of(b);
	char *equals = strchr(rest, '=');

	if (str_equal(verb, "env")) {
		vec_push(&image->env, rest);
	} else if (str_equal(verb, "entrypoint") || str_equal(verb, "cmd")) {
		while (*rest) {
			if (str_equal(verb, "cmd"))
				vec_push(&image->cmd, word(&rest));
			else
				vec_push(&image->entrypoint, word(&rest));
		}
	} else if (str_equal(verb, "user")) {
		image->config.user = rest;
	} else if (str_equal(verb, "workdir")) {
		image->config.workdir = rest;
	} else if (str_equal(verb, "label") && equals) {
		*equals = '\0';
		vec_push(&image->label_keys, rest);
		vec_push(&image->label_values, equals + 1);
	} else {
		return false;
	}
	return true;
}

static bool entry_line(struct build *b, const char *verb, char *rest)
{
	if (str_equal(verb, "file"))
		add_file(b, rest, TAR_FILE);
	else if (str_equal(verb, "dir"))
		add_file(b, rest, TAR_DIR);
	else if (str_equal(verb, "char"))
		add_file(b, rest, TAR_CHAR);
	else if (str_equal(verb, "fifo"))
		add_file(b, rest, TAR_FIFO);
	else if (str_equal(verb, "link"))
		add_link(b, rest, TAR_SYMLINK);
	else if (str_equal(verb, "hard"))
		add_link(b, rest, TAR_HARDLINK);
	else if (str_equal(verb, "whiteout"))
		add_whiteout(b, rest);
	else if (str_equal(verb, "opaque"))
		add_opaque(b, rest);
	else if (str_equal(verb, "owner"))
		set_owner(b, rest);
	else if (str_equal(verb, "type"))
		layer_of(b)->type = rest;
	else
		return false;
	return true;
}

static void parse_line(struct build *b, struct slice line)
{
	char *text = arena_slice(&b->arena, slice_trim(line)), *rest = text;
	const char *verb;

	b->line = arena_strdup(&b->arena, text);
	if (!*text || *text == '#')
		return;
	verb = word(&rest);
	if (str_equal(verb, "image"))
		start_image(b, rest);
	else if (str_equal(verb, "layer"))
		start_layer(b, rest);
	else if (str_equal(verb, "fault"))
		add_fault(b, rest);
	else if (!config_line(b, verb, rest) && !entry_line(b, verb, rest))
		bad_line(b, "unknown statement");
}

static void parse(struct build *b, const char *text)
{
	struct slice rest = slice_str(text), line;

	while (slice_cut(&rest, '\n', &line))
		parse_line(b, line);
	image_of(b);
	for (size_t i = 0; i < b->images.len; i++) {
		for (size_t k = 0; k < b->images.items[i].layers.len; k++)
			strbuf_add_zeros(&b->images.items[i].layers.items[k].tar, 1024);
	}
}

static void build_release(struct build *b)
{
	for (size_t i = 0; i < b->images.len; i++) {
		struct image_text *image = &b->images.items[i];

		for (size_t k = 0; k < image->layers.len; k++)
			strbuf_release(&image->layers.items[k].tar);
		vec_release(&image->layers);
		vec_release(&image->env);
		vec_release(&image->entrypoint);
		vec_release(&image->cmd);
		vec_release(&image->label_keys);
		vec_release(&image->label_values);
	}
	vec_release(&b->images);
	arena_release(&b->arena);
}

/* The configuration as JSON. Labels must stand in sorted order in the text. */
static void make_config(struct build *b, struct image_text *image, struct strbuf *out)
{
	struct image_config *c = &image->config;
	size_t layers = image->layers.len;

	c->platform = image->platform;
	if (image->fault_platform)
		c->platform.architecture = "mips";
	c->created = "1980-01-01T00:00:00Z";
	c->env = (struct string_list){ image->env.items, image->env.len };
	c->entrypoint = (struct string_list){ image->entrypoint.items, image->entrypoint.len };
	c->cmd = (struct string_list){ image->cmd.items, image->cmd.len };
	c->label_keys = (struct string_list){ image->label_keys.items, image->label_keys.len };
	c->label_values =
		(struct string_list){ image->label_values.items, image->label_values.len };
	c->diff_ids = arena_array(&b->arena, layers, sizeof(*c->diff_ids));
	c->diff_id_count = layers;
	c->history_count = layers + (image->fault_history ? 1 : 0);
	c->history = arena_array(&b->arena, c->history_count, sizeof(*c->history));
	for (size_t i = 0; i < c->history_count; i++)
		c->history[i].created_by = "test";
	for (size_t i = 0; i < layers; i++) {
		const struct layer *layer = &image->layers.items[i];

		c->diff_ids[i] = digest_of(strbuf_slice(&layer->tar));
		if (layer->fault && str_equal(layer->fault, "diff_id"))
			c->diff_ids[i].bytes[0] ^= 1;
	}
	config_write(c, out);
}

static void spoil_blob(const char *dir, const struct layer *layer, const struct descriptor *d)
{
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *path = xasprintf("%s/blobs/sha256/%s", dir, digest_hex(&d->digest, hex));
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error err = { 0 };

	if (!layer->fault || str_equal(layer->fault, "diff_id"))
		return;
	assert_ok(fs_read(AT_FDCWD, path, GIB, &bytes, &err), err);
	if (str_equal(layer->fault, "missing")) {
		assert_ok(fs_remove_tree(AT_FDCWD, path, &err), err);
		return;
	}
	if (str_equal(layer->fault, "short"))
		strbuf_truncate(&bytes, bytes.len - 1);
	else
		bytes.data[bytes.len - 1] ^= 1;
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&bytes), 0644, &err), err);
}

static struct descriptor put_layer(struct layout *l, const char *dir, const struct layer *layer)
{
	cleanup_strbuf struct strbuf packed = { 0 };
	cleanup_sink struct sink *memory = sink_memory(&packed), *out = NULL;
	struct descriptor d = { .media_type = layer->type ? layer->type
							  : mediatype_layer(layer->compression) };
	struct error err = { 0 };

	if (layer->compression != COMPRESSION_NONE)
		out = compress_sink(memory, layer->compression, LEVEL_FAST, NULL);
	assert_ok(sink_write(out ? out : memory, layer->tar.data, layer->tar.len, &err), err);
	assert_ok(sink_finish(out ? out : memory, &err), err);
	assert_ok(layout_put_bytes(l, strbuf_slice(&packed), &d, &err), err);
	spoil_blob(dir, layer, &d);
	return d;
}

static struct descriptor put_image(struct build *b, struct layout *l, const char *dir,
				   struct image_text *image)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct descriptor config = { .media_type = MEDIATYPE_OCI_CONFIG }, *layers;
	struct descriptor d = { .media_type = MEDIATYPE_OCI_MANIFEST };
	struct error err = { 0 };

	make_config(b, image, &text);
	assert_ok(layout_put_bytes(l, strbuf_slice(&text), &config, &err), err);
	layers = arena_array(&b->arena, image->layers.len, sizeof(*layers));
	for (size_t i = 0; i < image->layers.len; i++)
		layers[i] = put_layer(l, dir, &image->layers.items[i]);
	strbuf_truncate(&text, 0);
	manifest_write(&config, layers, image->layers.len, NULL, &text);
	assert_ok(layout_put_bytes(l, strbuf_slice(&text), &d, &err), err);
	return d;
}

void test_image_with(const char *dir, const char *tag, const char *text,
		     const struct test_blob *blobs, size_t blob_count)
{
	cleanup(build_release) struct build b = { .blobs = blobs, .blob_count = blob_count };
	cleanup_strbuf struct strbuf index = { 0 };
	struct error err = { 0 };
	cleanup_layout struct layout *l = layout_create(dir, &err);
	struct descriptor *images, root;

	assert_ok(l ? 0 : -1, err);
	parse(&b, text);
	images = arena_array(&b.arena, b.images.len, sizeof(*images));
	for (size_t i = 0; i < b.images.len; i++) {
		images[i] = put_image(&b, l, dir, &b.images.items[i]);
		images[i].platform = b.images.items[i].platform;
	}
	root = images[0];
	root.platform = (struct platform){ 0 };
	if (b.said_image) {
		index_write(images, b.images.len, NULL, &index);
		root = (struct descriptor){ .media_type = MEDIATYPE_OCI_INDEX };
		assert_ok(layout_put_bytes(l, strbuf_slice(&index), &root, &err), err);
	}
	assert_ok(layout_tag(l, tag, &root, &err), err);
}

void test_image(const char *dir, const char *tag, const char *text)
{
	test_image_with(dir, tag, text, NULL, 0);
}

static void put_member(struct strbuf *tar, const char *path, struct slice bytes)
{
	struct tar_entry e = { .type = TAR_FILE,
			       .path = path,
			       .link = "",
			       .mode = 0644,
			       .size = bytes.len,
			       .mtime = MTIME };
	cleanup_sink struct sink *out = sink_memory(tar);
	cleanup_stream struct stream *in = stream_memory(bytes);
	struct error err = { 0 };

	assert_ok(tar_write_entry(out, &e, in, &err), err);
}

void test_docker_archive(const char *path, const char *reference, const char *text)
{
	cleanup(build_release) struct build b = { 0 };
	cleanup_strbuf struct strbuf config = { 0 }, tar = { 0 }, out = { 0 };
	cleanup_map struct map written = { 0 };
	cleanup_json json_t *list = json_array();
	json_t *entry = json_object(), *tags = json_array(), *layers = json_array();
	struct error err = { 0 };
	char hex[DIGEST_HEX_MAX];
	const char *name;
	struct digest digest;

	parse(&b, text);
	make_config(&b, &b.images.items[0], &config);
	for (size_t i = 0; i < b.images.items[0].layers.len; i++) {
		struct slice bytes = strbuf_slice(&b.images.items[0].layers.items[i].tar);

		digest = digest_of(bytes);
		name = arena_printf(&b.arena, "%s.tar", digest_hex(&digest, hex));
		if (!map_put(&written, name, &b))
			put_member(&tar, name, bytes);
		json_push(layers, json_text(name));
	}
	digest = digest_of(strbuf_slice(&config));
	name = arena_printf(&b.arena, "%s.json", digest_hex(&digest, hex));
	put_member(&tar, name, strbuf_slice(&config));
	json_push(tags, json_text(reference));
	json_put(entry, "Config", json_text(name));
	json_put(entry, "RepoTags", tags);
	json_put(entry, "Layers", layers);
	json_push(list, entry);
	json_canonical(list, &out);
	put_member(&tar, "manifest.json", strbuf_slice(&out));
	strbuf_add_zeros(&tar, 1024);
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&tar), 0644, &err), err);
}
