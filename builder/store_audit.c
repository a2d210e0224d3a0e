#include "builder/store_audit.h"

#include <time.h>

#include "base/vec.h"
#include "builder/component_cache.h"
#include "builder/store_trees.h"

/* A file of the store. */
struct item {
	char *path; /* "objects/sha256/ab/…", "keys/layers/…" */
	uint64_t size;
	int64_t used; /* seconds since 1970 */
};

struct items {
	struct item *items;
	size_t len, cap;
};

static void items_release(struct items *l)
{
	for (size_t i = 0; i < l->len; i++)
		free(l->items[i].path);
	vec_release(l);
}

/* Where the walk is, to name what it finds. */
struct walking {
	struct items *out;
	const char *top;
};

static int visit(void *user, const struct fs_entry *e, struct error *err)
{
	struct walking *w = user;
	struct item item = { 0 };

	(void)err;
	if (!S_ISREG(e->st.st_mode))
		return 0;
	item.path = fs_join(w->top, e->path);
	item.size = (uint64_t)e->st.st_size;
	item.used = MAX((int64_t)e->st.st_atim.tv_sec, (int64_t)e->st.st_ctim.tv_sec);
	if (str_starts(item.path, "objects/")) /* links of layouts move its change time */
		item.used = (int64_t)e->st.st_atim.tv_sec;
	vec_push(w->out, item);
	return 0;
}

static int collect_trees(struct store *store, struct items *out, struct error *err)
{
	cleanup_store_trees struct store_trees trees = { 0 };

	if (store_trees_list(store_path(store), &trees, err) < 0)
		return -1;
	for (size_t i = 0; i < trees.len; i++) {
		struct item item = { .path = xstrdup(trees.items[i].path),
				     .size = trees.items[i].bytes,
				     .used = trees.items[i].used };

		vec_push(out, item);
	}
	return 0;
}

static int collect(struct store *store, struct items *out, struct error *err)
{
	static const char *const tops[] = { "keys", "objects", "partials" };

	for (size_t i = 0; i < ARRAY_LEN(tops); i++) {
		struct walking w = { .out = out, .top = tops[i] };
		cleanup_free char *dir = fs_join(store_path(store), tops[i]);

		if (fs_exists(AT_FDCWD, dir) && fs_walk(AT_FDCWD, dir, visit, &w, err) < 0)
			return error_wrap(err, "store %s", store_path(store));
	}
	return collect_trees(store, out, err);
}

static bool is_partial(const char *path)
{
	return str_starts(path, "partials/");
}

/* "objects", "partials", "trees", or the kind of record; heap. */
static char *place_of(const char *path)
{
	const char *kind;

	if (is_partial(path))
		return xstrdup("partials");
	if (str_starts(path, "trees/"))
		return xstrdup("trees");
	if (!str_starts(path, "keys/"))
		return xstrdup("objects");
	kind = path + strlen("keys/");
	return xstrndup(kind, strcspn(kind, "/"));
}

static const char *what_of(const char *place)
{
	static const struct {
		const char *name, *what;
	} known[] = {
		{ "objects", "packages, wheels, indexes and finished layers, by digest" },
		{ "attachments", "what is said beside images: SBOMs, provenance" },
		{ "facts", "what lint found in layers" },
		{ "fragments", "where compressed parts of layers lie" },
		{ "images", "images that were built" },
		{ "layers", "layers that were written" },
		{ "partials", "what came of pulls that broke off" },
		{ "stages", "what build stages gave" },
		{ "stat", "digests of files of folders" },
		{ "trees", "images unpacked for gpuimg test" },
		{ "unpacked", "packages, unpacked" },
		{ "verdicts", "what lint said of images that were built" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(known[i].name, place))
			return known[i].what;
	}
	return "";
}

static int by_place(const void *a, const void *b)
{
	return strcmp(((const struct store_place *)a)->name, ((const struct store_place *)b)->name);
}

int store_audit_list(struct store *store, struct arena *arena, struct store_places *out,
		     struct error *err)
{
	cleanup(items_release) struct items all = { 0 };

