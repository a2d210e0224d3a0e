/*
 * The loader's configuration and cache, and the soname links, as ldconfig would leave them: from
 * /etc/ld.so.conf, its drop-ins, and the default directories. CUDA libraries get a drop-in; a
 * compat or stubs directory never does.
 * Source: ldconfig(8), glibc elf/ldconfig.c.
 */
#include <fnmatch.h>

#include "builder/finish/finish.h"
#include "formats/elf.h"
#include "formats/ldcache.h"

enum {
	ELF_HEAD_BYTES = 64 * 1024,
	ELF_DYNAMIC_BYTES_MAX = 48 * 1024 * 1024,
	CONF_DEPTH_MAX = 8,
	PROGRAM_BYTES_MAX = 8 * 1024 * 1024,
	GENERATOR_BYTES_MAX = 200
};

/* A library under the name the cache will have it. */
struct library {
	const char *soname, *name;
	const char *hwcaps;
	bool is_link;
};

struct loader {
	struct finish *f;
	struct arena arena;
	struct {
		const char **items; /* as the configuration writes them, without the first "/" */
		size_t len, cap;
	} dirs;
	struct map seen; /* where directories really are */
	struct {
		struct ldcache_entry *items;
		size_t len, cap;
	} entries;
	uint32_t flags;
	uint16_t machine;
};

static void loader_release(struct loader *l)
{
	vec_release(&l->dirs);
	vec_release(&l->entries);
	map_release(&l->seen);
	arena_release(&l->arena);
}

static void add_dir(struct loader *l, struct slice text)
{
	const struct rootfs_node *n;
	char *dir;

	while (text.len > 1 && text.data[text.len - 1] == '/')
		text.len--;
	if (!text.len || text.data[0] != '/')
		return;
	dir = arena_slice(&l->arena, slice_of(text.data + 1, text.len - 1));
	n = rootfs_resolve(l->f->rootfs, dir);
	if (!n || n->tar->type != TAR_DIR || map_has(&l->seen, n->tar->path))
		return;
	map_put(&l->seen, n->tar->path, l);
	vec_push(&l->dirs, dir);
}

static int read_conf(struct loader *l, const char *path, unsigned depth, struct error *err);

/* include PATTERN, in sorted order; the pattern's directory has no wild cards. */
static int include(struct loader *l, const char *pattern, unsigned depth, struct error *err)
{
	const char *relative = *pattern == '/' ? pattern + 1 : pattern;
	cleanup_free char *full =
		*pattern == '/' ? xstrdup(relative) : xasprintf("etc/%s", relative);
	char *slash = strrchr(full, '/');
	struct rootfs_nodes nodes = { 0 };
	int rc = 0;

	if (!slash)
		return 0;
	*slash = '\0';
	rootfs_list(l->f->rootfs, full, &nodes);
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		const char *name = strrchr(nodes.items[i]->tar->path, '/') + 1;

		if (fnmatch(slash + 1, name, FNM_PERIOD) == 0)
			rc = read_conf(l, nodes.items[i]->tar->path, depth + 1, err);
	}
	vec_release(&nodes);
	return rc;
}

