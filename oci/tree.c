#include "oci/tree.h"

#include "base/strbuf.h"
#include "base/vec.h"

enum { LINKS_MAX = 40 };

/* Nodes and names lie in blocks, and are known by number: 0 is none, 1 the first. */
enum { BLOCK_ITEMS = 512 };

/*
 * A name in a directory. It is in its parent's list of children exactly while it stands for
 * something: it has an effective node or children. So lists hold only living names, every kill
 * takes one out of them, and no operation looks at what is long gone.
 */
struct tree_dentry {
	const char *name;
	uint32_t parent, children, next, prev;
	uint32_t node; /* effective; 0: an implied directory, or nothing */
	/* Layer + 1 up to which nothing of lower layers is left here, and below here. */
	uint32_t cleared, cleared_below;
	uint32_t name_len : 31;
	uint32_t linked : 1;
};

enum { ROOT = 1 };

static struct tree_dentry *dentry_at(const struct tree *t, uint32_t id)
{
	struct tree_dentry *block = t->dentry_blocks.items[(id - 1) / BLOCK_ITEMS];

	return &block[(id - 1) % BLOCK_ITEMS];
}

struct tree_node *tree_node_at(const struct tree *t, size_t i)
{
	struct tree_node *block = t->node_blocks.items[i / BLOCK_ITEMS];

	return &block[i % BLOCK_ITEMS];
}

/* The effective node of a name, or NULL. */
static struct tree_node *node_of(const struct tree *t, const struct tree_dentry *d)
{
	return d->node ? tree_node_at(t, d->node - 1) : NULL;
}

/* The number of a dentry more; its bytes are zero. */
static uint32_t new_dentry(struct tree *t)
{
	if (t->dentry_count == t->dentry_blocks.len * BLOCK_ITEMS)
		vec_push(&t->dentry_blocks, xcalloc(BLOCK_ITEMS, sizeof(struct tree_dentry)));
	assert(t->dentry_count < UINT32_MAX / 2);
	return (uint32_t)++t->dentry_count;
}

static struct tree_node *new_node(struct tree *t)
{
	if (t->count == t->node_blocks.len * BLOCK_ITEMS)
		vec_push(&t->node_blocks, xcalloc(BLOCK_ITEMS, sizeof(struct tree_node)));
	assert(t->count < UINT32_MAX);
	return tree_node_at(t, t->count++);
}

static uint64_t hash_of(uint32_t parent, struct slice name)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ parent; /* FNV-1a */

	for (size_t i = 0; i < name.len; i++)
		h = (h ^ name.data[i]) * UINT64_C(1099511628211);
	return h ^ h >> 29;
}

static uint32_t *slot_of(const struct tree *t, uint32_t parent, struct slice name)
{
	size_t i = (size_t)hash_of(parent, name) & (t->slot_count - 1);

	while (t->slots[i]) {
		const struct tree_dentry *d = dentry_at(t, t->slots[i]);

		if (d->parent == parent && slice_equal(slice_of(d->name, d->name_len), name))
			break;
		i = (i + 1) & (t->slot_count - 1);
	}
	return &t->slots[i];
}

static void grow(struct tree *t)
{
	t->slot_count = t->slot_count ? t->slot_count * 2 : 256;
	free(t->slots);
	t->slots = xcalloc(t->slot_count, sizeof(*t->slots));
	for (uint32_t id = ROOT + 1; id <= t->dentry_count; id++) {
		const struct tree_dentry *d = dentry_at(t, id);

		*slot_of(t, d->parent, slice_of(d->name, d->name_len)) = id;
	}
}

static uint32_t find(const struct tree *t, uint32_t parent, struct slice name)
{
	return t->slot_count && parent ? *slot_of(t, parent, name) : 0;
}

/* The name in `parent`, made when missing; `layer` is the one that needs it. */
static uint32_t make(struct tree *t, uint32_t parent, struct slice name, size_t layer)
{
	uint32_t id = find(t, parent, name);
	struct tree_dentry *d;

	if (id)
		return id;
	if ((t->dentry_count + 1) * 4 > t->slot_count * 3)
		grow(t);
	id = new_dentry(t);
	d = dentry_at(t, id);
	d->name = arena_slice(&t->arena, name);
	d->name_len = (uint32_t)name.len & INT32_MAX;
	d->cleared = d->cleared_below = (uint32_t)layer + 1;
	*slot_of(t, parent, name) = id;
	d->parent = parent;
	return id;
}

