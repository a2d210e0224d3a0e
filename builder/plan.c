#include "builder/plan.h"

#include "base/map.h"
#include "builder/plan_group.h"

void plan_release(struct plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->layers.len; i++)
		vec_release(&plan->layers.items[i].entries);
	vec_release(&plan->layers);
	arena_release(&plan->arena);
}

/* What making the layers goes on. */
struct maker {
	struct rootfs *rootfs;
	struct plan *plan;
	bool starts;         /* the next file is the first of its component */
	struct map set_dirs; /* path → tar_entry of the directory as the last layer left it */
};

/* What settles the bytes of a file: its digest when known, else whence it comes. */
static const uint8_t *identity(struct maker *m, const struct component *c,
			       const struct component_entry *e)
{
	cleanup_digest struct digest_state state = { 0 };
	struct digest made;

	if (e->content.has_digest)
		return e->content.sha256;
	if (e->content.kind == CONTENT_MEMORY) {
		made = digest_of(e->content.memory);
	} else {
		digest_init(&state, DIGEST_SHA256);
		digest_update(&state, c->key.bytes, digest_size(c->key.algorithm));
		layer_key_text(&state, e->tar.path);
		made = digest_finish(&state);
	}
	return memcpy(arena_alloc(&m->plan->arena, 32), made.bytes, 32);
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

	return rootfs_compare((*x)->tar->path, (*y)->tar->path);
}

/* The links to `file`, right after it. `nodes` is sorted. */
static void push_links(struct maker *m, struct layer_entries *out, const struct rootfs_nodes *links,
		       const struct rootfs_node *file)
{
	for (size_t i = 0; i < links->len; i++) {
		struct rootfs_node *n = links->items[i];

		if (rootfs_file(m->rootfs, n) == file) {
			struct tar_entry *tar = copy_tar(m, n->tar);

			tar->link = file->tar->path;
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
				 n->tar->path, n->tar->link);
	tar = copy_tar(m, n->tar);
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

		if (!n || n->owner != c || n->index != i || n->tar->type == TAR_DIR)
			continue;
		file = rootfs_file(m->rootfs, n);
		if (n->tar->type == TAR_HARDLINK && file && file->owner == c &&
		    file->tar->type == TAR_FILE)
			vec_push(&links, n);
		else
			vec_push(&nodes, n);
	}
	vec_sort(&nodes, compare_nodes);
	vec_sort(&links, compare_nodes);
	m->starts = true;
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		const struct rootfs_node *n = nodes.items[i];

		if (n->tar->type == TAR_HARDLINK) {
			rc = push_copy(m, out, c, n, err);
			continue;
		}
		push_file(m, out, n->tar, c, rootfs_entry(n));
		if (links.len && n->tar->type == TAR_FILE)
			push_links(m, out, &links, n);
	}
	vec_release(&nodes);
	vec_release(&links);
	return rc;
}

static bool in_group(const struct maker *m, const struct plan_group *g,
		     const struct component *owner)
{
	for (size_t i = 0; i < g->parts.len; i++) {
		if (m->rootfs->parts.items[g->parts.items[i]].component == owner)
			return true;
	}
	return false;
}

static void need_dir(struct maker *m, const struct plan_group *g, struct map *dirs,
		     const char *path)
{
	struct rootfs_node *n = rootfs_lookup(m->rootfs, path);
	struct tar_entry *tar;

	if (map_has(dirs, path))
		return;
	assert(n && n->tar->type == TAR_DIR);
	tar = arena_alloc(&m->plan->arena, sizeof(*tar));
	if (n->owner && in_group(m, g, n->owner))
		*tar = *n->tar;
	else
		rootfs_default_dir(n->tar->path, tar);
	map_put(dirs, path, tar);
}

static void need_parents(struct maker *m, const struct plan_group *g, struct map *dirs,
			 const char *path)
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

