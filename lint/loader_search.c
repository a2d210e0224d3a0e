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

/*
 * Subdirectories for newer processors, best first. Level 4 is left out: of the hosts that have
 * GPUs all know the others, and many do not know it.
 */
static const char *const hwcaps[] = { "x86-64-v3", "x86-64-v2" };

/* How good a variant is; 0: not for the hosts that are thought of. */
static unsigned hwcaps_rank(const char *name)
{
	if (!*name)
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(hwcaps); i++) {
		if (str_equal(name, hwcaps[i]))
			return (unsigned)(2 + ARRAY_LEN(hwcaps) - i);
	}
	return 0;
}

static bool try_file(struct loader *l, const char *path, const struct elf_facts *like,
		     struct loader_hit *out)
{
	const struct object *o = facts_object(l->facts, path);

	if (!o || !elf_same_class(o->elf, like))
		return false;
	out->object = o;
	out->path = path;
	return true;
}

/* `name` in `dir`, when it is an object of the right kind. */
static bool try_dir(struct loader *l, const char *dir, const char *name,
		    const struct elf_facts *like, struct loader_hit *out)
{
	size_t len = strlen(dir);

	while (len > 1 && dir[len - 1] == '/')
		len--;
	for (size_t i = 0; i < ARRAY_LEN(hwcaps) && !l->facts->is_musl; i++) {
		if (like->machine == ELF_MACHINE_X86_64 &&
		    try_file(l,
			     arena_printf(&l->arena, "%.*s/glibc-hwcaps/%s/%s", (int)len, dir,
					  hwcaps[i], name),
			     like, out))
			return true;
	}
	return try_file(
		l, arena_printf(&l->arena, "%.*s%s%s", (int)len, dir, len == 1 ? "" : "/", name),
		like, out);
}

