#include "lint/loader_parts.h"

static const char *class_key(struct loader *l, const struct elf_facts *elf, const char *name)
{
	return arena_printf(&l->arena, "%u %d %s", elf->machine, elf->is64, name);
}

const char *const *loader_default_dirs(const struct facts *facts, uint16_t machine, bool is64)
{
	static const char *const debian[][5] = {
		{ "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib", NULL },
		{ "/lib/aarch64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib", "/usr/lib",
		  NULL },
		{ "/lib/i386-linux-gnu", "/usr/lib/i386-linux-gnu", "/lib", "/usr/lib", NULL },
		{ "/lib/arm-linux-gnueabihf", "/usr/lib/arm-linux-gnueabihf", "/lib", "/usr/lib",
		  NULL },
	};
	static const char *const lib64[] = { "/lib64", "/usr/lib64", NULL };
	static const char *const lib32[] = { "/lib", "/usr/lib", NULL };
	static const char *const musl[] = { "/lib", "/usr/local/lib", "/usr/lib", NULL };

	if (facts->is_musl)
		return musl;
	if (facts->is_debian_libc) {
		switch (machine) {
		case ELF_MACHINE_AARCH64:
			return debian[1];
		case ELF_MACHINE_386:
			return debian[2];
		case ELF_MACHINE_ARM:
			return debian[3];
		default:
			return debian[0];
		}
	}
	return is64 ? lib64 : lib32;
}

bool elf_same_class(const struct elf_facts *a, const struct elf_facts *b)
{
	return a->is64 == b->is64 && a->machine == b->machine && a->big_endian == b->big_endian;
}

/* `name` in `dir`, when it is an object of the right kind. */
static bool try_dir(struct loader *l, const char *dir, const char *name,
		    const struct elf_facts *like, struct loader_hit *out)
{
	static const char *const hwcaps[] = { "", "/glibc-hwcaps/x86-64-v4",
					      "/glibc-hwcaps/x86-64-v3",
					      "/glibc-hwcaps/x86-64-v2" };

	for (size_t i = 0; i < ARRAY_LEN(hwcaps); i++) {
		const char *path = arena_printf(&l->arena, "%s%s/%s", dir, hwcaps[i], name);
		const struct object *o = facts_object(l->facts, path);

		if (!o || !elf_same_class(o->elf, like))
			continue;
		out->object = o;
		out->path = path;
		return true;
	}
	return false;
}

const char *loader_expand(struct loader *l, struct slice element, const char *origin)
{
	struct strbuf out = { 0 };
	const char *text = arena_slice(&l->arena, element), *made;

	for (const char *p = text; *p;) {
		static const struct {
			const char *token;
			int which;
		} tokens[] = {
			{ "${ORIGIN}", 0 }, { "$ORIGIN", 0 }, { "${LIB}", 1 }, { "$LIB", 1 }
		};
		size_t skip = 0;

		for (size_t i = 0; i < ARRAY_LEN(tokens) && !skip; i++) {
			if (!str_starts(p, tokens[i].token))
				continue;
			skip = strlen(tokens[i].token);
			if (tokens[i].which == 0)
				strbuf_adds(&out, origin);
			else if (l->facts->is_debian_libc)
				strbuf_addf(&out, "lib/%s", machine_triplet(l->facts->machine));
			else
				strbuf_adds(&out, "lib64");
		}
		if (!skip) {
			strbuf_addc(&out, *p);
			skip = 1;
		}
		p += skip;
	}
	made = arena_strdup(&l->arena, strbuf_text(&out));
	strbuf_release(&out);
	return made;
}

static bool try_path(struct loader *l, const char *list, const char *origin, const char *name,
		     const struct elf_facts *like, struct loader_hit *out)
{
	struct slice rest = slice_str(list), one;

	while (slice_cut(&rest, ':', &one)) {
		if (one.len && try_dir(l, loader_expand(l, one, origin), name, like, out))
			return true;
	}
	return false;
}

