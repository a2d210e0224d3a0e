#include "lint/loader_parts.h"
#include "lint/runtime.h"
#include "lint/start.h"

enum { CLOSURE_MAX = 5000, MISSING_MAX = 20000 };

/* One process: what was loaded, in order. Links are pushed, never moved: pointers must hold. */
struct closure {
	struct loader *l;
	struct map loaded; /* soname or name asked for → itself */
	struct {
		struct loader_link **items;
		size_t len, cap;
	} queue;
	struct arena arena;
};

static void load(struct closure *c, const struct object *object, const char *path,
		 const struct loader_link *by)
{
	struct loader_link *link;

	if (c->queue.len >= CLOSURE_MAX)
		return;
	link = arena_alloc(&c->arena, sizeof(*link));
	*link = (struct loader_link){ object, path, by };
	vec_push(&c->queue, link);
	((struct object *)object)->reachable = true;
	if (object->elf->soname)
		map_put(&c->loaded, object->elf->soname, c);
}

/* "/usr/lib/python3/site-packages", or NULL. */
static const char *site_of(struct loader *l, const char *path)
{
	static const char *const names[] = { "/site-packages/", "/dist-packages/" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *at = strstr(path, names[i]);

		if (at)
			return arena_printf(&l->arena, "%.*s", (int)(at - path + strlen(names[i])),
					    path);
	}
	return NULL;
}

/*
 * Python packages load their libraries themselves, by full path, before what needs them: a copy
 * anywhere among the same installation's packages will do.
 */
static bool preloaded_by_python(struct loader *l, const struct object *from, const char *name)
{
	const char *site = site_of(l, from->path);
	const struct object_names *named = site ? facts_named(l->facts, name) : NULL;

	for (size_t i = 0; named && i < named->len; i++) {
		if (str_starts(named->items[i]->path, site) &&
		    elf_same_class(named->items[i]->elf, from->elf))
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

static void follow_one(struct closure *c, const struct loader_link *link)
{
	const struct elf_facts *elf = link->object->elf;
	struct loader *l = c->l;

	for (size_t i = 0; i < elf->needed_count; i++) {
		struct loader_hit hit;

		if (map_has(&c->loaded, elf->needed[i]))
			continue;
		map_put(&c->loaded, elf->needed[i], c);
		if (loader_find(l, link, elf->needed[i], LOADER_CACHE_BAKED, &hit) ||
		    loader_find(l, link, elf->needed[i], LOADER_CACHE_REBUILT, &hit)) {
			if (hit.object)
				load(c, hit.object, hit.path, link);
			continue;
		}
		if (is_judged(l, link->object) && !runtime_provides(l->facts, elf->needed[i]) &&
		    !preloaded_by_python(l, link->object, elf->needed[i]))
			add_missing(l, link->object, elf->needed[i]);
	}
}

static void follow_root(struct loader *l, const struct object *root, const char *path)
{
	struct closure c = { .l = l };

	load(&c, root, path, NULL);
	for (size_t i = 0; i < c.queue.len; i++)
		follow_one(&c, c.queue.items[i]);
	vec_release(&c.queue);
	map_release(&c.loaded);
	arena_release(&c.arena);
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
				follow_root(l, o, o->path);
		}
		vec_release(&nodes);
	}
}

/* Modules that their package imports only where their library is installed. */
static bool is_optional_module(const char *path)
{
	static const char *const patterns[] = { "*/cupy_backends/cuda/libs/cutensor.*",
						"*/cupy_backends/cuda/libs/cusparselt.*",
						"*/cupy_backends/cuda/libs/cudnn.*",
						"*/cupy_backends/cuda/libs/nccl.*" };

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
	       (strstr(name, ".cpython-") || str_ends(name, ".abi3.so"));
}

static void follow_python(struct loader *l)
{
	for (size_t i = 0; i < l->facts->objects.len; i++) {
		const struct object *o = &l->facts->objects.items[i];

		if (is_python_module(o) && !o->reachable)
			follow_root(l, o, o->path);
	}
}

static void follow_start(struct loader *l)
{
	struct start_program start = start_program_of(l->facts);
	const struct object *o = start.path ? facts_object(l->facts, start.path) : NULL;

	if (!o && start.interpreter)
		o = facts_object(l->facts, start.interpreter);
	if (o)
		follow_root(l, o, o->path);
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