static uint32_t root_of(struct tree *t)
{
	if (!t->dentry_count) {
		struct tree_dentry *root = dentry_at(t, new_dentry(t));

		root->name = "";
		root->linked = true;
	}
	return ROOT;
}

/* ROOT, or 0 before there is anything. */
static uint32_t root_now(const struct tree *t)
{
	return t->dentry_count ? ROOT : 0;
}

void tree_release(struct tree *t)
{
	if (!t)
		return;
	free(t->slots);
	free(t->sorted);
	for (size_t i = 0; i < t->node_blocks.len; i++)
		free(t->node_blocks.items[i]);
	for (size_t i = 0; i < t->dentry_blocks.len; i++)
		free(t->dentry_blocks.items[i]);
	vec_release(&t->node_blocks);
	vec_release(&t->dentry_blocks);
	vec_release(&t->detours);
	arena_release(&t->arena);
	*t = (struct tree){ 0 };
}

static void link_up(struct tree *t, uint32_t id)
{
	struct tree_dentry *d = dentry_at(t, id), *parent;

	for (; !d->linked; id = d->parent, d = parent) {
		parent = dentry_at(t, d->parent);
		d->linked = true;
		d->prev = 0;
		d->next = parent->children;
		if (d->next)
			dentry_at(t, d->next)->prev = id;
		parent->children = id;
	}
}

/* Take `d`, and the directories that were implied by it alone, out of the lists. */
static void unlink_empty(struct tree *t, struct tree_dentry *d)
{
	while (d->parent && d->linked && !d->node && !d->children) {
		struct tree_dentry *parent = dentry_at(t, d->parent);

		d->linked = false;
		if (d->prev)
			dentry_at(t, d->prev)->next = d->next;
		else
			parent->children = d->next;
		if (d->next)
			dentry_at(t, d->next)->prev = d->prev;
		d = parent;
	}
}

static void kill_node(struct tree *t, struct tree_dentry *d, enum tree_fate fate, size_t layer)
{
	struct tree_node *node = node_of(t, d), *target = node ? tree_target(node) : NULL;

	if (!node)
		return;
	node->fate = (uint8_t)fate;
	node->fate_layer = (uint32_t)layer;
	if (target)
		target->links--;
	d->node = 0;
}

/* All below `d`, whatever its layer. */
static void kill_below(struct tree *t, struct tree_dentry *d, size_t layer)
{
	uint32_t next;

	for (uint32_t id = d->children; id; id = next) {
		struct tree_dentry *child = dentry_at(t, id);

		next = child->next;
		kill_below(t, child, layer);
		kill_node(t, child, TREE_OVERWRITTEN, layer);
		unlink_empty(t, child);
	}
}

/* A whiteout of `d` (`own`) or an opaque directory: lower layers' entries go, once per layer. */
static void clear_lower(struct tree *t, struct tree_dentry *d, bool own, enum tree_fate fate,
			size_t layer)
{
	uint32_t next;

	if (d->cleared_below <= layer) {
		d->cleared_below = (uint32_t)layer + 1;
		for (uint32_t id = d->children; id; id = next) {
			next = dentry_at(t, id)->next;
			clear_lower(t, dentry_at(t, id), true, fate, layer);
		}
	}
	if (own && d->cleared <= layer) {
		d->cleared = (uint32_t)layer + 1;
		if (d->node && node_of(t, d)->layer < layer)
			kill_node(t, d, fate, layer);
	}
	if (own)
		unlink_empty(t, d);
}

/* The symlink that a node is (also as a second name of one), or NULL. */
static const char *symlink_of(const struct tree_node *node)
{
	if (node && node->entry.type == TAR_HARDLINK)
		node = node->to.target;
	return node && node->entry.type == TAR_SYMLINK ? node->to.link : NULL;
}

static bool is_directory(const struct tree *t, const struct tree_dentry *d)
{
	return d->linked && (!d->node || node_of(t, d)->entry.type == TAR_DIR);
}

/*
 * A walk along a path. `at` is the last place on it that exists, `missing` how many names beyond it
 * the walk went; `path` is where it stands, in words and without links.
 */
