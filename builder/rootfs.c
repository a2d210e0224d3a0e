#include "builder/rootfs.h"

#include "builder/conflict.h"

enum { LINKS_MAX = 40, PATH_BYTES_MAX = 4096, NAME_BYTES_MAX = 255 };

struct default_dir {
	const char *path;
	uint32_t mode;
	uint64_t gid;
};

/* Debian's base-files and policy; mail is group 8 and staff is not used for /usr/local any more. */
static const struct default_dir default_dirs[] = {
	{ "tmp", 01777, 0 },
	{ "var/tmp", 01777, 0 },
	{ "run/lock", 01777, 0 },
	{ "root", 0700, 0 },
	{ "var/mail", 02775, 8 },
	{ "var/local", 02775, 50 },
	{ "var/spool/mail", 02775, 8 },
};

void rootfs_default_dir(const char *path, struct tar_entry *out)
{
	*out = (struct tar_entry){
		.type = TAR_DIR, .path = path, .link = "", .mode = 0755, .mtime = FIXED_MTIME
	};
	for (size_t i = 0; i < ARRAY_LEN(default_dirs); i++) {
		if (str_equal(default_dirs[i].path, path)) {
			out->mode = default_dirs[i].mode;
			out->gid = default_dirs[i].gid;
		}
	}
}

void rootfs_forget_nodes(struct rootfs *r)
{
	for (size_t i = 0; i < r->parts.len; i++)
		vec_release(&r->parts.items[i].nodes);
	vec_release(&r->removed);
	vec_release(&r->index);
	free(r->index.slots);
	r->index = (struct rootfs_index){ 0 };
	arena_release(&r->nodes);
	r->nodes = (struct arena){ 0 };
	r->spare.len = 0;
}

void rootfs_release(struct rootfs *r)
{
	if (!r)
		return;
	rootfs_forget_nodes(r);
	for (size_t i = 0; i < r->parts.len; i++)
		component_free(r->parts.items[i].component);
	vec_release(&r->parts);
	vec_release(&r->diversions);
	free(r->last_dir);
	free(r->last_placed);
	arena_release(&r->arena);
}

int rootfs_compare(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	if (*a == *b)
		return 0;
	/* the end of a path comes first, then "/", then the bytes */
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static uint32_t hash_path(const char *path)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 16777619u;
	return h ^ h >> 15;
}

/* The slot of `path`, or the free one where it belongs. slot_count is a power of two. */
static size_t slot_of(const struct rootfs_index *x, const char *path)
{
	size_t i = hash_path(path) & (x->slot_count - 1);

	while (x->slots[i] && !str_equal(x->items[x->slots[i] - 1]->tar->path, path))
		i = (i + 1) & (x->slot_count - 1);
	return i;
}

static struct rootfs_node *find(const struct rootfs_index *x, const char *path)
{
	uint32_t at = x->slot_count ? x->slots[slot_of(x, path)] : 0;

	return at ? x->items[at - 1] : NULL;
}

static void grow(struct rootfs_index *x)
{
	free(x->slots);
	x->slot_count = x->slot_count ? 2 * x->slot_count : 64;
	x->slots = xcalloc(x->slot_count, sizeof(*x->slots));
	for (size_t i = 0; i < x->len; i++)
		x->slots[slot_of(x, x->items[i]->tar->path)] = (uint32_t)i + 1;
}

struct rootfs_node *rootfs_lookup(const struct rootfs *r, const char *path)
{
	struct rootfs_node *n = find(&r->index, path);

	return n && n->removed ? NULL : n;
}

/*
 * Put what `rest` names below `at` into `at`, following links; of the last part only when
 * `follow_last`. False when there are too many links or the name gets too long.
 */