/* DT_RPATH of the object and of what loaded it, each only where it has no RUNPATH. */
static bool try_rpath(struct loader *l, const struct loader_link *from, const char *name,
		      const struct elf_facts *like, struct loader_hit *out)
{
	if (from->object->elf->runpath)
		return false;
	for (const struct loader_link *at = from; at; at = at->loaded_by) {
		const struct elf_facts *elf = at->object->elf;

		if (!elf->rpath || elf->runpath)
			continue;
		if (try_path(l, elf->rpath, path_dir(l->facts, at->path), name, like, out)) {
			out->via = arena_printf(&l->arena, "RPATH of %s", at->object->path);
			return true;
		}
	}
	return false;
}

static bool try_environment(struct loader *l, const char *name, const struct elf_facts *like,
			    struct loader_hit *out)
{
	const struct search_dirs *dirs = &l->facts->environment;

	for (size_t i = 0; i < dirs->len; i++) {
		if (*dirs->items[i].path && try_dir(l, dirs->items[i].path, name, like, out)) {
			out->via = "LD_LIBRARY_PATH";
			return true;
		}
	}
	return false;
}

static bool try_runpath(struct loader *l, const struct loader_link *from, const char *name,
			const struct elf_facts *like, struct loader_hit *out)
{
	const char *runpath = from->object->elf->runpath;

	if (!runpath || !try_path(l, runpath, path_dir(l->facts, from->path), name, like, out))
		return false;
	out->via = arena_printf(&l->arena, "RUNPATH of %s", from->object->path);
	return true;
}

static bool try_cache(struct loader *l, const char *name, const struct elf_facts *like,
		      enum loader_cache which, struct loader_hit *out)
{
	struct map *cache = which == LOADER_CACHE_BAKED ? &l->baked : &l->rebuilt;
	const struct cached *c = map_get(cache, class_key(l, like, name));

	if (!c)
		return false;
	*out = (struct loader_hit){ c->object, c->path, "the loader cache" };
	return true;
}

static bool try_musl_paths(struct loader *l, const char *name, const struct elf_facts *like,
			   struct loader_hit *out)
{
	const char *file = like->machine == ELF_MACHINE_AARCH64 ? "/etc/ld-musl-aarch64.path"
								: "/etc/ld-musl-x86_64.path";
	struct slice rest = facts_text(l->facts, file), one;

	while (slice_cut(&rest, '\n', &one)) {
		struct slice part;

		while (slice_cut(&one, ':', &part)) {
			part = slice_trim(part);
			if (part.len && try_dir(l, arena_slice(&l->arena, part), name, like, out)) {
				out->via = file;
				return true;
			}
		}
	}
	return false;
}

static bool try_defaults(struct loader *l, const char *name, const struct elf_facts *like,
			 struct loader_hit *out)
{
	const char *const *dirs = loader_default_dirs(l->facts, like->machine, like->is64);

	for (; *dirs; dirs++) {
		if (try_dir(l, *dirs, name, like, out)) {
			out->via = "the default directories";
			return true;
		}
	}
	return false;
}

/* musl's loader is its libc: both names are always there. */
static bool is_musl_itself(struct loader *l, const char *name, struct loader_hit *out)
{
	if (!l->facts->is_musl || !(str_starts(name, "libc.musl-") || str_equal(name, "libc.so") ||
				    str_starts(name, "ld-musl-")))
		return false;
	*out = (struct loader_hit){ NULL, name, "the loader itself" };
	return true;
}

/* glibc's loader is mapped before all others, from wherever programs name it. */
static bool is_glibc_itself(struct loader *l, const char *name, const struct elf_facts *like,
			    struct loader_hit *out)
{
	static const char *const dirs[] = { "/lib64", "/lib" };

	for (size_t i = 0; str_starts(name, "ld-linux") && i < ARRAY_LEN(dirs); i++) {
		const char *path = arena_printf(&l->arena, "%s/%s", dirs[i], name);
		const struct object *o = facts_object(l->facts, path);

		if (!o || !elf_same_class(o->elf, like))
			continue;
		*out = (struct loader_hit){ o, path, "the programs' interpreter" };
		return true;
	}
	return false;
}