struct walk {
	const struct tree *tree;
	uint32_t at; /* 0: in a tree that is empty */
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

/* The node where the walk stands, or stopped to find anything. */
static struct tree_node *walk_node(const struct walk *w)
{
	return w->at ? node_of(w->tree, dentry_at(w->tree, w->at)) : NULL;
}

static void walk_up(struct walk *w)
{
	const char *slash = w->path.len ? strrchr(w->path.data, '/') : NULL;

	if (w->path.len)
		strbuf_truncate(&w->path, slash ? (size_t)(slash - w->path.data) : 0);
	if (w->missing)
		w->missing--;
	else if (w->at && w->at != ROOT)
		w->at = dentry_at(w->tree, w->at)->parent;
}

static void walk_down(struct walk *w, struct slice name)
{
	uint32_t next = w->missing ? 0 : find(w->tree, w->at, name);

	if (!w->missing && w->at && !is_directory(w->tree, dentry_at(w->tree, w->at)))
		w->blocked = true;
	if (w->path.len)
		strbuf_addc(&w->path, '/');
	strbuf_add(&w->path, name.data, name.len);
	if (w->path.len > WALK_BYTES_MAX)
		w->loop = true;
	if (next && dentry_at(w->tree, next)->linked)
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
		w->at = root_now(w->tree);
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
			const char *link;

			walk_down(w, name);
			link = w->missing ? NULL : symlink_of(walk_node(w));
			if (link) {
				walk_link(w, link, from);
				from = 0;
			}
		}
	}
}

/* From the root along `path`. */
static void walk_path(struct walk *w, struct slice path)
{
	w->at = root_now(w->tree);
	if (path.len)
		strbuf_add(&w->rest, path.data, path.len);
	walk_on(w);
}

/* Walked to its end, and a directory is there, or nothing that would keep one from being made. */
static bool may_be_directory(const struct walk *w)
{
	return !w->loop && !w->blocked &&
	       (w->missing || !w->at || is_directory(w->tree, dentry_at(w->tree, w->at)));
}

/* The directory that the walk ended in is there, if only implied. */
static bool is_at_directory(const struct walk *w)
{
	return !w->missing && may_be_directory(w);
}

static uint32_t make_all(struct tree *t, struct slice path, size_t layer)
{
	uint32_t at = root_of(t);
	struct slice name;

	while (path.len && slice_cut(&path, '/', &name))
		at = make(t, at, name, layer);
	return at;
}

/* The path of `d`, from its names, added to `out`. */
static void path_of(const struct tree *t, const struct tree_dentry *d, struct strbuf *out)
{
	size_t start = out->len, len = 0, end;

	for (const struct tree_dentry *at = d; at->parent; at = dentry_at(t, at->parent))
		len += at->name_len + (at == d ? 0 : 1);
	strbuf_add_zeros(out, len);
	end = start + len;
	for (const struct tree_dentry *at = d; at->parent; at = dentry_at(t, at->parent)) {
		if (at != d)
			out->data[--end] = '/';
		end -= at->name_len;
		memcpy(out->data + end, at->name, at->name_len);
	}
}

