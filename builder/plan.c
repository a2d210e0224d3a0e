#include "builder/plan.h"

enum class { CLASS_CUDA, CLASS_PYTHON, CLASS_OS, CLASS_APPLICATION, CLASS_METADATA, CLASS_COUNT };

static const char *const class_titles[CLASS_COUNT] = { "cuda", "python", "os", "application",
						       "metadata" };

enum {
	SOLO_BYTES = 96 * 1024 * 1024,
	SOLO_MAX = 40, /* layers of one component, so that the image stays below 48 */
};

/* The components that share a layer. */
struct group {
	const char *title;
	enum class class;
	bool solo;
	uint64_t bytes;
	struct {
		size_t *items; /* indexes of parts */
		size_t len, cap;
	} parts;
};

struct groups {
	struct group *items;
	size_t len, cap;
};

static void groups_release(struct groups *g)
{
	for (size_t i = 0; i < g->len; i++)
		vec_release(&g->items[i].parts);
	vec_release(g);
}

void plan_release(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->layers.len; i++)
		vec_release(&plan->layers.items[i].entries);
	vec_release(&plan->layers);
	arena_release(&plan->arena);
}

static enum class classify(const struct component *c) {
	switch (c->kind){
		case COMPONENT_DEB : case COMPONENT_RPM : return c->toolkit ? CLASS_CUDA : CLASS_OS;
		case COMPONENT_WHEEL : return c->toolkit || str_starts(c->name, "nvidia-")
			? CLASS_CUDA
			: CLASS_PYTHON;
		case COMPONENT_REDIST : return CLASS_CUDA;
		case COMPONENT_TREE : case COMPONENT_STAGE : return CLASS_APPLICATION;
		case COMPONENT_FINISH : if (str_equal(c->name, PLAN_FILESYSTEM)) return CLASS_OS;
		return str_equal(c->name, PLAN_CUDA) ? CLASS_CUDA : CLASS_METADATA;
	}
return CLASS_METADATA;
}

static uint64_t part_bytes(const struct rootfs_part *part)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < part->nodes.len; i++) {
		const struct rootfs_node *n = part->nodes.items[i];

		if (n && n->owner == part->component && n->index == i && n->tar.type == TAR_FILE)
			sum += n->tar.size;
	}
	return sum;
}

static struct group *group_of(struct groups *groups, const char *title, enum class class)
{
	struct group *g;

	for (size_t i = 0; i < groups->len; i++) {
		if (!groups->items[i].solo && str_equal(groups->items[i].title, title))
			return &groups->items[i];
	}
	g = vec_add(groups);
	g->title = title;
	g->class = class;
	return g;
}

static void group_add(struct group *g, size_t part, uint64_t bytes)
{
	vec_push(&g->parts, part);
	g->bytes += bytes;
}

/* Class first, then solo layers by size, the shared layer of a class last. */
static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->solo != y->solo)
		return x->solo ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->title, y->title);
}

static void group_by_component(const struct rootfs *r, struct arena *arena, struct groups *groups)
{
	size_t solos = 0;

	for (size_t i = 0; i < r->parts.len; i++) {
		const struct component *c = r->parts.items[i].component;
		uint64_t bytes = part_bytes(&r->parts.items[i]);
		enum class class = classify(c);
		bool solo = bytes >= SOLO_BYTES && solos < SOLO_MAX && c->kind != COMPONENT_FINISH;

		if (solo) {
			struct group *g = vec_add(groups);

			g->title = arena_printf(arena, "%s%s%s", c->name, *c->version ? " " : "",
						c->version);
			g->class = class;
			g->solo = true;
			group_add(g, i, bytes);
			solos++;
		} else {
			group_add(group_of(groups, class_titles[class], class), i, bytes);
		}
	}
	vec_sort(groups, compare_groups);
}

static void group_by_stage(const struct rootfs *r, struct groups *groups)
{
	for (size_t i = 0; i < r->parts.len; i++) {
		const struct component *c = r->parts.items[i].component;
		bool copied = c->kind == COMPONENT_STAGE && c->stage;

		group_add(group_of(groups, copied ? c->stage : "image",
				   copied ? CLASS_APPLICATION : CLASS_OS),
			  i, part_bytes(&r->parts.items[i]));
	}
	vec_sort(groups, compare_groups);
}

