#include "builder/rebuild.h"

#include <time.h>

#include "base/map.h"
#include "builder/attachments.h"
#include "builder/image_sbom.h"
#include "builder/fetch.h"
#include "formats/json.h"
#include "formats/tar_read.h"

/* A copy is made by fetch_carry of what could not be linked. */
static void link_object(const struct lock_input *in, struct store *from, struct store *to)
{
	cleanup_free char *name = NULL, *folder = NULL;
	struct error ignored = { 0 };
	int dirfd;
	cleanup_fd int tofd = open(store_path(to), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (in->kind == LOCK_TREE || tofd < 0 ||
	    store_locate(from, &in->digest, &dirfd, &name, &ignored) < 0 || !strrchr(name, '/'))
		return;
	folder = xstrndup(name, (size_t)(strrchr(name, '/') - name));
	if (fs_mkdirs(tofd, folder, &ignored) == 0)
		ignore_result(linkat(dirfd, name, tofd, name, 0));
}

int rebuild_bring_inputs(const struct lockfile *lock, struct store *from, struct store *to,
			 struct error *err)
{
	struct fetch_result result;

	for (size_t i = 0; i < lock->platforms.len; i++) {
		const struct lock_platform *p = &lock->platforms.items[i];

		for (size_t k = 0; k < p->inputs.len; k++)
			link_object(&p->inputs.items[k], from, to);
	}
	return fetch_carry(lock, from, to, &result, err);
}

bool rebuild_time(const char *text, int64_t *out)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);

	if (!end || *end)
		return false;
	*out = timegm(&tm);
	return true;
}

/* Everything of an entry that a build decides, as one text; the digest of its content is in it. */
static int describe(struct tar_reader *r, const struct tar_entry *e, struct strbuf *out,
		    struct error *err)
{
	cleanup_digest struct digest_state state = { 0 };
	struct digest digest;
	char text[DIGEST_TEXT_MAX];

	strbuf_addf(out, "%d %04o %" PRIu64 ":%" PRIu64 " %" PRIi64 " %" PRIu64 " %s", e->type,
		    e->mode, e->uid, e->gid, e->mtime, e->size, e->link ? e->link : "");
	for (size_t i = 0; i < tar_extras(e)->xattr_count; i++) {
		const struct tar_xattr *x = &e->extras->xattrs[i];

		digest = digest_of(slice_of(x->value, x->len));
		strbuf_addf(out, " %s=%s", x->name, digest_text(&digest, text));
	}
	if (e->type != TAR_FILE)
		return 0;
	digest_init(&state, DIGEST_SHA256);
	{
		cleanup_stream struct stream *s = stream_digest(tar_read_content(r), &state, NULL);

		if (stream_drain(s, NULL, err) < 0)
			return -1;
	}
	digest = digest_finish(&state);
	strbuf_addf(out, " %s", digest_text(&digest, text));
	return 0;
}

/* A layer's entries by path, or a search among them. */
struct entries {
	struct map by_path; /* heap texts */
	struct arena arena;
};

static void entries_release(struct entries *e)
{
	map_release(&e->by_path);
	arena_release(&e->arena);
}

static int read_entries(struct image *image, size_t layer, struct entries *out, struct error *err)
{
	cleanup_stream struct stream *s = image_layer(image, layer, err);
	cleanup_tar_reader struct tar_reader *r = s ? tar_read_open(s) : NULL;
	struct tar_entry e;
	int rc = -1;

	if (!r)
		return -1;
	while ((rc = tar_read_next(r, &e, err)) == 1) {
		cleanup_strbuf struct strbuf text = { 0 };
		cleanup_free char *path = xstrdup(e.path);

		if (describe(r, &e, &text, err) < 0)
			return -1;
		map_put(&out->by_path, path, arena_strdup(&out->arena, strbuf_text(&text)));
	}
	return rc < 0 ? -1 : stream_drain(s, NULL, err);
}