static bool walk(const struct rootfs *r, const char *path, bool follow_last, struct strbuf *at)
{
	cleanup_strbuf struct strbuf todo = { 0 };
	unsigned links = 0;
	size_t from = 0;

	strbuf_adds(&todo, path);
	while (from < todo.len) {
		const char *text = strbuf_text(&todo) + from;
		size_t len = strcspn(text, "/"), base = at->len;
		const struct rootfs_node *n;
		bool last;

		from += len;
		while (strbuf_text(&todo)[from] == '/')
			from++;
		last = from >= todo.len;
		if (!len || (len == 1 && text[0] == '.'))
			continue;
		if (len == 2 && text[0] == '.' && text[1] == '.') {
			const char *slash = memrchr(strbuf_text(at), '/', at->len);

			strbuf_truncate(at, slash ? (size_t)(slash - strbuf_text(at)) : 0);
			continue;
		}
		if (at->len)
			strbuf_addc(at, '/');
		strbuf_add(at, text, len);
		n = rootfs_lookup(r, strbuf_text(at));
		if (n && n->tar->type == TAR_SYMLINK && (!last || follow_last)) {
			cleanup_strbuf struct strbuf next = { 0 };

			if (++links > LINKS_MAX || todo.len - from > PATH_BYTES_MAX)
				return false;
			strbuf_adds(&next, n->tar->link);
			strbuf_addc(&next, '/');
			strbuf_adds(&next, strbuf_text(&todo) + from);
			strbuf_truncate(at, n->tar->link[0] == '/' ? 0 : base);
			strbuf_release(&todo);
			todo = next;
			next = (struct strbuf){ 0 };
			/* the slash that was added must not hide that the link was the last part */
			if (last)
				strbuf_truncate(&todo, todo.len - 1);
			from = 0;
		}
	}
	return at->len <= PATH_BYTES_MAX;
}

struct rootfs_node *rootfs_resolve(struct rootfs *r, const char *path)
{
	cleanup_strbuf struct strbuf at = { 0 };

	if (!walk(r, path, true, &at))
		return NULL;
	return rootfs_lookup(r, strbuf_text(&at));
}

const char *rootfs_place(struct rootfs *r, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	cleanup_strbuf struct strbuf at = { 0 };
	cleanup_free char *dir = NULL;

	if (!slash)
		return path;
	dir = xstrndup(path, (size_t)(slash - path));
	if (!r->last_dir || !str_equal(r->last_dir, dir)) {
		if (!walk(r, dir, true, &at)) {
			error_set(err, ERROR_FORMAT,
				  "%s: the links on its way lead nowhere (more than %d)", path,
				  LINKS_MAX);
			return NULL;
		}
		free(r->last_dir);
		free(r->last_placed);
		r->last_dir = steal_ptr(&dir);
		r->last_placed = xstrdup(strbuf_text(&at));
	}
	if (!*r->last_placed) /* a path that began with a slash, too */
		return arena_strdup(&r->arena, slash + 1);
	if (str_equal(r->last_placed, r->last_dir))
		return path;
	return arena_printf(&r->arena, "%s/%s", r->last_placed, slash + 1);
}

struct tar_entry *rootfs_edit(struct rootfs *r, struct rootfs_node *n)
{
	struct tar_entry *own = (struct tar_entry *)n->tar;

	if (n->edited)
		return own;
	own = arena_alloc(&r->arena, sizeof(*own));
	*own = *n->tar;
	n->tar = own;
	n->edited = true;
	return own;
}

/* Many at a time: an arena rounds each of its pieces up. */
static struct rootfs_node *new_node(struct rootfs *r)
{
	enum { NODES = 512 };

	if (!r->spare.len) {
		r->spare.items = arena_array(&r->nodes, NODES, sizeof(*r->spare.items));
		r->spare.len = NODES;
	}
	r->spare.len--;
	return r->spare.items++;
}

/* A node at tar->path; `tar` lives as long as the tree. */
static struct rootfs_node *put(struct rootfs *r, const struct tar_entry *tar)
{
	struct rootfs_node *n = new_node(r);
	struct rootfs_index *x = &r->index;

	n->tar = tar;
	if ((x->len + 1) * 2 > x->slot_count)
		grow(x);
	x->slots[slot_of(x, tar->path)] = (uint32_t)x->len + 1;
	vec_push(x, n);
	return n;
}

/* Directories that an entry needs and nobody has brought yet. */
static int imply_parents(struct rootfs *r, const char *path, struct error *err)
{
	cleanup_free char *dir = xstrdup(path);

	for (char *slash = strchr(dir, '/'); slash; slash = strchr(slash + 1, '/')) {
		struct rootfs_node *n;

		*slash = '\0';
		n = rootfs_lookup(r, dir);
		if (n && n->tar->type != TAR_DIR && n->tar->type != TAR_SYMLINK)
			return error_set(err, ERROR_USAGE, "%s: /%s is a file of %s, not a folder",
					 path, dir, n->owner->name);
		if (!n) {
			struct tar_entry *tar = arena_alloc(&r->arena, sizeof(*tar));

			tar->path = arena_strdup(&r->arena, dir);
			rootfs_default_dir(tar->path, tar);
			n = put(r, tar);
			n->edited = true;
		}
		*slash = '/';
	}
	return 0;
}

