#include "oci/tree.h"

#include "base/strbuf.h"
#include "base/vec.h"

enum { LINKS_MAX = 40 };

/*
 * A name in a directory. It is in its parent's list of children exactly while it stands for
 * something: it has an effective node or children. So lists hold only living names, every kill
 * takes one out of them, and no operation looks at what is long gone.
 */
struct tree_dentry {
	struct tree_dentry *parent, *children, *next, *prev;
	const char *name;       /* not terminated: often the end of a node's path */
	struct tree_node *node; /* effective; NULL: an implied directory, or nothing */
	uint32_t name_len;
	bool linked;
	/* Layer + 1 up to which nothing of lower layers is left here, and below here. */
	uint32_t cleared, cleared_below;
};

static uint64_t hash_of(const struct tree_dentry *parent, struct slice name)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ ((uintptr_t)parent >> 4); /* FNV-1a */

	for (size_t i = 0; i < name.len; i++)
		h = (h ^ name.data[i]) * UINT64_C(1099511628211);
	return h ^ h >> 29;
}

static struct tree_dentry **slot_of(const struct tree *t, const struct tree_dentry *parent,
				    struct slice name)
{
	size_t i = (size_t)hash_of(parent, name) & (t->slot_count - 1);

	while (t->slots[i]) {
		const struct tree_dentry *d = t->slots[i];

		if (d->parent == parent && slice_equal(slice_of(d->name, d->name_len), name))
			break;
		i = (i + 1) & (t->slot_count - 1);
	}
	return &t->slots[i];
}

static void grow(struct tree *t)
{
	struct tree_dentry **old = t->slots;
	size_t old_count = t->slot_count;

	t->slot_count = old_count ? old_count * 2 : 256;
	t->slots = xcalloc(t->slot_count, sizeof(*t->slots));
	for (size_t i = 0; i < old_count; i++) {
		if (old[i])
			*slot_of(t, old[i]->parent, slice_of(old[i]->name, old[i]->name_len)) =
				old[i];
	}
	free(old);
}

static struct tree_dentry *find(const struct tree *t, const struct tree_dentry *parent,
				struct slice name)
{
	return t->slot_count && parent ? *slot_of(t, parent, name) : NULL;
}

/*
 * The name in `parent`, made when missing; `layer` is the one that needs it. `kept` is the name's
 * bytes where they live as long as the tree, or NULL.
 */
static struct tree_dentry *make(struct tree *t, struct tree_dentry *parent, struct slice name,
				const char *kept, size_t layer)
{
	struct tree_dentry *d = find(t, parent, name);

	if (d)
		return d;
	if ((t->dentry_count + 1) * 2 > t->slot_count)
		grow(t);
	d = arena_alloc(&t->arena, sizeof(*d));
	d->parent = parent;
	d->name = kept ? kept : arena_slice(&t->arena, name);
	d->name_len = (uint32_t)name.len;
	d->cleared = d->cleared_below = (uint32_t)layer + 1;
	*slot_of(t, parent, name) = d;
	t->dentry_count++;
	return d;
}

static struct tree_dentry *root_of(struct tree *t)
{
	if (!t->root) {
		t->root = arena_alloc(&t->arena, sizeof(*t->root));
		t->root->name = "";
		t->root->linked = true;
	}
	return t->root;
}

void tree_release(struct tree *t)
{
	if (!t)
		return;
	free(t->slots);
	free(t->sorted);
	vec_release(&t->all);
	arena_release(&t->arena);
	*t = (struct tree){ 0 };
}

static void link_up(struct tree_dentry *d)
{
	for (; !d->linked; d = d->parent) {
		d->linked = true;
		d->prev = NULL;
		d->next = d->parent->children;
		if (d->next)
			d->next->prev = d;
		d->parent->children = d;
	}
}

/* Take `d`, and the directories that were implied by it alone, out of the lists. */
static void unlink_empty(struct tree_dentry *d)
{
	for (; d->parent && d->linked && !d->node && !d->children; d = d->parent) {
		d->linked = false;
		if (d->prev)
			d->prev->next = d->next;
		else
			d->parent->children = d->next;
		if (d->next)
			d->next->prev = d->prev;
	}
}

static void kill_node(struct tree_dentry *d, enum tree_fate fate, size_t layer)
{
	struct tree_node *node = d->node;

	if (!node)
		return;
	node->fate = fate;
	node->fate_layer = layer;
	if (node->target)
		node->target->links--;
	d->node = NULL;
}

/* All below `d`, whatever its layer. */
static void kill_below(struct tree_dentry *d, size_t layer)
{
	struct tree_dentry *child = d->children;

	while (child) {
		struct tree_dentry *next = child->next;

		kill_below(child, layer);
		kill_node(child, TREE_OVERWRITTEN, layer);
		unlink_empty(child);
		child = next;
	}
}