static void group_all(const struct rootfs *r, struct groups *groups)
{
	for (size_t i = 0; i < r->parts.len; i++)
		group_add(group_of(groups, "image", CLASS_OS), i, part_bytes(&r->parts.items[i]));
}

/* What making the layers goes on. */
struct maker {
	struct rootfs *rootfs;
	struct plan *plan;
	bool starts;         /* the next file is the first of its component */
	struct map set_dirs; /* path → tar_entry of the directory as the last layer left it */
};

/* What settles the bytes of a file: its digest when known, else whence it comes. */
static const struct digest *identity(struct maker *m, const struct component *c,
				     const struct component_entry *e)
{
	cleanup_digest struct digest_state state = { 0 };
	struct digest *made;

	if (e->content.has_digest)
		return &e->content.digest;
	made = arena_alloc(&m->plan->arena, sizeof(*made));
	if (e->content.kind == CONTENT_MEMORY) {
		*made = digest_of(e->content.memory);
		return made;
	}
	digest_init(&state, DIGEST_SHA256);
	digest_update(&state, c->key.bytes, digest_size(c->key.algorithm));
	layer_key_text(&state, e->tar.path);
	*made = digest_finish(&state);
	return made;
}

/* A copy of `tar` that lives as long as the plan. */
static struct tar_entry *copy_tar(struct maker *m, const struct tar_entry *tar)
{
	struct tar_entry *copy = arena_alloc(&m->plan->arena, sizeof(*copy));

	*copy = *tar;
	return copy;
}

static void push_file(struct maker *m, struct layer_entries *out, const struct tar_entry *tar,
		      const struct component *c, const struct component_entry *e)
{
	struct layer_entry *l = vec_add(out);

	l->tar = tar;
	l->content = &e->content;
	l->starts = m->starts;
	m->starts = false;
	if (tar->type == TAR_FILE)
		l->identity = identity(m, c, e);
}

/* The entry of a component that a hard link of it names, links of links followed. */
static const struct component_entry *linked(const struct component *c,
					    const struct component_entry *e)
{
	for (size_t hops = 0; e && e->tar.type == TAR_HARDLINK; hops++) {
		const struct component_entry *next = NULL;

		for (size_t i = 0; i < c->entries.len && hops < 16; i++) {
			if (str_equal(c->entries.items[i].tar.path, e->tar.link) &&
			    &c->entries.items[i] != e)
				next = &c->entries.items[i];
		}
		e = next;
	}
	return e && e->tar.type == TAR_FILE ? e : NULL;
}

static int compare_nodes(const void *a, const void *b)
{
	const struct rootfs_node *const *x = a, *const *y = b;

	return rootfs_compare((*x)->tar.path, (*y)->tar.path);
}

/* The links to `file`, right after it. `nodes` is sorted. */
static void push_links(struct maker *m, struct layer_entries *out, const struct rootfs_nodes *links,
		       const struct rootfs_node *file)
{
	for (size_t i = 0; i < links->len; i++) {
		struct rootfs_node *n = links->items[i];

		if (rootfs_file(m->rootfs, n) == file) {
			struct tar_entry *tar = copy_tar(m, &n->tar);

			tar->link = file->tar.path;
			tar->size = 0;
			((struct layer_entry *)vec_add(out))->tar = tar;
		}
	}
}

/* A hard link whose file is not in this component's keeping becomes a file of its own. */
static int push_copy(struct maker *m, struct layer_entries *out, const struct component *c,
		     const struct rootfs_node *n, struct error *err)
{
	const struct component_entry *e = linked(c, rootfs_entry(n));
	struct tar_entry *tar;

	if (!e)
		return error_set(err, ERROR_FORMAT,
				 "%s: /%s is a hard link to \"%s\", which is not in it", c->name,
				 n->tar.path, n->tar.link);
	tar = copy_tar(m, &n->tar);
	tar->type = TAR_FILE;
	tar->link = "";
	tar->size = e->tar.size;
	push_file(m, out, tar, c, e);
	return 0;
}

static int push_part(struct maker *m, const struct rootfs_part *part, struct layer_entries *out,
		     struct error *err)
{
	const struct component *c = part->component;
	struct rootfs_nodes nodes = { 0 }, links = { 0 };
	int rc = 0;