static int read_conf(struct loader *l, const char *path, unsigned depth, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const struct rootfs_node *n = rootfs_file(l->f->rootfs, rootfs_resolve(l->f->rootfs, path));
	struct slice rest, line;

	if (depth > CONF_DEPTH_MAX)
		return error_set(err, ERROR_FORMAT, "/%s: includes itself", path);
	if (!n || n->tar->type != TAR_FILE)
		return 0;
	if (rootfs_read(l->f->rootfs, path, MIB, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct slice words = line, word;

		if (!slice_cut(&words, '#', &word))
			continue;
		word = slice_trim(word);
		if (slice_starts(word, "include ") || slice_starts(word, "include\t")) {
			struct slice pattern = slice_trim(slice_of(word.data + 8, word.len - 8));

			if (include(l, arena_slice(&l->arena, pattern), depth, err) < 0)
				return -1;
		} else if (!slice_starts(word, "hwcap ")) {
			add_dir(l, word);
		}
	}
	return 0;
}

/* The first `want` bytes of a file's content, appended to what is there. */
static int read_more(struct stream *s, uint64_t want, struct strbuf *bytes, struct error *err)
{
	size_t more = (size_t)(want - bytes->len);
	cleanup_free uint8_t *buf = xmalloc(more);

	if (stream_read_exact(s, buf, more, err) < 0)
		return -1;
	strbuf_add(bytes, buf, more);
	return 0;
}

/* `len` bytes at `offset` of a file that lies in the open; false for one in an archive. */
static bool window(const struct rootfs_node *n, uint64_t offset, uint64_t len, uint8_t *out)
{
	const struct content *c = &rootfs_entry(n)->content;
	struct error ignored = { 0 };
	cleanup_stream struct stream *s = NULL;
	struct content part = *c;

	if (c->kind != CONTENT_RANGE || offset > n->tar->size || len > n->tar->size - offset)
		return false;
	part.offset += offset;
	part.has_digest = false;
	s = content_open(&part, len, &ignored);
	return s && stream_read_exact(s, out, (size_t)len, &ignored) == 0;
}

static uint64_t little(const uint8_t *p, size_t bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | p[bytes];
	return v;
}

/* Where the file has an address, by the program headers in its head; 0: nowhere. */
static uint64_t file_offset(struct slice head, uint64_t address)
{
	uint64_t at = little(head.data + 32, 8), count = little(head.data + 56, 2);
	struct slice ph;

	for (uint64_t i = 0; i < count && slice_sub(head, at + 56 * i, 56, &ph); i++) {
		uint64_t from = little(ph.data + 16, 8), size = little(ph.data + 32, 8);

		if (little(ph.data, 4) == 1 && address >= from && address - from < size)
			return little(ph.data + 8, 8) + (address - from);
	}
	return 0;
}

/*
 * The soname of a 64-bit library whose dynamic section is far from its head, read where it is: the
 * section, then the one string. NULL when it has none, or lies where that cannot be read.
 * Source: System V ABI, "Dynamic Section".
 */
static const char *far_soname(struct loader *l, const struct rootfs_node *n, struct slice head)
{
	enum { SONAME_BYTES_MAX = 256, DYNAMIC_BYTES_MAX = 64 * 1024 };
	uint64_t at, count, strings = 0, soname = 0, offset;
	cleanup_free uint8_t *dynamic = NULL;
	uint8_t name[SONAME_BYTES_MAX + 1] = { 0 };
	struct slice ph;

	if (head.len < 64 || head.data[4] != 2 || head.data[5] != 1)
		return NULL;
	at = little(head.data + 32, 8);
	count = little(head.data + 56, 2);
	for (uint64_t i = 0; i < count && slice_sub(head, at + 56 * i, 56, &ph); i++) {
		uint64_t size = little(ph.data + 32, 8);

		if (little(ph.data, 4) != 2 || size > DYNAMIC_BYTES_MAX)
			continue;
		dynamic = xcalloc(size + 16, 1);
		if (!window(n, little(ph.data + 8, 8), size, dynamic))
			return NULL;
		for (uint64_t k = 0; k + 16 <= size && little(dynamic + k, 8); k += 16) {
			uint64_t tag = little(dynamic + k, 8), value = little(dynamic + k + 8, 8);

			strings = tag == 5 ? value : strings;
			soname = tag == 14 ? value : soname;
		}
		break;
	}
	offset = strings && soname ? file_offset(head, strings) : 0;
	if (!offset || soname > n->tar->size || offset + soname >= n->tar->size ||
	    !window(n, offset + soname, MIN(n->tar->size - offset - soname, SONAME_BYTES_MAX),
		    name))
		return NULL;
	return arena_strdup(&l->arena, (const char *)name);
}

/*
 * The file's head up to what tells its soname. A library of hundreds of megabytes may have that at
 * its end; then the head alone is read, and the file's name must do: large ones are NVIDIA's, whose
 * wheels name each file by its soname.
 */
static int read_head(const struct rootfs_node *n, struct strbuf *bytes, struct error *err)
{
	uint64_t want = MIN(n->tar->size, (uint64_t)ELF_HEAD_BYTES), end;
	cleanup_stream struct stream *s =
		content_open(&rootfs_entry(n)->content, n->tar->size, err);

	if (!s || read_more(s, want, bytes, err) < 0)
		return -1;
	if (!elf_is(strbuf_slice(bytes)))
		return 0;
	end = elf_dynamic_end(strbuf_slice(bytes));
	if (end <= want || end > n->tar->size || end > ELF_DYNAMIC_BYTES_MAX)
		return 0;
	return read_more(s, end, bytes, err);
}

/*
 * The soname of a shared object for our machine in *out (the file's own name when it has none);
 * 0 when it is none of those, -1 when it could not be read.
 */
static int read_soname(struct loader *l, struct rootfs_node *n, const char *name, const char **out,
		       struct error *err)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	cleanup_elf struct elf elf = { 0 };
	struct error ignored = { 0 };

	if (rootfs_entry(n)->content.soname) {
		*out = arena_strdup(&l->arena, rootfs_entry(n)->content.soname);
		return **out != '\0';
	}
	if (n->tar->size < 64)
		return 0;
	if (read_head(n, &bytes, err) < 0)
		return -1;
	if (!elf_is(strbuf_slice(&bytes)) || elf_read(strbuf_slice(&bytes), &elf, &ignored) < 0 ||
	    elf.type != ELF_TYPE_DYN || elf.machine != l->machine || !elf.is64 || elf.big_endian)
		return 0;
	*out = elf.soname.data ? arena_slice(&l->arena, elf.soname) : NULL;
	if (!*out && bytes.len < n->tar->size)
		*out = far_soname(l, n, strbuf_slice(&bytes));
	if (!*out)
		*out = arena_strdup(&l->arena, name);
	return !strchr(*out, '/') && **out;
}