/* Who owns a path in the image that was just built; "" when it is not in it. */
static const char *owner_of(struct store *store, const struct digest *image, const char *path,
			    struct arena *arena)
{
	cleanup_strbuf struct strbuf text = { 0 }, wanted = { 0 };
	struct error ignored = { 0 };
	struct slice rest, line, owner;

	if (attachments_read(store, image, ATTACHMENT_FILES, &text, &ignored) < 0)
		return "";
	image_sbom_put_path(&wanted, path);
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		if (slice_cut(&line, '\t', &owner) && slice_is(line, strbuf_text(&wanted)))
			return arena_slice(arena, owner);
	}
	return "";
}

/* In words: what of two descriptions of an entry differs first. */
static const char *what_differs(const char *a, const char *b)
{
	static const char *const parts[] = { "its type", "its mode", "its owner",
					     "its time", "its size", "its link target" };
	struct slice x = slice_str(a), y = slice_str(b), p, q;

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (!slice_cut(&x, ' ', &p) || !slice_cut(&y, ' ', &q) || !slice_equal(p, q))
			return parts[i];
	}
	return "its content or extended attributes";
}

struct comparison {
	struct image *given, *made;
	struct store *store;
	struct strbuf *out;
};

static const char *components_of(const struct image *image, size_t layer)
{
	json_t *annotations = (json_t *)(uintptr_t)image->manifest.layers[layer].annotations;
	const char *text = json_string_value(json_object_get(annotations, "io.gpuimg.components"));

	return text ? text : "";
}

static void put_difference(const struct comparison *c, size_t layer, const char *path,
			   const char *what)
{
	cleanup_arena struct arena arena = { 0 };
	const char *owner = owner_of(c->store, &c->made->descriptor.digest, path, &arena);

	strbuf_addf(c->out, "layer %zu: ", layer);
	image_sbom_put_path(c->out, path);
	strbuf_addf(c->out, ": %s", what);
	if (*owner)
		strbuf_addf(c->out, " (owner: %s)", owner);
	strbuf_addc(c->out, '\n');
}

static int compare_layer(const struct comparison *c, size_t layer, struct error *err)
{
	cleanup(entries_release) struct entries given = { 0 };
	cleanup(entries_release) struct entries made = { 0 };
	const struct map_entry *sorted;

	if (read_entries(c->given, layer, &given, err) < 0 ||
	    read_entries(c->made, layer, &made, err) < 0)
		return -1;
	sorted = map_sorted(&made.by_path);
	for (size_t i = 0; i < made.by_path.len; i++) {
		const char *there = map_get(&given.by_path, sorted[i].key);
		cleanup_free char *text = NULL;

		if (there && str_equal(there, sorted[i].value))
			continue;
		text = there ? xasprintf("%s differs", what_differs(there, sorted[i].value))
			     : xstrdup("is missing in the image");
		put_difference(c, layer, sorted[i].key, text);
		return 0;
	}
	sorted = map_sorted(&given.by_path);
	for (size_t i = 0; i < given.by_path.len; i++) {
		if (map_has(&made.by_path, sorted[i].key))
			continue;
		put_difference(c, layer, sorted[i].key,
			       "is in the image, and the lock does not give it");
		return 0;
	}
	strbuf_addf(c->out, "layer %zu (%s): the same entries, written in another order or form\n",
		    layer, components_of(c->made, layer));
	return 0;
}