	for (size_t i = 0; i < part->nodes.len; i++) {
		struct rootfs_node *n = part->nodes.items[i];
		struct rootfs_node *file;

		if (!n || n->owner != c || n->index != i || n->tar.type == TAR_DIR)
			continue;
		file = rootfs_file(m->rootfs, n);
		if (n->tar.type == TAR_HARDLINK && file && file->owner == c &&
		    file->tar.type == TAR_FILE)
			vec_push(&links, n);
		else
			vec_push(&nodes, n);
	}
	vec_sort(&nodes, compare_nodes);
	vec_sort(&links, compare_nodes);
	m->starts = true;
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		const struct rootfs_node *n = nodes.items[i];

		if (n->tar.type == TAR_HARDLINK) {
			rc = push_copy(m, out, c, n, err);
			continue;
		}
		push_file(m, out, &n->tar, c, rootfs_entry(n));
		if (links.len && n->tar.type == TAR_FILE)
			push_links(m, out, &links, n);
	}
	vec_release(&nodes);
	vec_release(&links);
	return rc;
}

static bool in_group(const struct maker *m, const struct group *g, const struct component *owner)
{
	for (size_t i = 0; i < g->parts.len; i++) {
		if (m->rootfs->parts.items[g->parts.items[i]].component == owner)
			return true;
	}
	return false;
}

static void need_dir(struct maker *m, const struct group *g, struct map *dirs, const char *path)
{
	struct rootfs_node *n = rootfs_lookup(m->rootfs, path);
	struct tar_entry *tar;

	if (map_has(dirs, path))
		return;
	assert(n && n->tar.type == TAR_DIR);
	tar = arena_alloc(&m->plan->arena, sizeof(*tar));
	if (n->owner && in_group(m, g, n->owner))
		*tar = n->tar;
	else
		rootfs_default_dir(n->tar.path, tar);
	map_put(dirs, path, tar);
}

static void need_parents(struct maker *m, const struct group *g, struct map *dirs, const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash) {
		cleanup_free char *dir = xstrndup(path, (size_t)(slash - path));

		if (map_has(dirs, dir)) /* then its parents are there too */
			return;
		need_dir(m, g, dirs, dir);
		slash = memrchr(path, '/', (size_t)(slash - path));
	}
}

static int compare_entries(const void *a, const void *b)
{
	const struct layer_entry *x = a, *y = b;

	return rootfs_compare(x->tar->path, y->tar->path);
}

/* The directories, then the entries [from, to) of `all`. */
static void fill(struct maker *m, struct map *dirs, const struct layer_entries *all, size_t from,
		 size_t to, struct layer_entries *out)
{
	vec_reserve(out, dirs->len + (to - from));
	for (size_t i = 0; i < dirs->len; i++) {
		struct layer_entry *l = vec_add(out);

		l->tar = dirs->entries[i].value;
		map_put(&m->set_dirs, l->tar->path, dirs->entries[i].value);
	}
	vec_sort(out, compare_entries);
	for (size_t i = from; i < to; i++)
		vec_push(out, all->items[i]);
}

static bool same_dir(const struct tar_entry *a, const struct tar_entry *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       a->xattr_count == b->xattr_count;
}

/* Directories that no layer has yet as the tree wants them. */
static void set_dirs_right(struct maker *m, struct map *dirs)
{
	struct rootfs_nodes nodes = { 0 };

	rootfs_sorted(m->rootfs, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		struct rootfs_node *n = nodes.items[i];
		const struct tar_entry *set, *here;

		if (n->tar.type != TAR_DIR)
			continue;
		here = map_get(dirs, n->tar.path);
		set = here ? here : map_get(&m->set_dirs, n->tar.path);
		if (!set || !same_dir(set, &n->tar))
			map_put(dirs, n->tar.path, &n->tar);
	}
	vec_release(&nodes);
	for (size_t i = 0, len = dirs->len; i < len; i++) {
		const char *path = dirs->entries[i].key;

		for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
			cleanup_free char *dir = xstrndup(path, (size_t)(s - path));
			struct rootfs_node *n = rootfs_lookup(m->rootfs, dir);

			if (!map_has(dirs, dir))
				map_put(dirs, dir, &n->tar);
		}
	}
}

