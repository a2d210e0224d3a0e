#include "lint/loader_parts.h"

/* Directories of RPATHs that are kept: more than any real image has. */
enum { DIRS_MAX = 4096 };

static bool have_dir(const struct loader_dirs *dirs, const char *path, const char *where)
{
	for (size_t i = 0; i < dirs->len; i++) {
		if (str_equal(dirs->items[i].path, path) &&
		    (dirs->items[i].by_object ? where == NULL
					      : where && str_equal(dirs->items[i].where, where)))
			return true;
	}
	return false;
}

/* The directories of the baked cache, links followed. */
static void collect_cached(struct loader *l, struct map *out)
{
	cleanup_map struct map seen = { 0 };

	for (size_t i = 0; l->facts->has_cache && i < l->facts->cache.len; i++) {
		const char *dir = path_dir(l->facts, l->facts->cache.items[i].path);

		if (map_has(&seen, dir))
			continue;
		map_put(&seen, dir, l);
		map_put(out, facts_real(l->facts, dir), l);
	}
}

static void add_configured(struct loader *l, const struct search_dirs *dirs,
			   const struct map *cached, struct loader_dirs *out)
{
	for (size_t i = 0; i < dirs->len; i++) {
		const char *path = dirs->items[i].path;

		if (*path != '/')
			continue;
		path = facts_real(l->facts, path);
		if (!have_dir(out, path, dirs->items[i].where))
			vec_push(out, ((struct loader_dir){
					      .path = path,
					      .where = dirs->items[i].where,
					      .only_rebuilt = cached && !map_has(cached, path) }));
	}
}

static void add_cached(struct map *cached, struct loader_dirs *out)
{
	const struct map_entry *rows = map_sorted(cached);

	for (size_t i = 0; i < cached->len; i++)
		vec_push(out,
			 ((struct loader_dir){ .path = rows[i].key, .where = "/etc/ld.so.cache" }));
}

static void add_of_object(struct loader *l, const struct object *o, const char *kind,
			  const char *list, struct map *seen, struct loader_dirs *out)
{
	struct slice rest = slice_str(list), one;

	while (slice_cut(&rest, ':', &one)) {
		const char *path;

		if (!one.len)
			continue;
		path = loader_expand(l, one, path_dir(l->facts, o->path));
		if (*path != '/' || map_has(seen, path))
			continue;
		map_put(seen, path, seen);
		path = facts_real(l->facts, path);
		if (out->len < DIRS_MAX && !have_dir(out, path, NULL))
			vec_push(out,
				 ((struct loader_dir){ .path = path,
						       .where = arena_printf(&l->arena, "%s of %s",
									     kind, o->path),
						       .by_object = true }));
	}
}

static void add_musl(struct loader *l, struct loader_dirs *out)
{
	static const char *const files[] = { "/etc/ld-musl-x86_64.path",
					     "/etc/ld-musl-aarch64.path" };

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		struct slice rest = facts_text(l->facts, files[i]), line, part;

		while (slice_cut(&rest, '\n', &line)) {
			while (slice_cut(&line, ':', &part)) {
				part = slice_trim(part);
				if (part.len)
					vec_push(out, ((struct loader_dir){
							      .path = facts_real(
								      l->facts,
								      arena_slice(&l->arena, part)),
							      .where = files[i] }));
			}
		}
	}
}

void loader_collect_dirs(struct loader *l)
{
	struct loader_dirs *out = &l->dirs;
	cleanup_map struct map seen = { 0 };

	add_configured(l, &l->facts->environment, NULL, out);
	if (!l->facts->is_musl) {
		collect_cached(l, &l->cached_dirs);
		add_configured(l, &l->facts->conf, &l->cached_dirs, out);
		add_cached(&l->cached_dirs, out);
	}
	add_musl(l, out);
	for (size_t i = 0; i < l->facts->objects.len; i++) {
		const struct object *o = &l->facts->objects.items[i];

		if (o->elf->rpath)
			add_of_object(l, o, "RPATH", o->elf->rpath, &seen, out);
		if (o->elf->runpath)
			add_of_object(l, o, "RUNPATH", o->elf->runpath, &seen, out);
	}
}