struct libraries {
	struct library *items;
	size_t len, cap;
};

/* Of two files with one soname: a file before a link, then the newer name. */
static void keep(struct libraries *libraries, const struct library *new)
{
	for (size_t i = 0; i < libraries->len; i++) {
		struct library *old = &libraries->items[i];

		if (!str_equal(old->soname, new->soname))
			continue;
		if ((!new->is_link && old->is_link) ||
		    (new->is_link == old->is_link &&ldcache_compare(old->name, new->name) < 0))
			*old = *new;
		return;
	}
	vec_push(libraries, *new);
}

static int look_at(struct loader *l, struct rootfs_node *n, struct libraries *out,
		   struct error *err)
{
	const char *name = strrchr(n->tar->path, '/') + 1;
	struct rootfs_node *file =
		rootfs_file(l->f->rootfs, rootfs_resolve(l->f->rootfs, n->tar->path));
	struct library new = { .name = name, .is_link = n->tar->type == TAR_SYMLINK };
	int known;

	if (!ldcache_takes_name(name) || !file || file->tar->type != TAR_FILE || !file->owner)
		return 0;
	known = read_soname(l, file, name, &new.soname, err);
	if (known <= 0)
		return known;
	if (new.is_link && !str_equal(name, new.soname) &&
	    !(str_ends(name, ".so") && str_starts(new.soname, name)))
		new.is_link = false;
	if (new.is_link)
		new.soname = name;
	keep(out, &new);
	return 0;
}

/*
 * Below glibc-hwcaps ldconfig makes no links and names the files themselves; elsewhere it makes the
 * links that programs are built for, and names those.
 */