/* A whiteout of `d` (`own`) or an opaque directory: lower layers' entries go, once per layer. */
static void clear_lower(struct tree_dentry *d, bool own, enum tree_fate fate, size_t layer)
{
	if (d->cleared_below <= layer) {
		struct tree_dentry *child = d->children;

		d->cleared_below = (uint32_t)layer + 1;
		while (child) {
			struct tree_dentry *next = child->next;

			clear_lower(child, true, fate, layer);
			child = next;
		}
	}
	if (own && d->cleared <= layer) {
		d->cleared = (uint32_t)layer + 1;
		if (d->node && d->node->layer < layer)
			kill_node(d, fate, layer);
	}
	if (own)
		unlink_empty(d);
}

/* The symlink that a node is (also as a second name of one), or NULL. */
static const char *symlink_of(const struct tree_node *node)
{
	if (node && node->entry.type == TAR_HARDLINK)
		node = node->target;
	return node && node->entry.type == TAR_SYMLINK ? node->entry.link : NULL;
}

static bool is_directory(const struct tree_dentry *d)
{
	return d && d->linked && (!d->node || d->node->entry.type == TAR_DIR);
}

/*
 * A walk along a path. `at` is the last place on it that exists, `missing` how many names beyond it
 * the walk went; `path` is where it stands, in words and without links.
 */
struct walk {
	const struct tree *tree;
	struct tree_dentry *at;
	size_t missing;
	struct strbuf path, rest;
	unsigned links;
	bool loop;    /* more links than allowed, or names too long to be real */
	bool blocked; /* something on the way is no directory */
};

enum { WALK_BYTES_MAX = 16 * 1024 };

static void walk_release(struct walk *w)
{
	strbuf_release(&w->path);
	strbuf_release(&w->rest);
}

static void walk_up(struct walk *w)
{
	const char *slash = w->path.len ? strrchr(w->path.data, '/') : NULL;

	if (w->path.len)
		strbuf_truncate(&w->path, slash ? (size_t)(slash - w->path.data) : 0);
	if (w->missing)
		w->missing--;
	else if (w->at && w->at->parent)
		w->at = w->at->parent;
}

static void walk_down(struct walk *w, struct slice name)
{
	struct tree_dentry *next = w->missing ? NULL : find(w->tree, w->at, name);

	if (!w->missing && w->at && !is_directory(w->at))
		w->blocked = true;
	if (w->path.len)
		strbuf_addc(&w->path, '/');
	strbuf_add(&w->path, name.data, name.len);
	if (w->path.len > WALK_BYTES_MAX)
		w->loop = true;
	if (next && next->linked)
		w->at = next;
	else
		w->missing++;
}

/* `w` stands at a link: continue at what it says. */
static void walk_link(struct walk *w, const char *link, size_t from)
{
	struct strbuf longer = { 0 };

	if (++w->links > LINKS_MAX || strlen(link) + w->rest.len - from > 2 * WALK_BYTES_MAX) {
		w->loop = true;
		return;
	}
	strbuf_adds(&longer, link);
	strbuf_addc(&longer, '/');
	if (from < w->rest.len)
		strbuf_add(&longer, w->rest.data + from, w->rest.len - from);
	strbuf_release(&w->rest);
	w->rest = longer;
	walk_up(w);
	if (link[0] == '/') {
		w->at = w->tree->root;
		strbuf_truncate(&w->path, 0);
	}
}

/* Along all of `rest`; below something missing it is taken as it is written. */
static void walk_on(struct walk *w)
{
	size_t from = 0;

	while (!w->loop && from < w->rest.len) {
		const char *start = w->rest.data + from, *slash = strchr(start, '/');
		size_t len = slash ? (size_t)(slash - start) : w->rest.len - from;
		struct slice name = slice_of(start, len);

		from += len + (slash ? 1 : 0);
		if (slice_is(name, "..")) {
			walk_up(w);
		} else if (name.len && !slice_is(name, ".")) {
			walk_down(w, name);
			if (!w->missing && w->at && symlink_of(w->at->node)) {
				walk_link(w, symlink_of(w->at->node), from);
				from = 0;
			}
		}
	}
}

/* From the root along `path`. */
static void walk_path(struct walk *w, struct slice path)
{
	w->at = w->tree->root;
	if (path.len)
		strbuf_add(&w->rest, path.data, path.len);
	walk_on(w);
}

/* Walked to its end, and a directory is there, or nothing that would keep one from being made. */
static bool may_be_directory(const struct walk *w)
{
	return !w->loop && !w->blocked && (w->missing || !w->at || is_directory(w->at));
}