/* What was removed from the base image, hidden before anything else is put there. */
static void push_whiteouts(struct maker *m, struct layer_entries *out)
{
	static const struct content nothing = { .kind = CONTENT_MEMORY, .fd = -1 };
	struct digest empty = digest_of(nothing.memory);
	const uint8_t *identity = memcpy(arena_alloc(&m->plan->arena, 32), empty.bytes, 32);

	for (size_t i = 0; i < m->rootfs->removed.len; i++) {
		const char *path = m->rootfs->removed.items[i]->tar->path;
		const char *slash = strrchr(path, '/');
		size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
		struct tar_entry *tar = arena_alloc(&m->plan->arena, sizeof(*tar));

		if (rootfs_lookup(m->rootfs, path)) /* replaced after all */
			continue;
		*tar = (struct tar_entry){
			.type = TAR_FILE, .link = "", .mode = 0644, .mtime = FIXED_MTIME
		};
		tar->path = arena_printf(&m->plan->arena, "%.*s.wh.%s", (int)dir, path, path + dir);
		vec_push(out, ((struct layer_entry){
				      .tar = tar, .content = &nothing, .identity = identity }));
	}
}

/* The directories and whiteouts, then the entries [from, to) of `all`, which is used up if whole.
 */
static void fill(struct maker *m, struct map *dirs, struct layer_entries *all, size_t from,
		 size_t to, bool last, struct layer_entries *out)
{
	struct layer_entries head = { 0 };

	for (size_t i = 0; i < dirs->len; i++) {
		struct layer_entry *l = vec_add(&head);

		l->tar = dirs->entries[i].value;
		map_put(&m->set_dirs, l->tar->path, dirs->entries[i].value);
	}
	vec_sort(&head, compare_entries);
	if (last)
		push_whiteouts(m, &head);
	if (from == 0 && to == all->len) { /* there may be half a million: not twice */
		*out = *all;
		*all = (struct layer_entries){ 0 };
	} else {
		vec_reserve(out, head.len + (to - from));
		memcpy(out->items, all->items + from, (to - from) * sizeof(*out->items));
		out->len = to - from;
	}
	vec_reserve(out, head.len);
	if (out->len)
		memmove(out->items + head.len, out->items, out->len * sizeof(*out->items));
	if (head.len)
		memcpy(out->items, head.items, head.len * sizeof(*out->items));
	out->len += head.len;
	vec_release(&head);
}

static bool same_dir(const struct tar_entry *a, const struct tar_entry *b)
{
	return a->mode == b->mode && a->uid == b->uid && a->gid == b->gid &&
	       tar_extras(a)->xattr_count == tar_extras(b)->xattr_count;
}

/* Directories that no layer has yet as the tree wants them. */
static void set_dirs_right(struct maker *m, struct map *dirs)
{
	struct rootfs_nodes nodes = { 0 };

	for (size_t i = 0; i < m->rootfs->index.len; i++) {
		struct rootfs_node *n = m->rootfs->index.items[i];

		if (!n->removed && n->tar->type == TAR_DIR)
			vec_push(&nodes, n);
	}
	vec_sort(&nodes, compare_nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		struct rootfs_node *n = nodes.items[i];
		const struct tar_entry *set, *here;

		here = map_get(dirs, n->tar->path);
		set = here ? here : map_get(&m->set_dirs, n->tar->path);
		if (!set || !same_dir(set, n->tar))
			map_put(dirs, n->tar->path, (void *)n->tar);
	}
	vec_release(&nodes);
	for (size_t i = 0, len = dirs->len; i < len; i++) {
		const char *path = dirs->entries[i].key;

		for (const char *s = strchr(path, '/'); s; s = strchr(s + 1, '/')) {
			cleanup_free char *dir = xstrndup(path, (size_t)(s - path));
			struct rootfs_node *n = rootfs_lookup(m->rootfs, dir);

			if (!map_has(dirs, dir))
				map_put(dirs, dir, (void *)n->tar);
		}
	}
}