static int scan(struct loader *l, const char *dir, const char *hwcaps, struct error *err)
{
	const bool links = !*hwcaps;

	const struct rootfs_node *at = rootfs_resolve(l->f->rootfs, dir);
	struct libraries libraries = { 0 };
	struct rootfs_nodes nodes = { 0 };
	int rc = 0;

	if (!at || at->tar->type != TAR_DIR)
		return 0;
	rootfs_list(l->f->rootfs, at->tar->path, &nodes);
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		if (nodes.items[i]->tar->type != TAR_DIR)
			rc = look_at(l, nodes.items[i], &libraries, err);
	}
	for (size_t i = 0; i < libraries.len && rc == 0; i++) {
		const struct library *b = &libraries.items[i];
		struct ldcache_entry e = { .soname = b->soname,
					   .flags = l->flags,
					   .hwcaps = hwcaps };

		e.path = arena_printf(&l->arena, "/%s/%s", dir, links ? b->soname : b->name);
		if (links && !b->is_link && !str_equal(b->name, b->soname)) {
			cleanup_free char *path = xasprintf("%s/%s", at->tar->path, b->soname);

			finish_link(l->f, path, b->name);
		}
		vec_push(&l->entries, e);
	}
	vec_release(&nodes);
	vec_release(&libraries);
	return rc;
}

static int scan_hwcaps(struct loader *l, const char *dir, struct error *err)
{
	cleanup_free char *base = xasprintf("%s/glibc-hwcaps", dir);
	const struct rootfs_node *at = rootfs_resolve(l->f->rootfs, base);
	struct rootfs_nodes nodes = { 0 };
	int rc = 0;

	if (!at || at->tar->type != TAR_DIR)
		return 0;
	rootfs_list(l->f->rootfs, at->tar->path, &nodes);
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		const char *name = strrchr(nodes.items[i]->tar->path, '/') + 1;

		if (nodes.items[i]->tar->type == TAR_DIR)
			rc = scan(l, arena_printf(&l->arena, "%s/%s", base, name),
				  arena_strdup(&l->arena, name), err);
	}
	vec_release(&nodes);
	return rc;
}

static bool is_below(const char *path, const char *dir)
{
	return dir && str_starts(path, dir) && path[strlen(dir)] == '/';
}

/*
 * Folders of the image that hold CUDA libraries and that no default covers; of several toolkits
 * that of the stack first, whose libraries are then found where others have the same.
 */
static void cuda_dirs(struct finish *f, struct strbuf *out)
{
	cleanup_free char *own = finish_toolkit(f);
	struct rootfs_nodes all = { 0 };
	cleanup_map struct map dirs = { 0 };
	const struct map_entry *sorted;

	rootfs_sorted(f->rootfs, &all);
	for (size_t i = 0; i < all.len; i++) {
		const struct rootfs_node *n = all.items[i];
		const char *path = n->tar->path, *slash = strrchr(path, '/');
		cleanup_free char *dir = NULL;

		if (!n->owner || n->tar->type == TAR_DIR || !slash ||
		    !ldcache_takes_name(slash + 1) || !strstr(slash, ".so."))
			continue;
		dir = xstrndup(path, (size_t)(slash - path));
		if (!str_ends(dir, "/lib") && !str_ends(dir, "/lib64"))
			continue;
		if ((str_starts(dir, "usr/local/cuda-") || strstr(dir, "-packages/nvidia/")) &&
		    !strstr(dir, "/compat") && !strstr(dir, "/stubs"))
			map_put(&dirs, dir, f);
	}
	vec_release(&all);
	sorted = map_sorted(&dirs);
	for (size_t i = 0; i < 2 * dirs.len; i++) {
		const char *dir = sorted[i % dirs.len].key;

		if (is_below(dir, own) == (i < dirs.len))
			strbuf_addf(out, "/%s\n", dir);
	}
}

static int configure(struct finish *f, struct error *err)
{
	cleanup_strbuf struct strbuf cuda = { 0 };

	finish_text(f, "etc/ld.so.conf", 0644, slice_str("include /etc/ld.so.conf.d/*.conf\n"));
	finish_dir(f, "etc/ld.so.conf.d", 0755, 0, 0);
	cuda_dirs(f, &cuda);
	if (cuda.len)
		finish_text(f, "etc/ld.so.conf.d/gpuimg-cuda.conf", 0644, strbuf_slice(&cuda));
	return finish_flush(f, err);
}

/*
 * What the image's own ldconfig calls itself in a cache it writes, so that ours is the same bytes:
 * a text in the program, such as "ldconfig (Debian GLIBC 2.36-9) stable release version 2.36".
 */