static const char *component_names(struct maker *m, const struct group *g)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (size_t i = 0; i < g->parts.len; i++)
		strbuf_addf(&b, "%s%s", i ? " " : "",
			    m->rootfs->parts.items[g->parts.items[i]].component->name);
	return arena_strdup(&m->plan->arena, strbuf_text(&b));
}

/* Entries [from, to) of `all` as a layer; the directories they need go first. */
static void cut_layer(struct maker *m, const struct group *g, const struct layer_entries *all,
		      size_t from, size_t to, size_t number, bool last)
{
	struct plan_layer *l = vec_add(&m->plan->layers);
	cleanup_map struct map dirs = { 0 };

	l->title = number ? arena_printf(&m->plan->arena, "%s (%zu)", g->title, number + 1)
			  : arena_strdup(&m->plan->arena, g->title);
	l->components = component_names(m, g);
	for (size_t i = from; i < to; i++) {
		l->bytes += all->items[i].tar->size;
		need_parents(m, g, &dirs, all->items[i].tar->path);
	}
	for (size_t p = 0; p < g->parts.len && number == 0; p++) {
		const struct rootfs_part *part = &m->rootfs->parts.items[g->parts.items[p]];

		for (size_t i = 0; i < part->nodes.len; i++) {
			const struct rootfs_node *n = part->nodes.items[i];

			if (!n || n->tar.type != TAR_DIR || n->owner != part->component)
				continue;
			need_dir(m, g, &dirs, n->tar.path);
			need_parents(m, g, &dirs, n->tar.path);
		}
	}
	if (last)
		set_dirs_right(m, &dirs);
	fill(m, &dirs, all, from, to, &l->entries);
}

static int make_layers(struct maker *m, const struct group *g, uint64_t max, bool last_group,
		       struct error *err)
{
	struct layer_entries all = { 0 };
	uint64_t bytes = 0;
	size_t from = 0, number = 0;
	int rc = 0;

	for (size_t i = 0; i < g->parts.len && rc == 0; i++)
		rc = push_part(m, &m->rootfs->parts.items[g->parts.items[i]], &all, err);
	for (size_t i = 0; i < all.len && rc == 0; i++) {
		const struct tar_entry *t = all.items[i].tar;

		/* a link stays in the layer of its file */
		if (bytes && bytes + t->size > max && t->type != TAR_HARDLINK) {
			cut_layer(m, g, &all, from, i, number++, false);
			from = i;
			bytes = 0;
		}
		bytes += t->size;
	}
	if (rc == 0)
		cut_layer(m, g, &all, from, all.len, number, last_group);
	vec_release(&all);
	return rc;
}

/* No path twice in a layer; none but directories in two. What is violated is our own mistake. */
static void assert_disjoint(struct rootfs *r, const struct plan *plan)
{
	for (size_t i = 0; i < plan->layers.len; i++) {
		const struct layer_entries *e = &plan->layers.items[i].entries;

		for (size_t k = 0; k < e->len; k++) {
			struct rootfs_node *n = rootfs_lookup(r, e->items[k].tar->path);

			assert(n && n->layer != i + 1);
			assert(!n->layer || e->items[k].tar->type == TAR_DIR);
			n->layer = (uint32_t)i + 1;
		}
	}
}

int plan_make(struct rootfs *r, const struct stack_layers *options, struct plan *out,
	      struct error *err)
{
	cleanup(groups_release) struct groups groups = { 0 };
	struct maker m = { .rootfs = r, .plan = out };
	int rc = 0;

	switch (options->split) {
	case SPLIT_COMPONENT:
		group_by_component(r, &out->arena, &groups);
		break;
	case SPLIT_STAGE:
		group_by_stage(r, &groups);
		break;
	case SPLIT_SINGLE:
		group_all(r, &groups);
		break;
	}
	for (size_t i = 0; i < groups.len && rc == 0; i++)
		rc = make_layers(&m, &groups.items[i], options->max_size, i + 1 == groups.len, err);
	map_release(&m.set_dirs);
	if (rc < 0)
		return -1;
	assert_disjoint(r, out);
	return 0;
}