static const char *component_names(struct maker *m, const struct plan_group *g)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (size_t i = 0; i < g->parts.len; i++)
		strbuf_addf(&b, "%s%s", i ? " " : "",
			    m->rootfs->parts.items[g->parts.items[i]].component->name);
	return arena_strdup(&m->plan->arena, strbuf_text(&b));
}

/* One layer being cut out of a group. */
struct cut {
	const struct plan_group *group;
	struct layer_entries *all;
	size_t from, to;
	size_t number;      /* of the group's layers, from 0 */
	bool owned_folders; /* all folders of the components go here, needed or not */
	bool last;          /* of the image */
	const char *reason;
};

static void need_owned(struct maker *m, const struct plan_group *g, struct map *dirs)
{
	for (size_t p = 0; p < g->parts.len; p++) {
		const struct rootfs_part *part = &m->rootfs->parts.items[g->parts.items[p]];

		for (size_t i = 0; i < part->nodes.len; i++) {
			const struct rootfs_node *n = part->nodes.items[i];

			if (!n || n->tar->type != TAR_DIR || n->owner != part->component)
				continue;
			need_dir(m, g, dirs, n->tar->path);
			need_parents(m, g, dirs, n->tar->path);
		}
	}
}

/* The entries as a layer; the directories they need go first. */
static void cut_layer(struct maker *m, const struct cut *c)
{
	const struct plan_group *g = c->group;
	struct plan_layer *l = vec_add(&m->plan->layers);
	cleanup_map struct map dirs = { 0 };

	l->title = c->number ? arena_printf(&m->plan->arena, "%s (%zu)", g->title, c->number + 1)
			     : arena_strdup(&m->plan->arena, g->title);
	l->components = component_names(m, g);
	l->class = plan_class_name(g->class);
	l->reason = c->reason;
	for (size_t i = c->from; i < c->to; i++) {
		l->bytes += c->all->items[i].tar->size;
		need_parents(m, g, &dirs, c->all->items[i].tar->path);
	}
	if (c->owned_folders)
		need_owned(m, g, &dirs);
	if (c->last) {
		for (size_t i = 0; i < m->rootfs->removed.len; i++)
			need_parents(m, g, &dirs, m->rootfs->removed.items[i]->tar->path);
		set_dirs_right(m, &dirs);
	}
	fill(m, &dirs, c->all, c->from, c->to, c->last, &l->entries);
}

/* `all` in layers; *number counts those of the group. */
static void cut_layers(struct maker *m, struct cut c, const struct plan_cutter *cutter,
		       bool last_group, size_t *number)
{
	bool owned = c.owned_folders;
	uint64_t bytes = 0;

	for (size_t i = 0; i < c.all->len; i++) {
		const struct tar_entry *t = c.all->items[i].tar;

		if (plan_cuts(cutter, bytes, t)) {
			c.to = i;
			c.number = (*number)++;
			cut_layer(m, &c);
			c.owned_folders = false;
			c.from = i;
			bytes = 0;
		}
		bytes += t->size;
	}
	c.to = c.all->len;
	c.number = (*number)++;
	c.last = last_group;
	c.owned_folders = owned && c.from == 0;
	cut_layer(m, &c);
}

static uint64_t sum_of(const struct layer_entries *entries)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < entries->len; i++)
		sum += entries->items[i].tar->size;
	return sum;
}

/* Large files to one list, all others to the other; a hard link goes with its file. Uses `all` up.
 */
static void part_by_size(struct layer_entries *all, struct layer_entries *large,
			 struct layer_entries *small)
{
	bool is_large = false;

	for (size_t i = 0; i < all->len; i++) {
		if (all->items[i].tar->type != TAR_HARDLINK)
			is_large = all->items[i].tar->size >= PLAN_LARGE_FILE;
		if (is_large)
			vec_push(large, all->items[i]);
		else
			vec_push(small, all->items[i]);
	}
	vec_release(all);
}

