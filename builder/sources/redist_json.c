#include "builder/sources/redist_json.h"

#include "base/alloc.h"
#include "formats/json.h"

enum { COMPONENTS_LIMIT = 4096, FILES_LIMIT = 64, TEXT_LIMIT = 200, QUOTE_LIMIT = 80 };
#define SIZE_LIMIT (UINT64_C(64) << 30)

static bool is_word_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '-' || c == '.' || c == '+' || c == '~';
}

/* A name as it may stand in a path, an address and a lock. */
static bool is_word(const char *text)
{
	if (!*text || *text == '.' || strlen(text) > TEXT_LIMIT)
		return false;
	for (; *text; text++) {
		if (!is_word_char(*text))
			return false;
	}
	return true;
}

static int check_word(const char *text, const char *where, const char *what, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };

	if (is_word(text))
		return 0;
	strbuf_add_quoted(&quoted, slice_str(text), QUOTE_LIMIT);
	return error_set(err, ERROR_FORMAT, "%s: %s is no %s", where, strbuf_text(&quoted), what);
}

/* Each part of a path is a word, so nothing leaves the folder or is another address. */
static int check_path(const char *path, const char *where, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	struct slice rest = slice_str(path), part;

	while (slice_cut(&rest, '/', &part)) {
		cleanup_free char *word =
			xasprintf("%.*s", (int)MIN(part.len, (size_t)TEXT_LIMIT + 1),
				  (const char *)part.data);

		if (is_word(word))
			continue;
		strbuf_add_quoted(&quoted, slice_str(path), QUOTE_LIMIT);
		return error_set(
			err, ERROR_FORMAT,
			"%s.relative_path: %s is not a plain path below the manifest's folder",
			where, strbuf_text(&quoted));
	}
	return 0;
}

/* A text without control characters; "" when there is none. */
static int get_title(const json_t *object, const char *where, const char *key, struct arena *arena,
		     const char **out, struct error *err)
{
	const char *text;

	if (json_get_str_opt(object, where, key, &text, err) < 0)
		return -1;
	*out = text ? arena_strdup(arena, text) : "";
	for (const char *c = *out; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f || c - *out > TEXT_LIMIT)
			return error_set(err, ERROR_FORMAT,
					 "%s%s%s: holds a control character or is too long", where,
					 *where ? "." : "", key);
	}
	return 0;
}

static int read_size(const json_t *leaf, const char *where, uint64_t *out, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	const char *text;

	if (json_get_str(leaf, where, "size", &text, err) < 0)
		return -1;
	if (slice_u64(slice_str(text), out) && *out > 0 && *out <= SIZE_LIMIT)
		return 0;
	strbuf_add_quoted(&quoted, slice_str(text), QUOTE_LIMIT);
	return error_set(err, ERROR_FORMAT, "%s.size: %s is not a number of bytes up to 64 GiB",
			 where, strbuf_text(&quoted));
}

static int read_leaf(const json_t *leaf, const char *where, struct arena *arena,
		     struct redist_file *out, struct error *err)
{
	const char *path, *sha256;

	if (json_get_str(leaf, where, "relative_path", &path, err) < 0 ||
	    check_path(path, where, err) < 0 ||
	    json_get_str(leaf, where, "sha256", &sha256, err) < 0 ||
	    read_size(leaf, where, &out->size, err) < 0)
		return -1;
	if (digest_parse_sha256_hex(slice_str(sha256), &out->digest, err) < 0)
		return error_wrap(err, "%s.sha256", where);
	out->path = arena_strdup(arena, path);
	return 0;
}

static int add_file(struct redist_component *c, const json_t *leaf, const char *platform,
		    const char *variant, const char *where, struct arena *arena, struct error *err)
{
	struct redist_file *f = &c->files[c->count];

	if (c->count == FILES_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s: more than %d archives", c->key,
				 FILES_LIMIT);
	if (check_word(platform, c->key, "platform", err) < 0 ||
	    (*variant && check_word(variant, where, "variant", err) < 0) ||
	    read_leaf(leaf, where, arena, f, err) < 0)
		return -1;
	f->platform = arena_strdup(arena, platform);
	f->variant = arena_strdup(arena, variant);
	c->count++;
	return 0;
}

/* An archive, or one for each variant. */
static int read_platform(struct redist_component *c, const char *platform, const json_t *object,
			 struct arena *arena, struct error *err)
{
	cleanup_free char *where = xasprintf("%s.%.60s", c->key, platform);

	if (json_object_get(object, "relative_path"))
		return add_file(c, object, platform, "", where, arena, err);
	for (void *i = json_object_iter((json_t *)object); i;
	     i = json_object_iter_next((json_t *)object, i)) {
		const char *variant = json_object_iter_key(i);
		cleanup_free char *at = xasprintf("%s.%.60s", where, variant);

		if (json_is_object(json_object_iter_value(i)) &&
		    add_file(c, json_object_iter_value(i), platform, variant, at, arena, err) < 0)
			return -1;
	}
	return 0;
}