bool loader_find(struct loader *l, const struct loader_link *from, const char *name,
		 enum loader_cache cache, struct loader_hit *out)
{
	const struct elf_facts *like = from->object->elf;

	*out = (struct loader_hit){ 0 };
	if (strchr(name, '/')) {
		out->path = loader_expand(l, slice_str(name), path_dir(l->facts, from->path));
		out->object = facts_object(l->facts, out->path);
		out->via = "its full path";
		return out->object && elf_same_class(out->object->elf, like);
	}
	return is_glibc_itself(l, name, like, out) || try_rpath(l, from, name, like, out) ||
	       try_environment(l, name, like, out) || try_runpath(l, from, name, like, out) ||
	       try_cache(l, name, like, cache, out) || try_musl_paths(l, name, like, out) ||
	       try_defaults(l, name, like, out) || is_musl_itself(l, name, out);
}

/* --- the two caches */

static void cache_put(struct loader *l, struct map *cache, const struct object *o, const char *name,
		      const char *path)
{
	const char *key = class_key(l, o->elf, name);
	struct cached *c;

	if (map_has(cache, key))
		return;
	c = arena_alloc(&l->arena, sizeof(*c));
	*c = (struct cached){ o, path };
	map_put(cache, key, c);
}

static void fill_baked(struct loader *l)
{
	const struct ldcache *cache = &l->facts->cache;

	for (size_t i = 0; l->facts->has_cache && i < cache->len; i++) {
		const struct object *o = facts_object(l->facts, cache->items[i].path);

		if (o)
			cache_put(l, &l->baked, o, cache->items[i].soname, cache->items[i].path);
	}
}

/* ldconfig takes what is named like a library, and files it under its soname. */
static void cache_dir(struct loader *l, const char *dir)
{
	struct tree_nodes nodes = { 0 };

	facts_list(l->facts, dir, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		const char *name = path_name(nodes.items[i]->entry.path), *path;
		const struct object *o;

		if (!(str_starts(name, "lib") || str_starts(name, "ld-")) || !strstr(name, ".so"))
			continue;
		path = arena_printf(&l->arena, "%s/%s", dir, name);
		o = facts_object(l->facts, path);
		if (!o)
			continue;
		if (o->elf->soname)
			cache_put(l, &l->rebuilt, o, o->elf->soname,
				  arena_printf(&l->arena, "%s/%s", dir, o->elf->soname));
		cache_put(l, &l->rebuilt, o, name, path);
	}
	vec_release(&nodes);
}

static void fill_rebuilt(struct loader *l)
{
	const char *const *defaults = loader_default_dirs(l->facts, l->facts->machine, true);

	for (size_t i = 0; i < l->facts->conf.len; i++)
		cache_dir(l, l->facts->conf.items[i].path);
	for (; *defaults; defaults++)
		cache_dir(l, *defaults);
}

struct loader *loader_new(struct facts *facts)
{
	struct loader *l = xcalloc(1, sizeof(*l));

	l->facts = facts;
	if (!facts->is_musl) {
		fill_baked(l);
		fill_rebuilt(l);
	}
	loader_collect_dirs(l);
	facts->loader = l; /* what follows asks the facts */
	loader_follow(l, facts);
	return l;
}

void loader_free(struct loader *l)
{
	if (!l)
		return;
	vec_release(&l->dirs);
	vec_release(&l->missing);
	loader_edges_release(l);
	map_release(&l->cached_dirs);
	map_release(&l->baked);
	map_release(&l->rebuilt);
	arena_release(&l->arena);
	free(l);
}

const struct facts *loader_facts(const struct loader *loader)
{
	return loader->facts;
}

const struct loader_dirs *loader_dirs(const struct loader *loader)
{
	return &loader->dirs;
}

const struct loader_report *loader_missing(const struct loader *loader)
{
	return &loader->missing;
}
