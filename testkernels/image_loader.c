#include "testkernels/image_loader.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/stream.h"
#include "formats/ldcache.h"
#include "testkernels/rootdir.h"

enum { CONF_DEPTH_MAX = 8, CONF_MAX = 1 << 20, CACHE_MAX = 64 << 20, DIRS_MAX = 4096 };

static const struct known_loader {
	const char *path;
	uint16_t machine;
	bool musl;
} known_loaders[] = {
	{ "/lib64/ld-linux-x86-64.so.2", ELF_MACHINE_X86_64, false },
	{ "/lib/ld-linux-aarch64.so.1", ELF_MACHINE_AARCH64, false },
	{ "/lib/ld-musl-x86_64.so.1", ELF_MACHINE_X86_64, true },
	{ "/lib/ld-musl-aarch64.so.1", ELF_MACHINE_AARCH64, true },
};

/* Programs whose interpreter tells when none of the known names is there. */
static const char *const known_programs[] = { "/bin/sh", "/usr/bin/env", "/bin/bash",
					      "/usr/bin/python3", "/bin/busybox" };

void image_loader_release(struct image_loader *l)
{
	vec_release(&l->dirs);
	vec_release(&l->forgotten);
}

static bool has(const char *const *items, size_t len, const char *s)
{
	for (size_t i = 0; i < len; i++) {
		if (str_equal(items[i], s))
			return true;
	}
	return false;
}

/* The directory `dir` of the image, once, when it exists. */
static void add_dir(int rootfd, struct image_loader *l, struct arena *arena, const char *dir)
{
	cleanup_strbuf struct strbuf path = { 0 };
	char *found;

	if (dir[0] != '/' || !rootdir_resolve(rootfd, dir, &path))
		return;
	found = arena_printf(arena, "/%s", strbuf_text(&path));
	if (l->dirs.len < DIRS_MAX && !has(l->dirs.items, l->dirs.len, found))
		vec_push(&l->dirs, found);
}

static void add_list(int rootfd, struct image_loader *l, struct arena *arena, struct slice list)
{
	struct slice part;
	char sep = memchr(list.data ? (const char *)list.data : "", '\n', list.len) ? '\n' : ':';

	while (slice_cut(&list, sep, &part))
		add_dir(rootfd, l, arena, arena_slice(arena, slice_trim(part)));
}

/* A text file of the image, or false when it is missing or too large. */
static bool read_text(int rootfd, const char *path, uint64_t limit, struct strbuf *out)
{
	struct error ignored = { 0 };
	int fd = rootdir_open(rootfd, path, NULL, &ignored);
	struct stream *s = fd < 0 ? NULL : stream_fd(fd, path);
	bool ok = s && stream_read_all(s, limit, out, &ignored) == 0;

	stream_close(s);
	return ok;
}

static const struct known_loader *loader_of_program(int rootfd)
{
	for (size_t i = 0; i < ARRAY_LEN(known_programs); i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		cleanup_elf struct elf elf = { 0 };
		struct error ignored = { 0 };

		if (!read_text(rootfd, known_programs[i], 16 * MIB, &text) ||
		    elf_read(strbuf_slice(&text), &elf, &ignored) < 0)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(known_loaders); k++) {
			const char *slash = strrchr(known_loaders[k].path, '/');

			if (elf.interp.len > strlen(slash) &&
			    str_ends((const char *)elf.interp.data, slash))
				return &known_loaders[k];
		}
	}
	return NULL;
}

static void find_loader(int rootfd, struct arena *arena, struct image_loader *out)
{
	const struct known_loader *of_program = loader_of_program(rootfd);

	for (int pass = 0; pass < 2 && !out->path; pass++) {
		for (size_t i = 0; i < ARRAY_LEN(known_loaders) && !out->path; i++) {
			const struct known_loader *k = &known_loaders[i];
			cleanup_strbuf struct strbuf path = { 0 };

			if ((pass == 0 && of_program && k != of_program) ||
			    !rootdir_resolve(rootfd, k->path, &path))
				continue;
			out->path = arena_strdup(arena, strbuf_text(&path));
			out->machine = k->machine;
			out->musl = k->musl;
		}
	}
}

struct conf {
	int rootfd;
	struct arena *arena;
	VEC(const char *) dirs;
};

static void conf_read(struct conf *c, const char *path, unsigned depth);