/* Whether the entry is in the image as the component has it. */
static bool as_it_is(const struct component *c, const struct tar_entry *own,
		     const struct tar_entry *tar)
{
	return c->settled && own->path == tar->path && own->link == tar->link &&
	       own->mtime == tar->mtime;
}

static void take(struct rootfs *r, struct rootfs_node *n, struct component *c, size_t index,
		 const struct tar_entry *tar)
{
	struct tar_entry made = *tar;
	const struct tar_entry *own = &c->entries.items[index].tar;

	if (c->kind != COMPONENT_BASE &&
	    (tar->type == TAR_DIR || c->kind == COMPONENT_TREE || c->kind == COMPONENT_STAGE))
		made.mtime = FIXED_MTIME;
	n->owner = c;
	n->index = (uint32_t)index;
	n->edited = false;
	n->tar = as_it_is(c, own, &made) ? own : &made;
	if (n->tar == &made)
		rootfs_edit(r, n);
}

/* What becomes of an entry whose path is taken. */
static int meet(struct rootfs *r, struct rootfs_node *n, struct component *c, size_t index,
		const struct tar_entry *tar, struct error *err)
{
	enum conflict_end end;

	if (n->tar->type == TAR_DIR && tar->type == TAR_DIR) {
		if (!n->owner)
			take(r, n, c, index, tar);
		return 0;
	}
	if (n->tar->type == TAR_SYMLINK && tar->type == TAR_DIR)
		return 0;
	if (n->tar->type == TAR_DIR)
		return conflict_with_folder(n, c, tar, err);
	if (conflict_settle(n, c, &c->entries.items[index], tar, &end, err) < 0)
		return -1;
	if (end == CONFLICT_NEW_WINS)
		take(r, n, c, index, tar);
	return 0;
}

void rootfs_divert(struct rootfs *r, const char *package, const char *path, const char *to)
{
	struct rootfs_diversion d = { arena_strdup(&r->arena, path), arena_strdup(&r->arena, to),
				      arena_strdup(&r->arena, package) };

	for (size_t i = 0; i < r->diversions.len; i++) {
		if (str_equal(r->diversions.items[i].path, path))
			return;
	}
	vec_push(&r->diversions, d);
}

static const char *diverted(const struct rootfs *r, const struct component *c, const char *path)
{
	for (size_t i = 0; c->kind == COMPONENT_DEB && i < r->diversions.len; i++) {
		const struct rootfs_diversion *d = &r->diversions.items[i];

		if (str_equal(d->path, path) && !str_equal(d->package, c->name))
			return d->to;
	}
	return path;
}

/* Names that no file in a layer can have: they would delete another, or fit in no file system. */
static int check_names(const char *path, struct error *err)
{
	struct slice rest = slice_str(path), name;

	while (slice_cut(&rest, '/', &name)) {
		if (slice_starts(name, ".wh."))
			return error_set(err, ERROR_FORMAT,
					 "%s: in a layer a name that begins with .wh. says that "
					 "something is deleted, so no file can have it",
					 path);
		if (slice_is(name, ".") || slice_is(name, ".."))
			return error_set(err, ERROR_FORMAT,
					 "%s: has a part '.' or '..', which is no name of a file",
					 path);
		if (name.len > NAME_BYTES_MAX)
			return error_set(err, ERROR_FORMAT,
					 "%.80s…: a name of %zu bytes; file systems take %d", path,
					 name.len, NAME_BYTES_MAX);
	}
	return 0;
}

static int add_entry(struct rootfs *r, struct component *c, size_t index, struct rootfs_node **out,
		     struct error *err)
{
	const struct component_entry *e = &c->entries.items[index];
	struct tar_entry tar = e->tar;
	struct rootfs_node *n;

	*out = NULL;
	tar.path = rootfs_place(r, diverted(r, c, e->tar.path), err);
	if (!tar.path || (c->kind != COMPONENT_BASE && check_names(tar.path, err) < 0))
		return -1;
	if (tar.type == TAR_HARDLINK) {
		tar.link = rootfs_place(r, diverted(r, c, e->tar.link), err);
		if (!tar.link)
			return -1;
	}
	if (tar.type == TAR_CHAR || tar.type == TAR_BLOCK || tar.type == TAR_FIFO)
		return 0; /* images hold no devices */
	if (imply_parents(r, tar.path, err) < 0)
		return -1;
	n = rootfs_lookup(r, tar.path);
	if (n) {
		if (meet(r, n, c, index, &tar, err) < 0)
			return -1;
	} else {
		n = put(r, &tar);
		take(r, n, c, index, &tar);
	}
	if (tar.type == TAR_SYMLINK || tar.type == TAR_DIR) { /* may change where names lead */
		free(r->last_dir);
		r->last_dir = NULL;
	}
	*out = n;
	return 0;
}