static struct tree_dentry *make_all(struct tree *t, struct slice path, size_t layer)
{
	struct tree_dentry *at = root_of(t);
	struct slice name;

	while (path.len && slice_cut(&path, '/', &name))
		at = make(t, at, name, NULL, layer);
	return at;
}

/* The path of `d`, from its names. */
static void path_of(const struct tree_dentry *d, struct strbuf *out)
{
	if (!d->parent)
		return;
	path_of(d->parent, out);
	if (out->len)
		strbuf_addc(out, '/');
	strbuf_add(out, d->name, d->name_len);
}

/* The directory behind the link at `d`, or NULL when it leads to none. */
static struct tree_dentry *follow(struct tree *t, struct tree_dentry *d, unsigned *links,
				  size_t layer)
{
	struct walk w = { .tree = t, .at = d, .links = *links };
	struct tree_dentry *there = NULL;

	path_of(d, &w.path);
	walk_link(&w, symlink_of(d->node), 0);
	walk_on(&w);
	*links = w.links;
	if (may_be_directory(&w))
		there = make_all(t, strbuf_slice(&w.path), layer);
	walk_release(&w);
	return there;
}

/*
 * The directory that `path` leads to, made where it is missing. What stands in the way and is
 * neither directory nor a link to one gives way. *links counts the links followed.
 */
static struct tree_dentry *enter(struct tree *t, struct slice path, size_t layer, unsigned *links)
{
	struct tree_dentry *at = root_of(t);
	struct slice name;

	while (path.len && slice_cut(&path, '/', &name)) {
		struct tree_dentry *next, *there = NULL;

		if (!name.len || slice_is(name, ".") || slice_is(name, ".."))
			continue;
		next = make(t, at, name, NULL, layer);
		if (symlink_of(next->node))
			there = follow(t, next, links, layer);
		if (!there && next->node && next->node->entry.type != TAR_DIR)
			kill_node(next, TREE_OVERWRITTEN, layer);
		at = there ? there : next;
	}
	return at;
}

/* Splits "a/b" into "a" and "b", "b" into "" and "b". */
static void split(const char *path, struct slice *parent, struct slice *name)
{
	const char *slash = strrchr(path, '/');

	*parent = slash ? slice_of(path, (size_t)(slash - path)) : slice_of("", 0);
	*name = slice_str(slash ? slash + 1 : path);
}

/* What stands at `path`, links on the way followed, the last component not. */
static struct tree_dentry *locate(const struct tree *t, const char *path)
{
	struct walk w = { .tree = t };
	struct tree_dentry *found = NULL;
	struct slice parent, name;

	split(path, &parent, &name);
	walk_path(&w, parent);
	if (!w.missing && !w.blocked && !w.loop && is_directory(w.at))
		found = name.len ? find(t, w.at, name) : w.at;
	walk_release(&w);
	return found && found->linked ? found : NULL;
}

static struct tree_node *hard_link_target(const struct tree *t, const char *link)
{
	struct tree_dentry *d = locate(t, link);
	struct tree_node *node = d ? d->node : NULL;

	if (node && node->entry.type == TAR_HARDLINK)
		node = node->target;
	return node && node->entry.type != TAR_DIR ? node : NULL;
}

static void apply_whiteout(struct tree *t, size_t layer, struct slice parent, const char *name)
{
	cleanup_free char *path = NULL;
	struct tree_dentry *d;
	bool opaque = str_equal(name, ".wh..wh..opq");

	if (!opaque && (str_starts(name, ".wh..wh.") || str_equal(name, ".wh.") ||
			str_equal(name, ".wh..") || str_equal(name, ".wh...")))
		return;
	path = xasprintf("%.*s/%s", (int)parent.len, (const char *)parent.data,
			 opaque ? "." : name + strlen(".wh."));
	if (opaque) {
		struct walk w = { .tree = t };

		walk_path(&w, parent);
		d = w.missing || w.blocked || w.loop ? NULL : w.at;
		walk_release(&w);
	} else {
		d = locate(t, path);
	}
	if (d && (opaque || d->parent))
		clear_lower(d, !opaque, opaque ? TREE_OPAQUE : TREE_DELETED, layer);
}

static void copy_entry(struct arena *arena, const struct tar_entry *from, struct tar_entry *to)
{
	struct tar_xattr *xattrs = NULL;

	*to = *from;
	to->link = from->link && *from->link ? arena_strdup(arena, from->link) : "";
	if (from->xattr_count)
		xattrs = arena_array(arena, from->xattr_count, sizeof(*xattrs));
	for (size_t i = 0; i < from->xattr_count; i++) {
		const struct tar_xattr *x = &from->xattrs[i];

		xattrs[i].name = arena_strdup(arena, x->name);
		xattrs[i].value = (const uint8_t *)arena_slice(arena, slice_of(x->value, x->len));
		xattrs[i].len = x->len;
	}
	to->xattrs = xattrs;
}