/* The directory behind the link at `id`, or 0 when it leads to none. */
static uint32_t follow(struct tree *t, uint32_t id, unsigned *links, size_t layer)
{
	struct walk w = { .tree = t, .at = id, .links = *links };
	uint32_t there = 0;

	path_of(t, dentry_at(t, id), &w.path);
	walk_link(&w, symlink_of(walk_node(&w)), 0);
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
static uint32_t enter(struct tree *t, struct slice path, size_t layer, unsigned *links)
{
	uint32_t at = root_of(t);
	struct slice name;

	while (path.len && slice_cut(&path, '/', &name)) {
		uint32_t next, there = 0;
		struct tree_node *node;

		if (!name.len || slice_is(name, ".") || slice_is(name, ".."))
			continue;
		next = make(t, at, name, layer);
		node = node_of(t, dentry_at(t, next));
		if (symlink_of(node))
			there = follow(t, next, links, layer);
		if (!there && node && node->entry.type != TAR_DIR)
			kill_node(t, dentry_at(t, next), TREE_OVERWRITTEN, layer);
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

/* What stands at `path`, links on the way followed, the last component not; 0: nothing. */
static uint32_t locate(const struct tree *t, const char *path)
{
	struct walk w = { .tree = t };
	struct slice parent, name;
	uint32_t found = 0;

	split(path, &parent, &name);
	walk_path(&w, parent);
	if (w.at && is_at_directory(&w))
		found = name.len ? find(t, w.at, name) : w.at;
	walk_release(&w);
	return found && dentry_at(t, found)->linked ? found : 0;
}

static struct tree_node *hard_link_target(const struct tree *t, const char *link)
{
	uint32_t id = locate(t, link);
	struct tree_node *node = id ? node_of(t, dentry_at(t, id)) : NULL;

	if (node && node->entry.type == TAR_HARDLINK)
		node = node->to.target;
	return node && node->entry.type != TAR_DIR ? node : NULL;
}

static void apply_whiteout(struct tree *t, size_t layer, struct slice parent, const char *name)
{
	cleanup_free char *path = NULL;
	uint32_t id;
	bool opaque = str_equal(name, ".wh..wh..opq");

	if (!opaque && (str_starts(name, ".wh..wh.") || str_equal(name, ".wh.") ||
			str_equal(name, ".wh..") || str_equal(name, ".wh...")))
		return;
	path = xasprintf("%.*s/%s", (int)parent.len, (const char *)parent.data,
			 opaque ? "." : name + strlen(".wh."));
	if (opaque) {
		struct walk w = { .tree = t };

		walk_path(&w, parent);
		id = w.missing || w.blocked || w.loop ? 0 : w.at;
		walk_release(&w);
	} else {
		id = locate(t, path);
	}
	if (id && (opaque || id != ROOT))
		clear_lower(t, dentry_at(t, id), !opaque, opaque ? TREE_OPAQUE : TREE_DELETED,
			    layer);
}

static void copy_entry(struct arena *arena, const struct tar_entry *from, struct tree_node *to)
{
	to->entry.size = from->size;
	to->entry.mtime = from->mtime;
	to->entry.uid = (uint32_t)MIN(from->uid, (uint64_t)UINT32_MAX);
	to->entry.gid = (uint32_t)MIN(from->gid, (uint64_t)UINT32_MAX);
	to->entry.mode = (uint16_t)(from->mode & 07777);
	to->entry.type = (uint8_t)from->type;
	if (from->type == TAR_SYMLINK)
		to->to.link = from->link && *from->link ? arena_strdup(arena, from->link) : "";
}

/* Make room for `type` at `d`. */
static void give_way(struct tree *t, struct tree_dentry *d, enum tar_type type, size_t layer)
{
	if (type != TAR_DIR)
		kill_below(t, d, layer);
	kill_node(t, d, TREE_OVERWRITTEN, layer);
}

struct tree_node *tree_add(struct tree *t, size_t layer, const struct tar_entry *entry)
{
	struct slice parent, name;
	struct tree_node *node, *target = NULL;
	struct tree_dentry *d;
	unsigned links = 0;
	uint32_t id;

	free(t->sorted);
	t->sorted = NULL;
	split(str_equal(entry->path, ".") ? "" : entry->path, &parent, &name);
	if (slice_starts(name, ".wh.")) {
		apply_whiteout(t, layer, parent, (const char *)name.data);
		return NULL;
	}
	if (entry->type == TAR_HARDLINK)
		target = hard_link_target(t, entry->link);
	id = enter(t, parent, layer, &links);
	if (name.len)
		id = make(t, id, name, layer);
	d = dentry_at(t, id);
	give_way(t, d, entry->type, layer);
	node = new_node(t);
	copy_entry(&t->arena, entry, node);
	node->layer = (uint32_t)layer;
	node->dentry = id;
	if (links)
		vec_push(&t->detours,
			 ((struct tree_detour){ node, arena_strdup(&t->arena, entry->path) }));
	if (target) {
		node->to.target = target;
		target->links++;
	}
	d->node = (uint32_t)t->count;
	link_up(t, id);
	return node;
}

const char *tree_path(const struct tree *t, const struct tree_node *node, struct strbuf *buf)
{
	strbuf_truncate(buf, 0);
	path_of(t, dentry_at(t, node->dentry), buf);
	return strbuf_text(buf);
}

void tree_add_path(const struct tree *t, const struct tree_node *node, struct strbuf *buf)
{
	path_of(t, dentry_at(t, node->dentry), buf);
}

const char *tree_name(const struct tree *t, const struct tree_node *node)
{
	return dentry_at(t, node->dentry)->name;
}

const char *tree_link(const struct tree_node *node)
{
	return node->entry.type == TAR_SYMLINK ? node->to.link : "";
}

struct tree_node *tree_target(const struct tree_node *node)
{
	return node->entry.type == TAR_HARDLINK ? node->to.target : NULL;
}

struct tree_node *tree_lookup(const struct tree *t, const char *path)
{
	struct slice rest = slice_str(path), name;
	uint32_t id = root_now(t);

	while (id && rest.len && slice_cut(&rest, '/', &name))
		id = find(t, id, name);
	return id ? node_of(t, dentry_at(t, id)) : NULL;
}

struct tree_node *tree_resolve(const struct tree *t, const char *path, struct arena *arena,
			       const char **out_path)
{
	struct walk w = { .tree = t };
	struct tree_node *node = NULL;

	walk_path(&w, slice_str(path));
	if (!w.loop && !w.blocked && !w.missing)
		node = walk_node(&w);
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
	is = is_at_directory(&w);
	walk_release(&w);
	return is;
}

/*
 * What a directory holds, to be sorted: the number of a dentry, doubled, and 1 more where what is
 * below it is meant. Those stand as their name with a "/", so that the order is that of paths.
 */
struct tree_keys {
	uint32_t *items;
	size_t len, cap;
};

static int key_byte(const struct tree_dentry *d, uint32_t key, size_t i)
{
	if (i < d->name_len)
		return (unsigned char)d->name[i];
	return i == d->name_len && key & 1 ? '/' : -1;
}

static int by_key(const void *left, const void *right, void *user)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct tree_dentry *x = dentry_at(user, a / 2), *y = dentry_at(user, b / 2);
	size_t same = MIN(x->name_len, y->name_len);
	int order = memcmp(x->name, y->name, same);

	return order ? order : key_byte(x, a, same) - key_byte(y, b, same);
}

/* Collected first and sorted then, for a directory may hold a million names. */
static void add_below(struct tree *t, uint32_t dir, struct tree_keys *keys)
{
	size_t start = keys->len, end;

	for (uint32_t id = dentry_at(t, dir)->children; id;) {
		const struct tree_dentry *d = dentry_at(t, id);

		if (d->node)
			vec_push(keys, id * 2);
		if (d->children)
			vec_push(keys, id * 2 + 1);
		id = d->next;
	}
	end = keys->len;
	if (end - start > 1)
		qsort_r(keys->items + start, end - start, sizeof(*keys->items), by_key, t);
	for (size_t i = start; i < end; i++) {
		uint32_t key = keys->items[i];

		if (key & 1)
			add_below(t, key / 2, keys);
		else
			t->sorted[t->sorted_count++] = node_of(t, dentry_at(t, key / 2));
	}
	keys->len = start;
}

struct tree_node **tree_sorted(struct tree *t, size_t *count)
{
	struct tree_keys keys = { 0 };
	size_t effective = 0;

	if (!t->sorted) {
		for (size_t i = 0; i < t->count; i++)
			effective += tree_node_at(t, i)->fate == TREE_EFFECTIVE;
		t->sorted = xcalloc(effective + 1, sizeof(struct tree_node *));
		t->sorted_count = 0;
		if (t->dentry_count && dentry_at(t, ROOT)->node)
			t->sorted[t->sorted_count++] = node_of(t, dentry_at(t, ROOT));
		if (t->dentry_count)
			add_below(t, ROOT, &keys);
		assert(t->sorted_count == effective);
		vec_release(&keys);
	}
	*count = t->sorted_count;
	return t->sorted;
}

static int by_name(const void *a, const void *b, void *user)
{
	return strcmp(tree_name(user, *(struct tree_node *const *)a),
		      tree_name(user, *(struct tree_node *const *)b));
}

void tree_list(struct tree *t, const char *dir, struct tree_nodes *out)
{
	struct walk w = { .tree = t };
	size_t before = out->len;

	walk_path(&w, slice_str(dir));
	if (w.at && is_at_directory(&w)) {
		for (uint32_t id = dentry_at(t, w.at)->children; id; id = dentry_at(t, id)->next) {
			struct tree_node *node = node_of(t, dentry_at(t, id));

			if (node)
				vec_push(out, node);
		}
	}
	walk_release(&w);
	if (out->len - before > 1)
		qsort_r(out->items + before, out->len - before, sizeof(*out->items), by_name, t);
}