/* "include /etc/ld.so.conf.d/(star).conf": a pattern in the last part only, sorted. */
static void conf_include(struct conf *c, const char *pattern, unsigned depth)
{
	const char *slash = strrchr(pattern, '/');
	cleanup_free char *dir = xstrndup(pattern, slash ? (size_t)(slash - pattern) : 0);
	cleanup_place struct rootdir_place place = { .dirfd = -1 };
	cleanup_free char *inside = fs_join(dir, "x");
	struct error ignored = { 0 };
	struct fs_names names = { 0 };
	cleanup_fd int fd = -1;

	if (!slash || strchr(pattern, '[') ||
	    rootdir_find(c->rootfd, inside, ROOTDIR_NOFOLLOW, &place, &ignored) < 0)
		return;
	fd = openat(place.dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fs_list(fd, ".", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		const char *star = strchr(slash + 1, '*');
		size_t head = star ? (size_t)(star - slash - 1) : 0;
		cleanup_free char *file = fs_join(dir, names.items[i]);

		if (star ? strncmp(names.items[i], slash + 1, head) == 0 &&
				    strlen(names.items[i]) >= head + strlen(star + 1) &&
				    str_ends(names.items[i], star + 1)
			 : str_equal(names.items[i], slash + 1))
			conf_read(c, file, depth + 1);
	}
	fs_names_release(&names);
}

static void conf_read(struct conf *c, const char *path, unsigned depth)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line;

	if (depth > CONF_DEPTH_MAX || !read_text(c->rootfd, path, CONF_MAX, &text))
		return;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct slice before = line;

		if (slice_cut(&before, '#', &line))
			line = slice_trim(line);
		if (slice_starts(line, "include ") || slice_starts(line, "include\t"))
			conf_include(c,
				     arena_slice(c->arena,
						 slice_trim(slice_of(line.data + 8, line.len - 8))),
				     depth);
		else if (line.len && line.data[0] == '/' && c->dirs.len < DIRS_MAX)
			vec_push(&c->dirs, arena_slice(c->arena, line));
	}
}

static bool holds_libraries(int rootfd, const char *dir)
{
	struct fs_names names = { 0 };
	struct error ignored = { 0 };
	bool any = false;

	if (fs_list(rootfd, dir + 1, &names, &ignored) < 0)
		return false;
	for (size_t i = 0; i < names.len; i++)
		any |= strstr(names.items[i], ".so") != NULL;
	fs_names_release(&names);
	return any;
}

/* The directories the cache knows, in the order in which ld.so.conf gives them. */
static void add_cached(int rootfd, struct image_loader *l, struct arena *arena)
{
	static const char *const defaults[] = { "/lib", "/usr/lib", "/lib64", "/usr/lib64" };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_ldcache struct ldcache cache = { 0 };
	struct conf conf = { .rootfd = rootfd, .arena = arena };
	struct image_loader known = { 0 };
	struct error ignored = { 0 };

	if (!read_text(rootfd, "/etc/ld.so.cache", CACHE_MAX, &text) ||
	    ldcache_read(strbuf_slice(&text), &cache, &ignored) < 0)
		return;
	l->has_cache = true;
	for (size_t i = 0; i < cache.len; i++) {
		const char *path = cache.items[i].path, *slash = strrchr(path, '/');
		const char *caps = strstr(path, "/glibc-hwcaps/");

		/* entries of one directory mostly follow each other */
		if (slash)
			add_dir(rootfd, &known, arena,
				arena_slice(arena, slice_of(path, (size_t)((caps ? caps : slash) -
									   path))));
	}
	conf_read(&conf, "/etc/ld.so.conf", 0);
	for (size_t i = 0; i < conf.dirs.len; i++) {
		cleanup_strbuf struct strbuf path = { 0 };
		char *dir;

		if (!rootdir_resolve(rootfd, conf.dirs.items[i], &path))
			continue;
		dir = arena_printf(arena, "/%s", strbuf_text(&path));
		if (has(known.dirs.items, known.dirs.len, dir))
			add_dir(rootfd, l, arena, dir);
		else if (!has(defaults, ARRAY_LEN(defaults), dir) && holds_libraries(rootfd, dir))
			vec_push(&l->forgotten, dir);
	}
	for (size_t i = 0; i < known.dirs.len; i++)
		add_dir(rootfd, l, arena, known.dirs.items[i]);
	vec_release(&conf.dirs);
	image_loader_release(&known);
}

static void add_defaults(int rootfd, struct image_loader *l, struct arena *arena)
{
	static const char *const glibc[] = {
		"/lib/x86_64-linux-gnu",
		"/usr/lib/x86_64-linux-gnu",
		"/lib/aarch64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu",
		"/lib64",
		"/usr/lib64",
		"/lib",
		"/usr/lib",
	};
	static const char *const musl[] = { "/lib", "/usr/local/lib", "/usr/lib" };
	cleanup_free char *path_file = NULL;
	cleanup_strbuf struct strbuf text = { 0 };

	if (!l->musl) {
		for (size_t i = 0; i < ARRAY_LEN(glibc); i++)
			add_dir(rootfd, l, arena, glibc[i]);
		return;
	}
	path_file = xasprintf("/etc/ld-musl-%s.path",
			      l->machine == ELF_MACHINE_X86_64 ? "x86_64" : "aarch64");
	if (read_text(rootfd, path_file, CONF_MAX, &text)) {
		add_list(rootfd, l, arena, slice_trim(strbuf_slice(&text)));
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(musl); i++)
		add_dir(rootfd, l, arena, musl[i]);
}

int image_loader_find(int rootfd, const char *library_path, struct arena *arena,
		      struct image_loader *out, struct error *err)
{
	struct stat st;

	*out = (struct image_loader){ 0 };
	if (fstat(rootfd, &st) < 0)
		return error_set_errno(err, errno, "look at the root");
	find_loader(rootfd, arena, out);
	if (library_path)
		add_list(rootfd, out, arena, slice_str(library_path));
	if (!out->musl)
		add_cached(rootfd, out, arena);
	add_defaults(rootfd, out, arena);
	return 0;
}
