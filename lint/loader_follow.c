#include "lint/companions.h"
#include "lint/loader_parts.h"
#include "lint/runtime.h"
#include "lint/start.h"
#include "lint/versions.h"

enum { CLOSURE_MAX = 5000, MISSING_MAX = 20000, EDGES_MAX = 2000000 };

/* What is loaded under a name, while a process is followed. */
struct mapped {
	const struct loader_link *link; /* NULL: the driver's, or nothing */
	const char *via;
};

/* One process: what was loaded, in order. Links are pushed, never moved: pointers must hold. */
struct closure {
	struct loader *l;
	enum loader_cache cache;
	bool either_cache; /* what the baked one lacks may stand in the other */
	bool record;       /* edges, reachability and what is missing */
	struct map loaded; /* soname or name asked for → struct mapped */
	struct map files;  /* path of the object → its link */
	struct {
		struct loader_link **items;
		size_t len, cap;
	} queue;
	struct loader_process *trace; /* or NULL */
	struct arena arena;
};

static void name_it(struct closure *c, const char *name, const struct loader_link *link,
		    const char *via)
{
	struct mapped *m = arena_alloc(&c->arena, sizeof(*m));

	*m = (struct mapped){ link, via };
	map_put(&c->loaded, name, m);
}

/* A file is mapped once, whatever names lead to it. */
static void load(struct closure *c, const struct loader_hit *hit, const char *name,
		 const struct loader_link *by)
{
	struct loader_link *link = map_get(&c->files, hit->object->path);
	const char *soname = hit->object->elf->soname;

	if (!link) {
		if (c->queue.len >= CLOSURE_MAX)
			return;
		link = arena_alloc(&c->arena, sizeof(*link));
		*link = (struct loader_link){ hit->object, hit->path, by };
		vec_push(&c->queue, link);
		map_put(&c->files, hit->object->path, link);
		if (c->trace)
			vec_push(c->trace, ((struct loader_loaded){ name, hit->object, hit->path,
								    hit->via }));
	}
	if (c->record)
		((struct object *)hit->object)->reachable = true;
	name_it(c, name, link, hit->via);
	if (soname && !map_has(&c->loaded, soname))
		name_it(c, soname, link, hit->via);
}

/*
 * Python packages load their libraries themselves, by full path, before what needs them: a copy
 * anywhere among the same installation's packages will do.
 */
static bool preloaded_by_python(struct loader *l, const struct object *from, const char *name,
				struct loader_hit *out)
{
	const char *site = site_of_path(l->facts, from->path);
	const struct object_names *named = site ? facts_named(l->facts, name) : NULL;

	for (size_t i = 0; named && i < named->len; i++) {
		const struct object *o = named->items[i];

		if (!str_starts(o->path, site) || o->path[strlen(site)] != '/' ||
		    !elf_same_class(o->elf, from->elf))
			continue;
		*out = (struct loader_hit){ o, o->path, "Python, before it is needed" };
		return true;
	}
	return false;
}

static bool is_judged(const struct loader *l, const struct object *o)
{
	return o->elf->machine == l->facts->machine && o->elf->is_dynamic &&
	       !path_is_sample(o->path) && !path_is_stub(o->path) && !path_is_tegra(o->path);
}

static void add_missing(struct loader *l, const struct object *o, const char *name)
{
	if (l->missing.len < MISSING_MAX)
		vec_push(&l->missing, ((struct loader_missing){ o, name }));
}

static void add_user(struct loader *l, const struct object *to, const struct object *from)
{
	struct object_names *users = map_get(&l->users, to->path);

	if (!users) {
		users = arena_alloc(&l->arena, sizeof(*users));
		map_put(&l->users, to->path, users);
	}
	if (!users->len || users->items[users->len - 1] != from)
		vec_push(users, from);
}

/* Remember once that `from` gets `to` for `name`. */
static void add_edge(struct loader *l, const struct object *from, const char *name,
		     const struct loader_link *to, const char *via, bool opened)
{
	struct loader_edge *first = map_get(&l->edges, from->path), **at = &first, *e;
	const struct object *object = to ? to->object : NULL;

	if (l->edge_count >= EDGES_MAX)
		return;
	while (*at && strcmp((*at)->name, name) <= 0) {
		if (str_equal((*at)->name, name) && (*at)->to == object)
			return;
		at = &(*at)->next;
	}
	e = arena_alloc(&l->arena, sizeof(*e));
	*e = (struct loader_edge){ .from = from,
				   .name = name,
				   .to = object,
				   .path = to ? arena_strdup(&l->arena, to->path) : NULL,
				   .via = via,
				   .opened = opened,
				   .next = *at };
	*at = e;
	map_put(&l->edges, from->path, first);
	l->edge_count++;
	if (object)
		add_user(l, object, from);
}