/*
 * Large files of a folder change seldom and small ones often: apart, the edit of a small file
 * re-ships little.
 */
static void make_folder_layers(struct maker *m, const struct plan_group *g,
			       struct layer_entries *all, uint64_t max, bool last_group)
{
	struct layer_entries large = { 0 }, small = { 0 };
	struct plan_cutter cutter;
	size_t number = 0;

	part_by_size(all, &large, &small);
	if (large.len) {
		cutter = plan_folder_cutter(sum_of(&large), true, max);
		cut_layers(m,
			   (struct cut){ .group = g,
					 .all = &large,
					 .reason = "files of 8 MiB and more of a large folder" },
			   &cutter, false, &number);
	}
	cutter = plan_folder_cutter(sum_of(&small), false, max);
	cut_layers(m,
		   (struct cut){ .group = g,
				 .all = &small,
				 .owned_folders = true,
				 .reason = "files below 8 MiB of a large folder, and its folders" },
		   &cutter, last_group, &number);
	vec_release(&large);
	vec_release(&small);
}

static int make_layers(struct maker *m, const struct plan_group *g, uint64_t max, bool last_group,
		       struct error *err)
{
	struct plan_cutter cutter = plan_cutter(max);
	struct layer_entries all = { 0 };
	size_t number = 0;
	int rc = 0;

	for (size_t i = 0; i < g->parts.len && rc == 0; i++)
		rc = push_part(m, &m->rootfs->parts.items[g->parts.items[i]], &all, err);
	if (rc == 0 && g->folder)
		make_folder_layers(m, g, &all, max, last_group);
	else if (rc == 0)
		cut_layers(m,
			   (struct cut){ .group = g,
					 .all = &all,
					 .owned_folders = true,
					 .reason = g->reason },
			   &cutter, last_group, &number);
	vec_release(&all);
	return rc;
}

static bool is_whiteout(const char *path)
{
	const char *slash = strrchr(path, '/');

	return str_starts(slash ? slash + 1 : path, ".wh.");
}

/* No path twice in a layer; none but directories in two. What is violated is our own mistake. */
static void assert_disjoint(struct rootfs *r, const struct plan *plan)
{
	for (size_t i = 0; i < plan->layers.len; i++) {
		const struct layer_entries *e = &plan->layers.items[i].entries;

		for (size_t k = 0; k < e->len; k++) {
			struct rootfs_node *n = rootfs_lookup(r, e->items[k].tar->path);

			if (!n && is_whiteout(e->items[k].tar->path))
				continue;
			assert(n && n->layer != i + 1);
			assert(!n->layer || e->items[k].tar->type == TAR_DIR);
			n->layer = (uint16_t)(i + 1);
		}
	}
}

/* Directories that the base has without an entry of their own. */
static void know_parents(struct maker *m, const char *path)
{
	const char *slash = strrchr(path, '/');

	while (slash) {
		cleanup_free char *dir = xstrndup(path, (size_t)(slash - path));
		struct rootfs_node *n = rootfs_lookup(m->rootfs, dir);

		if (map_has(&m->set_dirs, dir)) /* then its parents are known too */
			return;
		if (n && n->tar->type == TAR_DIR)
			map_put(&m->set_dirs, n->tar->path, (void *)n->tar);
		slash = memrchr(path, '/', (size_t)(slash - path));
	}
}

/* The base's directories are set as they are by layers below ours. */
static void know_base_dirs(struct maker *m)
{
	for (size_t i = 0; i < m->rootfs->parts.len; i++) {
		const struct rootfs_part *part = &m->rootfs->parts.items[i];

		if (part->component->kind != COMPONENT_BASE)
			continue;
		for (size_t k = 0; k < part->nodes.len; k++) {
			struct rootfs_node *n = part->nodes.items[k];

			if (n && n->tar->type == TAR_DIR && n->owner == part->component)
				map_put(&m->set_dirs, n->tar->path, (void *)n->tar);
			if (n)
				know_parents(m, n->tar->path);
		}
	}
}