static int read_component(const char *key, const json_t *object, struct arena *arena,
			  struct redist_component *out, struct error *err)
{
	const char *version;

	if (check_word(key, "components", "name of a component", err) < 0)
		return -1;
	out->key = arena_strdup(arena, key);
	out->files = arena_array(arena, FILES_LIMIT + 1, sizeof(*out->files));
	if (get_title(object, key, "name", arena, &out->title, err) < 0 ||
	    get_title(object, key, "license", arena, &out->license, err) < 0 ||
	    json_get_str(object, key, "version", &version, err) < 0)
		return -1;
	if (check_word(version, key, "version", err) < 0)
		return -1;
	out->version = arena_strdup(arena, version);
	for (void *i = json_object_iter((json_t *)object); i;
	     i = json_object_iter_next((json_t *)object, i)) {
		if (json_is_object(json_object_iter_value(i)) &&
		    read_platform(out, json_object_iter_key(i), json_object_iter_value(i), arena,
				  err) < 0)
			return -1;
	}
	return 0;
}

static int read_top(const json_t *top, struct arena *arena, struct redist_manifest *out,
		    struct error *err)
{
	if (!json_is_object(top))
		return error_set(err, ERROR_FORMAT, "is not an object");
	if (json_object_size(top) > COMPONENTS_LIMIT)
		return error_set(err, ERROR_LIMIT, "more than %d components", COMPONENTS_LIMIT);
	if (get_title(top, "", "release_date", arena, &out->date, err) < 0 ||
	    get_title(top, "", "release_label", arena, &out->label, err) < 0 ||
	    get_title(top, "", "release_product", arena, &out->product, err) < 0)
		return -1;
	out->items = arena_array(arena, json_object_size(top) + 1, sizeof(*out->items));
	for (void *i = json_object_iter((json_t *)top); i;
	     i = json_object_iter_next((json_t *)top, i)) {
		if (json_is_object(json_object_iter_value(i)) &&
		    read_component(json_object_iter_key(i), json_object_iter_value(i), arena,
				   &out->items[out->count++], err) < 0)
			return -1;
	}
	if (!out->count)
		return error_set(
			err, ERROR_FORMAT,
			"names no component; the manifests of CUDA before 11.4.2 are stubs");
	return 0;
}

int redist_json_parse(struct slice text, const char *name, struct arena *arena,
		      struct redist_manifest *out, struct error *err)
{
	cleanup_json json_t *top = NULL;

	*out = (struct redist_manifest){ 0 };
	if (json_parse_named(text, name, &top, err) < 0)
		return -1;
	if (read_top(top, arena, out, err) < 0)
		return error_wrap(err, "%s", name);
	return 0;
}

const struct redist_component *redist_json_find(const struct redist_manifest *m, const char *key)
{
	for (size_t i = 0; i < m->count; i++) {
		if (str_equal(m->items[i].key, key))
			return &m->items[i];
	}
	return NULL;
}

static bool has_platform(const struct redist_component *c, const char *platform)
{
	for (size_t i = 0; i < c->count; i++) {
		if (str_equal(c->files[i].platform, platform))
			return true;
	}
	return false;
}

static const struct redist_file *find_variant(const struct redist_component *c,
					      const char *platform, const char *variant)
{
	for (size_t i = 0; i < c->count; i++) {
		if (str_equal(c->files[i].platform, platform) &&
		    str_equal(c->files[i].variant, variant))
			return &c->files[i];
	}
	return NULL;
}

/* The platforms of a component, or the variants of one platform. */
static void list(const struct redist_component *c, const char *platform, struct strbuf *out)
{
	const char *last = "";

	for (size_t i = 0; i < c->count; i++) {
		const struct redist_file *f = &c->files[i];
		const char *word = platform ? f->variant : f->platform;

		if ((platform && !str_equal(f->platform, platform)) || str_equal(word, last))
			continue;
		strbuf_addf(out, "%s%s", *last ? ", " : "", word);
		last = word;
	}
}

int redist_json_choose(const struct redist_component *c, const char *platform, const char *cuda,
		       const struct redist_file **out, struct error *err)
{
	cleanup_free char *exact = xasprintf("cuda%s", cuda);
	cleanup_free char *major = xasprintf("cuda%.*s", (int)strcspn(cuda, "."), cuda);
	const char *const variants[] = { "", exact, major };
	cleanup_strbuf struct strbuf known = { 0 };
	const char *wanted = platform;

	if (!has_platform(c, platform))
		platform = "linux-all";
	for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
		*out = find_variant(c, platform, variants[i]);
		if (*out)
			return 0;
	}
	if (has_platform(c, platform)) {
		list(c, platform, &known);
		return error_set(err, ERROR_NOT_FOUND,
				 "%s %s has no variant for CUDA %s on %s; there is %s", c->key,
				 c->version, cuda, platform, strbuf_text(&known));
	}
	list(c, NULL, &known);
	return error_set(err, ERROR_NOT_FOUND, "%s %s has no archive for %s; there is %s", c->key,
			 c->version, wanted, known.len ? strbuf_text(&known) : "none at all");
}