static bool find(struct closure *c, const struct loader_link *from, const char *name,
		 struct loader_hit *out)
{
	struct loader *l = c->l;

	if (loader_find(l, from, name, c->cache, out))
		return true;
	return c->either_cache && loader_find(l, from, name, LOADER_CACHE_REBUILT, out);
}

/* `name` for an object: what is loaded already, else what is found. */
static void need(struct closure *c, const struct loader_link *link, const char *name)
{
	struct loader *l = c->l;
	const struct mapped *m = map_get(&c->loaded, name);
	struct loader_hit hit;

	if (!m) {
		if (find(c, link, name, &hit) ||
		    (c->record && !runtime_provides(l->facts, name) &&
		     preloaded_by_python(l, link->object, name, &hit))) {
			if (hit.object)
				load(c, &hit, name, link);
			else
				name_it(c, name, NULL, hit.via);
		} else {
			/* What is missing for one may be found by the path of another. */
			if (runtime_provides(l->facts, name))
				name_it(c, name, NULL, NULL);
			else if (c->record && is_judged(l, link->object))
				add_missing(l, link->object, name);
		}
		m = map_get(&c->loaded, name);
	}
	if (c->record && m)
		add_edge(l, link->object, name, m->link, m->via, false);
}

/* What it opens by name when it runs becomes part of the process, too. */
static void open_companions(struct closure *c, const struct loader_link *link)
{
	struct companions list = { 0 };

	companions_of(c->l->facts, link->object, &list);
	for (size_t i = 0; i < list.len; i++) {
		struct loader_hit hit;
		const struct mapped *m;

		if (!companion_find(c->l, link->object, list.items[i].name, &hit) || !hit.object)
			continue;
		load(c, &hit, list.items[i].name, link);
		m = map_get(&c->loaded, list.items[i].name);
		add_edge(c->l, link->object, list.items[i].name, m ? m->link : NULL, hit.via, true);
	}
	vec_release(&list);
}

static void follow_one(struct closure *c, const struct loader_link *link)
{
	const struct elf_facts *elf = link->object->elf;

	for (size_t i = 0; i < elf->needed_count; i++)
		need(c, link, elf->needed[i]);
	if (c->record)
		open_companions(c, link);
}

/* Libraries that are loaded into every process, before what it needs. */
static void preload(struct closure *c, struct slice list)
{
	while (list.len) {
		size_t len = 0;

		while (len < list.len && !strchr(" \t\r\n:", list.data[len]))
			len++;
		if (len) {
			const char *name = arena_slice(&c->l->arena, slice_of(list.data, len));
			struct loader_hit hit;

			if (!map_has(&c->loaded, name) && find(c, c->queue.items[0], name, &hit) &&
			    hit.object)
				load(c, &hit, name, c->queue.items[0]);
		}
		len = MIN(len + 1, list.len);
		list = slice_of(list.data + len, list.len - len);
	}
}

static void run_process(struct closure *c, const struct object *root)
{
	const struct loader_hit hit = { root, root->path, "started" };
	const char *environment = facts_env(c->l->facts, "LD_PRELOAD");

	load(c, &hit, root->path, NULL);
	if (!c->queue.len)
		return;
	if (environment)
		preload(c, slice_str(environment));
	preload(c, facts_text(c->l->facts, "/etc/ld.so.preload"));
	for (size_t i = 0; i < c->queue.len; i++)
		follow_one(c, c->queue.items[i]);
}

static void close_process(struct closure *c)
{
	vec_release(&c->queue);
	map_release(&c->loaded);
	map_release(&c->files);
	arena_release(&c->arena);
}

static void follow_root(struct loader *l, const struct object *root)
{
	struct closure c = {
		.l = l, .cache = LOADER_CACHE_BAKED, .either_cache = true, .record = true
	};

	run_process(&c, root);
	close_process(&c);
}

void loader_trace(struct loader *l, const struct object *program, enum loader_cache cache,
		  struct loader_process *out)
{
	struct closure c = { .l = l, .cache = cache, .trace = out };

	run_process(&c, program);
	close_process(&c);
}

/* --- the edges */

const struct loader_edge *loader_edges(const struct loader *l, const struct object *from)
{
	return map_get(&l->edges, from->path);
}

void loader_users(const struct loader *l, const struct object *to, struct object_names *out)
{
	const struct object_names *users = map_get(&l->users, to->path);

	for (size_t i = 0; users && i < users->len; i++)
		vec_push(out, users->items[i]);
}