static const char *generator(struct loader *l)
{
	static const char *const programs[] = { "usr/sbin/ldconfig.real", "usr/sbin/ldconfig",
						"sbin/ldconfig.real", "sbin/ldconfig" };
	static const char begin[] = "ldconfig (", middle[] = ") stable release version ";

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		cleanup_strbuf struct strbuf bytes = { 0 };
		struct error ignored = { 0 };
		const char *at, *end;

		if (rootfs_read(l->f->rootfs, programs[i], PROGRAM_BYTES_MAX, &bytes, &ignored) < 0)
			continue;
		for (at = bytes.data;
		     (at = memmem(at, bytes.len - (size_t)(at - bytes.data), begin, strlen(begin)));
		     at++) {
			size_t left = bytes.len - (size_t)(at - bytes.data);

			end = memchr(at, 0, MIN(left, (size_t)GENERATOR_BYTES_MAX));
			if (end && memmem(at, (size_t)(end - at), middle, strlen(middle)))
				return arena_strdup(&l->arena, at);
		}
	}
	return "gpuimg";
}

static int make_cache(struct loader *l, struct error *err)
{
	/* Debian's glibc has its multiarch directory in ld.so.conf.d and no lib64 built in */
	static const char *const defaults[] = { "/lib64", "/usr/lib64", "/lib", "/usr/lib" };
	cleanup_free char *multiarch = xasprintf("usr/lib/%s", finish_triplet(&l->f->platform));
	cleanup_strbuf struct strbuf cache = { 0 };

	if (read_conf(l, "etc/ld.so.conf", 0, err) < 0)
		return -1;
	for (size_t i = rootfs_lookup(l->f->rootfs, multiarch) ? 2 : 0; i < ARRAY_LEN(defaults);
	     i++)
		add_dir(l, slice_str(defaults[i]));
	for (size_t i = 0; i < l->dirs.len; i++) {
		if (scan(l, l->dirs.items[i], "", err) < 0 ||
		    scan_hwcaps(l, l->dirs.items[i], err) < 0)
			return -1;
	}
	ldcache_write_as(generator(l), l->entries.items, l->entries.len, &cache);
	return finish_update(l->f, "etc/ld.so.cache", 0644, strbuf_slice(&cache), err);
}

/* True when the image has glibc's loader: only that reads a cache. */
static bool has_glibc(struct finish *f)
{
	return rootfs_resolve(f->rootfs, "lib64/ld-linux-x86-64.so.2") ||
	       rootfs_resolve(f->rootfs, "lib/ld-linux-aarch64.so.1");
}

/* Something above the base image that the loader has to find, or where to look. */
static bool brings_libraries(struct finish *f)
{
	struct rootfs_nodes all = { 0 };
	bool found = false;

	rootfs_sorted(f->rootfs, &all);
	for (size_t i = 0; i < all.len && !found; i++) {
		const struct rootfs_node *n = all.items[i];
		const char *slash = strrchr(n->tar->path, '/');

		if (!n->owner || n->owner->kind == COMPONENT_BASE || n->tar->type == TAR_DIR)
			continue;
		found = ldcache_takes_name(slash ? slash + 1 : n->tar->path) ||
			str_starts(n->tar->path, "etc/ld.so.conf");
	}
	vec_release(&all);
	return found;
}

int finish_loader(struct finish *f, struct error *err)
{
	struct loader l = { .f = f };
	bool arm = str_equal(f->platform.architecture, "arm64");
	int rc;

	if (!has_glibc(f) || (f->base && !brings_libraries(f)))
		return 0; /* the base image's cache is right as it is */
	l.flags = arm ? LDCACHE_AARCH64_LIB64 : LDCACHE_X86_64_LIB64;
	l.machine = arm ? ELF_MACHINE_AARCH64 : ELF_MACHINE_X86_64;
	rc = configure(f, err);
	if (rc == 0)
		rc = make_cache(&l, err);
	if (rc == 0)
		rc = finish_flush(f, err);
	loader_release(&l);
	return rc;
}