void rootfs_attach(struct rootfs *r, struct component *c)
{
	struct rootfs_part *part = vec_add(&r->parts);

	part->component = c;
}

int rootfs_add_new(struct rootfs *r, struct component *c, struct error *err)
{
	struct rootfs_part *part = NULL;

	for (size_t i = 0; i < r->parts.len; i++) {
		if (r->parts.items[i].component == c)
			part = &r->parts.items[i];
	}
	assert(part);
	while (part->nodes.len < c->entries.len) {
		struct rootfs_node *n;

		if (add_entry(r, c, part->nodes.len, &n, err) < 0)
			return error_wrap(err, "%s", c->name);
		vec_push(&part->nodes, n);
	}
	return 0;
}

int rootfs_add(struct rootfs *r, struct component *c, struct error *err)
{
	rootfs_attach(r, c);
	c->settled = true;
	return rootfs_add_new(r, c, err);
}

struct rootfs_node *rootfs_file(struct rootfs *r, struct rootfs_node *n)
{
	for (unsigned i = 0; n && n->tar->type == TAR_HARDLINK && i < LINKS_MAX; i++)
		n = rootfs_lookup(r, n->tar->link);
	return n;
}

int rootfs_read(struct rootfs *r, const char *path, uint64_t limit, struct strbuf *out,
		struct error *err)
{
	struct rootfs_node *n = rootfs_file(r, rootfs_resolve(r, path));
	cleanup_stream struct stream *s = NULL;

	if (!n || n->tar->type != TAR_FILE || !n->owner)
		return error_set(err, ERROR_NOT_FOUND, "%s: the image holds no such file", path);
	s = content_open(&rootfs_entry(n)->content, n->tar->size, err);
	if (!s || stream_read_all(s, limit, out, err) < 0)
		return error_wrap(err, "%s: %s", n->owner->name, path);
	return 0;
}

int rootfs_digest(const struct component_entry *e, struct digest *out, struct error *err)
{
	cleanup_stream struct stream *s = NULL, *counted = NULL;
	cleanup_digest struct digest_state state = { 0 };
	uint64_t bytes = 0;

	if (e->content.has_digest) {
		*out = content_digest(&e->content);
		return 0;
	}
	digest_init(&state, DIGEST_SHA256);
	if (e->tar.size) {
		s = content_open(&e->content, e->tar.size, err);
		if (!s)
			return -1;
		counted = stream_digest(s, &state, &bytes);
		if (stream_drain(counted, NULL, err) < 0)
			return -1;
	}
	*out = digest_finish(&state);
	return 0;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct rootfs_node *const *x = a, *const *y = b;

	return rootfs_compare((*x)->tar->path, (*y)->tar->path);
}

void rootfs_sorted(const struct rootfs *r, struct rootfs_nodes *out)
{
	for (size_t i = 0; i < r->index.len; i++) {
		struct rootfs_node *n = r->index.items[i];

		if (!n->removed)
			vec_push(out, n);
	}
	vec_sort(out, compare_nodes);
}

void rootfs_remove(struct rootfs *r, struct rootfs_node *n)
{
	assert(n->tar->type != TAR_DIR && n->owner && n->owner->kind == COMPONENT_BASE);
	n->removed = true;
	vec_push(&r->removed, n);
	vec_sort(&r->removed, compare_nodes);
}

void rootfs_list(const struct rootfs *r, const char *dir, struct rootfs_nodes *out)
{
	size_t len = strlen(dir);

	for (size_t i = 0; i < r->index.len; i++) {
		struct rootfs_node *n = r->index.items[i];
		const char *path = n->tar->path;

		if (!n->removed && str_starts(path, dir) && path[len] == '/' &&
		    !strchr(path + len + 1, '/'))
			vec_push(out, n);
	}
	vec_sort(out, compare_nodes);
}

struct component *rootfs_component(const struct rootfs *r, enum component_kind kind,
				   const char *name)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		struct component *c = r->parts.items[i].component;

		if (c->kind == kind && str_equal(c->name, name))
			return c;
	}
	return NULL;
}