/* Without braces the name must end there: "$LIBRARY" is no token. */
static bool is_token(const char *p, const char *token)
{
	char next;

	if (!str_starts(p, token))
		return false;
	next = p[strlen(token)];
	return token[1] == '{' || !((next >= 'A' && next <= 'Z') || (next >= 'a' && next <= 'z') ||
				    (next >= '0' && next <= '9') || next == '_');
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
			{ "${ORIGIN}", 0 }, { "$ORIGIN", 0 },     { "${LIB}", 1 },
			{ "$LIB", 1 },      { "${PLATFORM}", 2 }, { "$PLATFORM", 2 },
		};
		size_t skip = 0;

		for (size_t i = 0; i < ARRAY_LEN(tokens) && !skip; i++) {
			if (!is_token(p, tokens[i].token))
				continue;
			skip = strlen(tokens[i].token);
			if (tokens[i].which == 0)
				strbuf_adds(&out, origin);
			else if (tokens[i].which == 2)
				strbuf_adds(&out, l->facts->machine == ELF_MACHINE_AARCH64
							  ? "aarch64"
							  : "x86_64");
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

/* Elements may use $ORIGIN: that of the program. */
static bool try_environment(struct loader *l, const struct loader_link *from, const char *name,
			    const struct elf_facts *like, struct loader_hit *out)
{
	const struct search_dirs *dirs = &l->facts->environment;

	while (from->loaded_by)
		from = from->loaded_by;
	for (size_t i = 0; i < dirs->len; i++) {
		const char *dir = dirs->items[i].path;

		if (strchr(dir, '$'))
			dir = loader_expand(l, slice_str(dir), path_dir(l->facts, from->path));
		if (*dir && try_dir(l, dir, name, like, out)) {
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
	       try_environment(l, from, name, like, out) || try_runpath(l, from, name, like, out) ||
	       try_cache(l, name, like, cache, out) || try_musl_paths(l, name, like, out) ||
	       try_defaults(l, name, like, out) || is_musl_itself(l, name, out);
}

/* --- the two caches */

/* Of entries of one name the best variant counts, among equals the first. */
static void cache_put(struct loader *l, struct map *cache, const struct object *o, const char *name,
		      const char *path, const char *variant)
{
	unsigned rank = hwcaps_rank(variant);
	const char *key = class_key(l, o->elf, name);
	struct cached *c = map_get(cache, key);

	if (!rank || (c && c->rank >= rank))
		return;
	c = arena_alloc(&l->arena, sizeof(*c));
	*c = (struct cached){ o, path, rank };
	map_put(cache, key, c);
}

static void fill_baked(struct loader *l)
{
	const struct ldcache *cache = &l->facts->cache;

	for (size_t i = 0; l->facts->has_cache && i < cache->len; i++) {
		const struct ldcache_entry *e = &cache->items[i];
		const struct object *o = facts_object(l->facts, e->path);

		if (o)
			cache_put(l, &l->baked, o, e->soname, e->path, e->hwcaps);
	}
}

/* What ldconfig would file under one soname of a directory. */
struct filed {
	const char *soname;
	const char *name; /* of the entry */
	const struct object *object;
	bool is_link;
};

struct filed_list {
	struct filed *items;
	size_t len, cap;
};

/* A link that is named as its soname, or the linker's "libx.so": filed under its own name. */
static bool is_plain_link(const struct tree_node *node, const char *name, const char *soname)
{
	size_t len = strlen(name);

	if (node->entry.type != TAR_SYMLINK)
		return false;
	return str_equal(name, soname) ||
	       (len >= 3 && str_ends(name, ".so") && strncmp(name, soname, len - 3) == 0);
}

static void file_it(struct filed_list *list, const struct filed *new)
{
	for (size_t i = 0; i < list->len; i++) {
		struct filed *old = &list->items[i];

		if (!str_equal(old->soname, new->soname) ||
		    !elf_same_class(old->object->elf, new->object->elf))
			continue;
		if ((!new->is_link && old->is_link) ||
		    (new->is_link == old->is_link &&ldcache_compare(old->name, new->name) < 0))
			*old = *new;
		return;
	}
	vec_push(list, *new);
}

/* The cache says the soname; a file that has it stays where a link would be made. */
static void put_filed(struct loader *l, const struct filed *f, const char *dir, const char *variant)
{
	const char *path = arena_printf(&l->arena, "%s/%s", dir, *variant ? f->name : f->soname);
	const struct tree_node *there =
		facts_lookup(l->facts, arena_printf(&l->arena, "%s/%s", facts_real(l->facts, dir),
						    path_name(path)));
	const struct object *o = f->object;

	if (there && there->entry.type != TAR_SYMLINK)
		o = facts_object(l->facts, path);
	if (o)
		cache_put(l, &l->rebuilt, o, f->soname, path, variant);
}

/*
 * ldconfig takes what is named like a library and files it under its soname, for which it makes a
 * link; in a directory of variants under its own name.
 */
static void cache_dir(struct loader *l, const char *dir, const char *variant)
{
	struct tree_nodes nodes = { 0 };
	struct filed_list list = { 0 };

	facts_list(l->facts, dir, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		const char *name = facts_name(l->facts, nodes.items[i]);
		const struct object *o;
		struct filed new;

		if (!(str_starts(name, "lib") || str_starts(name, "ld-")) || !strstr(name, ".so"))
			continue;
		o = facts_object(l->facts, arena_printf(&l->arena, "%s/%s", dir, name));
		if (!o)
			continue;
		new = (struct filed){ .soname = o->elf->soname ? o->elf->soname : name,
				      .name = name,
				      .object = o };
		new.is_link = is_plain_link(nodes.items[i], name, new.soname);
		if (new.is_link)
			new.soname = name;
		file_it(&list, &new);
	}
	for (size_t i = 0; i < list.len; i++)
		put_filed(l, &list.items[i], dir, variant);
	vec_release(&list);
	vec_release(&nodes);
}

/* A directory and its variants, once, whatever names lead to it. */
static void cache_tree(struct loader *l, const char *dir, struct map *seen)
{
	const char *real = facts_real(l->facts, dir);

	if (map_has(seen, real))
		return;
	map_put(seen, real, seen);
	cache_dir(l, dir, "");
	for (size_t i = 0; i < ARRAY_LEN(hwcaps); i++)
		cache_dir(l, arena_printf(&l->arena, "%s/glibc-hwcaps/%s", dir, hwcaps[i]),
			  hwcaps[i]);
}

static void fill_rebuilt(struct loader *l)
{
	const char *const *defaults = loader_default_dirs(l->facts, l->facts->machine, true);
	cleanup_map struct map seen = { 0 };

	for (size_t i = 0; i < l->facts->conf.len; i++)
		cache_tree(l, l->facts->conf.items[i].path, &seen);
	for (; *defaults; defaults++)
		cache_tree(l, *defaults, &seen);
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