	if (collect(store, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.len; i++) {
		cleanup_free char *name = place_of(all.items[i].path);
		struct store_place *p = NULL;

		for (size_t k = 0; k < out->len && !p; k++) {
			if (str_equal(out->items[k].name, name))
				p = &out->items[k];
		}
		if (!p) {
			p = vec_add(out);
			p->name = arena_strdup(arena, name);
			p->what = what_of(name);
		}
		p->files++;
		p->bytes += all.items[i].size;
	}
	vec_sort(out, by_place);
	return 0;
}

/* Reading one file on a thread. */
struct checking {
	struct pool_job job;
	struct store *store;
	const struct item *item;
	bool damaged;
	int rc;
	struct error error;
};

static bool key_of(const char *path, struct digest *out)
{
	struct error ignored = { 0 };

	return digest_parse_sha256_hex(slice_str(strrchr(path, '/') + 1), out, &ignored) == 0;
}

static int check_object(struct checking *c, const struct digest *digest)
{
	cleanup_stream struct stream *s = store_read(c->store, digest, c->item->size, &c->error);

	return s ? stream_drain(s, NULL, &c->error) : -1;
}

static int check_unpacked(struct checking *c, const struct digest *key)
{
	cleanup_component struct component *p = component_recall(c->store, COMPONENT_DEB, key);

	if (!p)
		return error_set(&c->error, ERROR_INTEGRITY, "its listing is damaged");
	for (size_t i = 0; i < p->entries.len; i++) {
		const struct component_entry *e = &p->entries.items[i];
		cleanup_stream struct stream *s = NULL;

		if (e->tar.type != TAR_FILE)
			continue;
		s = content_open(&e->content, e->tar.size, &c->error);
		if (!s || stream_drain(s, NULL, &c->error) < 0)
			return -1;
	}
	return 0;
}

/* They end with the SHA-256 of what is before it: see lint/fact_cache.c. */
static int check_facts(struct checking *c)
{
	enum { PROOF_BYTES = 32 };
	cleanup_free char *path = fs_join(store_path(c->store), c->item->path);
	cleanup_fd int fd = fs_open(AT_FDCWD, path, &c->error);
	cleanup_stream struct stream *file = NULL, *proven = NULL;
	struct digest want = { .algorithm = DIGEST_SHA256 };
	uint64_t len = c->item->size - PROOF_BYTES;

	if (fd < 0)
		return -1;
	if (c->item->size < PROOF_BYTES ||
	    pread(fd, want.bytes, PROOF_BYTES, (off_t)len) != PROOF_BYTES)
		return error_set(&c->error, ERROR_INTEGRITY, "is too short");
	file = stream_fd_range(fd, 0, len, path);
	proven = stream_verify(file, &want, len);
	return stream_drain(proven, NULL, &c->error);
}

static int check_record(struct checking *c, const char *kind, const struct digest *key)
{
	cleanup_strbuf struct strbuf value = { 0 };

	return store_get_record(c->store, kind, key, &value, &c->error);
}

static void check(struct pool_job *job)
{
	struct checking *c = (struct checking *)job;
	const char *path = c->item->path;
	cleanup_free char *kind = place_of(path);
	struct digest key;

	/* the lines of stat prove themselves, trees are compared with their record when used */
	if (!key_of(path, &key) || str_equal(kind, "stat") || str_equal(kind, "trees"))
		return;
	if (str_equal(kind, "objects"))
		c->rc = check_object(c, &key);
	else if (str_equal(kind, "unpacked"))
		c->rc = check_unpacked(c, &key);
	else if (str_equal(kind, "facts"))
		c->rc = check_facts(c);
	else
		c->rc = check_record(c, kind, &key);
	/* what is short or longer than it says is as bad as what has another digest */
	c->damaged = c->rc < 0 && c->error.code != ERROR_SYSTEM;
	if (c->damaged && str_equal(kind, "objects"))
		store_discard(c->store, &key);
	else if (c->damaged)
		store_drop_record(c->store, kind, &key);
}

int store_audit_verify(struct store *store, struct pool *pool, struct arena *arena,
		       struct store_faults *out, struct error *err)
{
	enum { AT_ONCE = 64 };
	cleanup(items_release) struct items all = { 0 };
	cleanup_free struct checking *jobs = xcalloc(AT_ONCE, sizeof(*jobs));
	int rc = 0;

	if (collect(store, &all, err) < 0)
		return -1;
	for (size_t i = 0; i < all.len + AT_ONCE; i++) {
		struct checking *c = &jobs[i % AT_ONCE];

		if (i >= AT_ONCE && i - AT_ONCE < all.len) {
			pool_wait(pool, &c->job);
			if (c->damaged)
				vec_push(out, arena_printf(arena, "%s: %s", c->item->path,
							   c->error.text));
			if (c->rc < 0 && !c->damaged && rc == 0) {
				*err = c->error;
				rc = error_wrap(err, "store %s: %s", store_path(store),
						c->item->path);
			}
		}
		if (i >= all.len)
			continue;
		*c = (struct checking){ .job.run = check, .store = store, .item = &all.items[i] };
		out->files +=
			!is_partial(c->item->path); /* these are proven when they are complete */
		out->bytes += is_partial(c->item->path) ? 0 : c->item->size;
		pool_submit(pool, &c->job);
	}
	return rc;
}

/* The least recently used first; of equals what can be made again soonest. */
static int by_use(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->used != y->used)
		return x->used < y->used ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int remove_item(struct store *store, const struct item *item, const char *path,
		       bool *out_removed, struct error *err)
{
	if (str_starts(item->path, "trees/"))
		return store_trees_remove(store_path(store), item->path, out_removed, err);
	if (unlink(path) < 0 && errno != ENOENT)
		return error_set_errno(err, errno, "remove %s", path);
	*out_removed = true;
	return 0;
}

int store_audit_gc(struct store *store, const struct store_gc_request *request,
		   struct store_gc_result *out, struct error *err)
{
	cleanup(items_release) struct items all = { 0 };
	int64_t now = (int64_t)time(NULL);

	*out = (struct store_gc_result){ 0 };
	if (collect(store, &all, err) < 0)
		return -1;
	vec_sort(&all, by_use);
	for (size_t i = 0; i < all.len; i++) {
		out->files_left++;
		out->bytes_left += all.items[i].size;
	}
	for (size_t i = 0; i < all.len; i++) {
		const struct item *item = &all.items[i];
		cleanup_free char *path = fs_join(store_path(store), item->path);
		bool removed = true,
		     old = item->used <= now - (int64_t)MIN(request->days, 36500u) * 86400;

		if (!old && out->bytes_left <= request->max_bytes)
			continue;
		if (!request->dry && remove_item(store, item, path, &removed, err) < 0)
			return -1;
		if (!removed)
			continue;
		out->files++;
		out->bytes += item->size;
		out->files_left--;
		out->bytes_left -= item->size;
	}
	return 0;
}