void loader_reach(const struct loader *l, const struct object *from, struct map *out)
{
	VEC(const struct object *) queue = { 0 };

	if (map_has(out, from->path))
		return;
	map_put(out, from->path, (void *)(uintptr_t)from);
	vec_push(&queue, from);
	for (size_t i = 0; i < queue.len; i++) {
		const struct loader_edge *e = loader_edges(l, queue.items[i]);

		for (; e; e = e->next) {
			if (!e->to || map_has(out, e->to->path))
				continue;
			map_put(out, e->to->path, (void *)(uintptr_t)e->to);
			vec_push(&queue, e->to);
		}
	}
	vec_release(&queue);
}

void loader_edges_release(struct loader *l)
{
	for (size_t i = 0; i < l->users.len; i++) {
		struct object_names *users = l->users.entries[i].value;

		vec_release(users);
	}
	map_release(&l->users);
	map_release(&l->edges);
}

static void follow_programs(struct loader *l)
{
	for (size_t i = 0; i < l->facts->path.len; i++) {
		struct tree_nodes nodes = { 0 };

		if (l->facts->path.items[i].path[0] != '/')
			continue;
		facts_list(l->facts, l->facts->path.items[i].path, &nodes);
		for (size_t k = 0; k < nodes.len; k++) {
			const struct object *o =
				facts_object(l->facts, facts_path(l->facts, nodes.items[k]));

			if (o && o->elf->type != ELF_TYPE_REL && !o->reachable)
				follow_root(l, o);
		}
		vec_release(&nodes);
	}
}

/* Modules that their package imports only where their library is installed. */
static bool is_optional_module(const char *path)
{
	static const char *const patterns[] = {
		"*/cupy_backends/cuda/libs/cutensor.*", "*/cupy_backends/cuda/libs/cusparselt.*",
		"*/cupy_backends/cuda/libs/cudnn.*",    "*/cupy_backends/cuda/libs/nccl.*",
		"*/numba/np/ufunc/omppool.*",           "*/numba/np/ufunc/tbbpool.*"
	};

	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		if (path_matches(patterns[i], path))
			return true;
	}
	return false;
}

static bool is_python_module(const struct object *o)
{
	const char *name = path_name(o->path);

	return !is_optional_module(o->path) &&
	       (strstr(o->path, "/site-packages/") || strstr(o->path, "/dist-packages/")) &&
	       (strstr(name, ".cpython-") || str_ends(name, ".abi3.so") ||
		(o->elf->python_module && str_ends(name, ".so")));
}

static void follow_python(struct loader *l)
{
	for (size_t i = 0; i < l->facts->objects.len; i++) {
		const struct object *o = &l->facts->objects.items[i];

		if (is_python_module(o) && !o->reachable)
			follow_root(l, o);
	}
}

static void follow_start(struct loader *l)
{
	struct start_program start = start_program_of(l->facts);
	const struct object *o = start.path ? facts_object(l->facts, start.path) : NULL;

	if (!o && start.interpreter)
		o = facts_object(l->facts, start.interpreter);
	if (o)
		follow_root(l, o);
}

static bool somewhere(const struct loader *l, const struct object *from, const char *name)
{
	const struct object_names *named = facts_named(l->facts, name);

	for (size_t i = 0; named && i < named->len; i++) {
		if (elf_same_class(named->items[i]->elf, from->elf))
			return true;
	}
	return false;
}

/* What nothing loads may be loaded by what the linter cannot see: a copy anywhere is enough. */
static void look_at_unreached(struct loader *l)
{
	for (size_t i = 0; i < l->facts->objects.len; i++) {
		const struct object *o = &l->facts->objects.items[i];
		struct loader_link link = { o, o->path, NULL };

		if (o->reachable || !is_judged(l, o))
			continue;
		for (size_t k = 0; k < o->elf->needed_count; k++) {
			const char *name = o->elf->needed[k];
			struct loader_hit hit;

			if (!runtime_provides(l->facts, name) && !somewhere(l, o, name) &&
			    !loader_find(l, &link, name, LOADER_CACHE_BAKED, &hit) &&
			    !loader_find(l, &link, name, LOADER_CACHE_REBUILT, &hit))
				add_missing(l, o, name);
		}
	}
}

static int by_name(const void *left, const void *right)
{
	const struct loader_missing *a = left, *b = right;
	int c = strcmp(a->name, b->name);

	return c ? c : strcmp(a->object->path, b->object->path);
}

static void drop_repeats(struct loader_report *report)
{
	size_t kept = 0;

	for (size_t i = 0; i < report->len; i++) {
		if (!kept || by_name(&report->items[kept - 1], &report->items[i]))
			report->items[kept++] = report->items[i];
	}
	report->len = kept;
}

void loader_follow(struct loader *l, struct facts *facts)
{
	(void)facts;
	follow_start(l);
	follow_programs(l);
	follow_python(l);
	look_at_unreached(l);
	vec_sort(&l->missing, by_name);
	drop_repeats(&l->missing);
}