/* Where two JSON values part, as a path; false when they are equal. */
static bool json_differs(const json_t *a, const json_t *b, struct strbuf *path)
{
	const char *key;
	json_t *value;
	size_t len = path->len;

	if (json_equal(a, b))
		return false;
	if (json_is_object(a) && json_is_object(b)) {
		json_object_foreach((json_t *)(uintptr_t)a, key, value)
		{
			strbuf_addf(path, "%s%s", len ? "." : "", key);
			if (json_differs(value, json_object_get(b, key), path))
				return true;
			strbuf_truncate(path, len);
		}
		json_object_foreach((json_t *)(uintptr_t)b, key, value)
		{
			if (json_object_get(a, key))
				continue;
			strbuf_addf(path, "%s%s", len ? "." : "", key);
			return true;
		}
	}
	if (json_is_array(a) && json_is_array(b)) {
		for (size_t i = 0; i < json_array_size(a); i++) {
			strbuf_addf(path, "[%zu]", i);
			if (json_differs(json_array_get(a, i), json_array_get(b, i), path))
				return true;
			strbuf_truncate(path, len);
		}
	}
	return true;
}

static int compare_texts(const struct comparison *c, const char *what, const struct strbuf *given,
			 const struct strbuf *made, struct error *err)
{
	cleanup_json json_t *a = NULL, *b = NULL;
	cleanup_strbuf struct strbuf path = { 0 };

	if (slice_equal(strbuf_slice(given), strbuf_slice(made)))
		return 0;
	if (json_parse(strbuf_slice(given), &a, err) < 0 ||
	    json_parse(strbuf_slice(made), &b, err) < 0)
		return error_wrap(err, "%s", what);
	if (json_differs(a, b, &path))
		strbuf_addf(c->out, "%s: %s differs\n", what, strbuf_text(&path));
	else
		strbuf_addf(c->out, "%s: the same values, written in another form\n", what);
	return 0;
}

/* Layers by content, down to the first that is another. */
static int compare_contents(const struct comparison *c, struct error *err)
{
	const struct image *given = c->given, *made = c->made;
	size_t count = MIN(given->config.diff_id_count, made->config.diff_id_count);

	for (size_t i = 0; i < count; i++) {
		if (!digest_equal(&given->config.diff_ids[i], &made->config.diff_ids[i]))
			return compare_layer(c, i, err);
	}
	if (given->config.diff_id_count != made->config.diff_id_count)
		strbuf_addf(c->out, "the image has %zu layers, the lock gives %zu\n",
			    given->config.diff_id_count, made->config.diff_id_count);
	return 0;
}

static void compare_coders(const struct comparison *c)
{
	const struct manifest *given = &c->given->manifest, *made = &c->made->manifest;

	for (size_t i = 0; i < MIN(given->layer_count, made->layer_count); i++) {
		if (digest_equal(&given->layers[i].digest, &made->layers[i].digest))
			continue;
		strbuf_addf(c->out,
			    "layer %zu (%s): the same content, compressed to other bytes (another "
			    "coder, or another version of it)\n",
			    i, components_of(c->made, i));
		return;
	}
}

/* Every byte of the image that was given is what its manifest says. */
static int read_layers(struct image *image, struct error *err)
{
	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		cleanup_stream struct stream *s = image_layer_blob(image, i, err);

		if (!s || stream_drain(s, NULL, err) < 0)
			return error_wrap(err, "layer %zu", i);
	}
	return 0;
}

int rebuild_compare(struct image *given, struct image *made, struct store *store,
		    struct strbuf *out, struct error *err)
{
	struct comparison c = { given, made, store, out };
	size_t len = out->len;

	if (given->rootfs)
		return error_set(err, ERROR_USAGE,
				 "%s: an unpacked root has no layers to compare; name the image",
				 given->name);
	if (read_layers(given, err) < 0)
		return -1;
	if (digest_equal(&given->descriptor.digest, &made->descriptor.digest))
		return 0;
	if (compare_contents(&c, err) < 0)
		return -1;
	if (out->len == len &&
	    compare_texts(&c, "configuration", &given->config_text, &made->config_text, err) < 0)
		return -1;
	if (out->len == len)
		compare_coders(&c);
	if (out->len == len)
		return compare_texts(&c, "manifest", &given->manifest_text, &made->manifest_text,
				     err);
	return 0;
}