/* Make room for `entry` at `d`. */
static void give_way(struct tree_dentry *d, enum tar_type type, size_t layer)
{
	if (type != TAR_DIR)
		kill_below(d, layer);
	kill_node(d, TREE_OVERWRITTEN, layer);
}

/* The path of `name` in `dir`, which lives as long as the tree. */
static const char *path_in(struct tree *t, const struct tree_dentry *dir, struct slice name)
{
	cleanup_strbuf struct strbuf path = { 0 };

	path_of(dir, &path);
	if (path.len && name.len)
		strbuf_addc(&path, '/');
	strbuf_add(&path, name.data, name.len);
	return arena_slice(&t->arena, strbuf_slice(&path));
}

struct tree_node *tree_add(struct tree *t, size_t layer, const struct tar_entry *entry)
{
	struct slice parent, name;
	struct tree_dentry *dir, *d;
	struct tree_node *node, *target = NULL;
	const char *path;
	unsigned links = 0;

	free(t->sorted);
	t->sorted = NULL;
	split(str_equal(entry->path, ".") ? "" : entry->path, &parent, &name);
	if (slice_starts(name, ".wh.")) {
		apply_whiteout(t, layer, parent, (const char *)name.data);
		return NULL;
	}
	if (entry->type == TAR_HARDLINK)
		target = hard_link_target(t, entry->link);
	dir = enter(t, parent, layer, &links);
	path = path_in(t, dir, name);
	d = name.len ? make(t, dir, name, path + strlen(path) - name.len, layer) : dir;
	give_way(d, entry->type, layer);
	node = arena_alloc(&t->arena, sizeof(*node));
	copy_entry(&t->arena, entry, &node->entry);
	node->entry.path = path;
	if (links)
		node->written = arena_strdup(&t->arena, entry->path);
	node->layer = layer;
	node->target = target;
	if (target)
		target->links++;
	d->node = node;
	link_up(d);
	vec_push(&t->all, node);
	return node;
}

struct tree_node *tree_lookup(const struct tree *t, const char *path)
{
	const struct tree_dentry *d = t->root;
	struct slice rest = slice_str(path), name;

	while (d && rest.len && slice_cut(&rest, '/', &name))
		d = find(t, d, name);
	return d ? d->node : NULL;
}

struct tree_node *tree_resolve(const struct tree *t, const char *path, struct arena *arena,
			       const char **out_path)
{
	struct walk w = { .tree = t };
	struct tree_node *node = NULL;

	walk_path(&w, slice_str(path));
	if (!w.loop && !w.blocked && !w.missing && w.at)
		node = w.at->node;
	if (out_path)
		*out_path = w.loop ? NULL : arena_slice(arena, strbuf_slice(&w.path));
	walk_release(&w);
	return node;
}

bool tree_is_dir(const struct tree *t, const char *path)
{
	struct walk w = { .tree = t };
	bool is;

	walk_path(&w, slice_str(path));
	is = !w.loop && !w.blocked && !w.missing && (!w.at || is_directory(w.at));
	walk_release(&w);
	return is;
}

static int by_path(const void *a, const void *b)
{
	return strcmp((*(struct tree_node *const *)a)->entry.path,
		      (*(struct tree_node *const *)b)->entry.path);
}

struct tree_node **tree_sorted(struct tree *t, size_t *count)
{
	if (!t->sorted) {
		t->sorted = xcalloc(t->all.len + 1, sizeof(struct tree_node *));
		t->sorted_count = 0;
		for (size_t i = 0; i < t->all.len; i++) {
			if (t->all.items[i]->fate == TREE_EFFECTIVE)
				t->sorted[t->sorted_count++] = t->all.items[i];
		}
		qsort(t->sorted, t->sorted_count, sizeof(struct tree_node *), by_path);
	}
	*count = t->sorted_count;
	return t->sorted;
}

void tree_list(struct tree *t, const char *dir, struct tree_nodes *out)
{
	struct walk w = { .tree = t };
	size_t before = out->len;

	walk_path(&w, slice_str(dir));
	if (!w.loop && !w.blocked && !w.missing && is_directory(w.at)) {
		for (struct tree_dentry *d = w.at->children; d; d = d->next) {
			if (d->node)
				vec_push(out, d->node);
		}
	}
	walk_release(&w);
	if (out->len - before > 1)
		qsort(out->items + before, out->len - before, sizeof(*out->items), by_path);
}