/* A kind of which the image holds nothing makes no layer. */
static void drop_empty(struct plan *plan)
{
	size_t kept = 0;

	for (size_t i = 0; i < plan->layers.len; i++) {
		if (plan->layers.items[i].entries.len)
			plan->layers.items[kept++] = plan->layers.items[i];
		else
			vec_release(&plan->layers.items[i].entries);
	}
	plan->layers.len = kept;
}

static void forget_layers(struct plan *plan)
{
	for (size_t i = 0; i < plan->layers.len; i++)
		vec_release(&plan->layers.items[i].entries);
	vec_release(&plan->layers);
}

/* How the groups are made. */
struct shape {
	enum stack_split split;
	uint64_t max_size;
	bool few;           /* one group for each class */
	bool coarse;        /* folders are cut at max-size alone */
	size_t merges;      /* of neighbouring groups */
	size_t more_merges; /* set by make_plan: could be done beyond these */
};

static int make_plan(struct rootfs *r, struct shape *shape, struct plan *out, struct error *err)
{
	cleanup(plan_groups_release) struct plan_groups groups = { 0 };
	struct maker m = { .rootfs = r, .plan = out };
	int rc = 0;

	forget_layers(out);
	plan_groups_make(r, shape->split, shape->few, &out->arena, &groups);
	if (shape->split == SPLIT_COMPONENT)
		shape->more_merges = plan_groups_merge(&groups, shape->merges, &out->arena);
	if (shape->coarse)
		plan_groups_coarsen(&groups, &out->arena);
	know_base_dirs(&m);
	for (size_t i = 0; i < groups.len && rc == 0; i++)
		rc = make_layers(&m, &groups.items[i], shape->max_size, i + 1 == groups.len, err);
	map_release(&m.set_dirs);
	if (rc == 0)
		drop_empty(out);
	return rc;
}

/* How many layers there are beyond `most`. */
static size_t excess(const struct rootfs *r, const struct plan *plan, size_t most)
{
	size_t all = plan->layers.len + r->base_layers;

	return all > most ? all - most : 0;
}

/* Fewer layers, as long as there are too many and it costs no solo layer. */
static int squeeze(struct rootfs *r, struct shape *shape, struct plan *out, struct error *err)
{
	size_t over;

	while (shape->split == SPLIT_COMPONENT &&
	       (over = excess(r, out, PLAN_LAYERS_WANTED)) != 0) {
		if (shape->more_merges)
			shape->merges += MIN(over, shape->more_merges);
		else if (!shape->coarse)
			shape->coarse = true;
		else
			return 0;
		if (make_plan(r, shape, out, err) < 0)
			return -1;
	}
	return 0;
}

int plan_make(struct rootfs *r, const struct stack_layers *options, struct plan *out,
	      struct error *err)
{
	struct shape shape = { .split = options->split, .max_size = options->max_size };
	struct shape few = { .split = options->split, .max_size = options->max_size, .few = true };
	struct shape single = { .split = SPLIT_SINGLE, .max_size = options->max_size };

	if (make_plan(r, &shape, out, err) < 0 || squeeze(r, &shape, out, err) < 0 ||
	    (excess(r, out, PLAN_LAYERS_MAX) && make_plan(r, &few, out, err) < 0) ||
	    (excess(r, out, PLAN_LAYERS_MAX) && make_plan(r, &single, out, err) < 0))
		return -1;
	if (excess(r, out, PLAN_LAYERS_MAX))
		return error_set(err, ERROR_LIMIT,
				 "the image would have %zu layers, %zu of them the base's; engines "
				 "take %d at most: raise layers.max-size%s",
				 out->layers.len + r->base_layers, r->base_layers, PLAN_LAYERS_MAX,
				 r->base_layers ? ", or flatten the base" : "");
	assert_disjoint(r, out);
	return 0;
}
