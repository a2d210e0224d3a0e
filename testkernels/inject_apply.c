/*
 * The hooks' work, on a layer of files over the image's tree.
 * Source: NVIDIA/nvidia-container-toolkit cmd/nvidia-cdi-hook; ldconfig(8).
 */
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/stream.h"
#include "formats/ldcache.h"
#include "oci/cdi_devices.h"
#include "testkernels/inject_parts.h"
#include "testkernels/rootdir.h"

enum { CACHE_MAX = 64 << 20, NAMES_MAX = 20000 };

struct applying {
	struct injection *in;
	int rootfd;
	const struct image_loader *loader;
	int layer; /* directory of our files */
	struct arena *arena;
	VEC(const char *) folders; /* that the loader is to know, before what it knows */
};

/*
 * Where `path` ends up below the image's root: links of directories that exist are followed, so
 * that the layer never puts a directory in the place of the image's "/lib -> usr/lib".
 */
static char *place_of(const struct applying *a, const char *path)
{
	cleanup_free char *dir = xstrdup(path), *rest = xstrdup("");
	cleanup_strbuf struct strbuf found = { 0 };
	char *slash = strrchr(dir, '/');

	while (slash) {
		char *next = xasprintf("%s%s%s", slash + 1, *rest ? "/" : "", rest);

		free(rest);
		rest = next;
		*slash = '\0';
		if (!*dir || rootdir_resolve(a->rootfd, dir, &found))
			break;
		slash = strrchr(dir, '/');
	}
	return xasprintf("%s%s%s", strbuf_text(&found), found.len ? "/" : "", rest);
}

/* Directories of the layer show their mode in place of the image's: they get that one. */
static int make_parents(const struct applying *a, const char *place, struct error *err)
{
	for (const char *slash = strchr(place, '/'); slash; slash = strchr(slash + 1, '/')) {
		cleanup_free char *dir = xstrndup(place, (size_t)(slash - place));
		struct stat st;
		bool there = fstatat(a->rootfd, dir, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			     S_ISDIR(st.st_mode);

		if (mkdirat(a->layer, dir, there ? st.st_mode & 07777 : 0755) < 0 &&
		    errno != EEXIST)
			return error_set_errno(err, errno, "create %s", dir);
		if (there && fchownat(a->layer, dir, st.st_uid, st.st_gid, 0) < 0)
			errno = 0; /* only root can, and only there does it matter */
	}
	return 0;
}

static int put_file(const struct applying *a, const char *path, struct slice bytes,
		    struct error *err)
{
	cleanup_free char *place = place_of(a, path);

	if (make_parents(a, place, err) < 0)
		return -1;
	return fs_write(a->layer, place, bytes, 0644, err);
}

static int put_link(const struct applying *a, const char *path, const char *target,
		    struct error *err)
{
	cleanup_free char *place = place_of(a, path);

	if (make_parents(a, place, err) < 0)
		return -1;
	if (unlinkat(a->layer, place, 0) < 0 && errno != ENOENT)
		return error_set_errno(err, errno, "replace %s", path);
	if (symlinkat(target, a->layer, place) < 0)
		return error_set_errno(err, errno, "create the link %s", path);
	return 0;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* An empty file, or directory, to mount over; never through a link of the image. */
static int put_mount_point(const struct applying *a, const struct cdi_mount *m, struct error *err)
{
	cleanup_free char *place = NULL;
	struct stat st;

	if (cdi_path_is_fresh(m->container_path))
		return 0; /* on file systems that the mode makes itself */
	place = place_of(a, m->container_path);
	if (is_dir(m->host_path) || (m->type && str_equal(m->type, "tmpfs"))) {
		if (fstatat(a->rootfd, place, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
			return 0;
		if (make_parents(a, place, err) < 0)
			return -1;
		if (mkdirat(a->layer, place, 0755) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "create %s", place);
		return 0;
	}
	if (fstatat(a->rootfd, place, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
		return 0;
	return put_file(a, m->container_path, slice_str(""), err);
}

/* --- the loader's cache */

struct cache {
	struct ldcache list;
	struct map seen; /* "name path" */
	uint32_t flags;
};

static void cache_add(struct cache *c, struct arena *arena, const char *name, const char *path)
{
	cleanup_free char *key = xasprintf("%s %s", name, path);
	struct ldcache_entry e = { .flags = c->flags, .hwcaps = "" };

	if (map_put(&c->seen, key, c))
		return;
	e.soname = arena_strdup(arena, name);
	e.path = arena_strdup(arena, path);
	vec_push(&c->list, e);
}

static bool is_library_name(const char *name)
{
	return (str_starts(name, "lib") || str_starts(name, "ld-")) && strstr(name, ".so");
}

/* What ldconfig would find in a directory of the image. */
static void cache_scan_image(const struct applying *a, struct cache *c, const char *dir)
{
	cleanup_place struct rootdir_place place = { .dirfd = -1 };
	cleanup_free char *inside = fs_join(dir, "x");
	struct fs_names names = { 0 };
	struct error ignored = { 0 };
	cleanup_fd int fd = -1;

	if (rootdir_find(a->rootfd, inside, ROOTDIR_NOFOLLOW, &place, &ignored) < 0)
		return;
	fd = openat(place.dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fs_list(fd, ".", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.len && i < NAMES_MAX; i++) {
		cleanup_free char *path = fs_join(dir, names.items[i]);
		cleanup_fd int file = is_library_name(names.items[i])
					      ? rootdir_open(a->rootfd, path, NULL, &ignored)
					      : -1;
		cleanup_free char *proc = xasprintf("/proc/self/fd/%d", file);
		const char *soname =
			file < 0 ? NULL : cdi_devices_soname(proc, a->loader->machine, a->arena);

		if (soname)
			cache_add(c, a->arena, names.items[i], path);
	}
	fs_names_release(&names);
}

/* Injected libraries in that directory, and the loader's links to them as ldconfig makes them. */
static int cache_add_injected(const struct applying *a, struct cache *c, const char *dir,
			      struct error *err)
{
	for (size_t i = 0; i < a->in->edits.mounts.len; i++) {
		const struct cdi_mount *m = &a->in->edits.mounts.items[i];
		const char *slash = strrchr(m->container_path, '/'), *soname;
		cleanup_free char *link = NULL;

		if (strncmp(m->container_path, dir, strlen(dir)) != 0 ||
		    m->container_path + strlen(dir) != slash || !is_library_name(slash + 1))
			continue;
		soname = cdi_devices_soname(m->host_path, a->loader->machine, a->arena);
		if (!soname)
			continue;
		link = fs_join(dir, soname);
		if (!str_equal(soname, slash + 1) && !strchr(soname, '/') &&
		    put_link(a, link, slash + 1, err) < 0)
			return -1;
		cache_add(c, a->arena, soname, link);
	}
	return 0;
}

static void cache_keep(const struct applying *a, struct cache *c)
{
	struct error ignored = { 0 };
	int fd = rootdir_open(a->rootfd, "/etc/ld.so.cache", NULL, &ignored);
	struct stream *s = fd < 0 ? NULL : stream_fd(fd, "ld.so.cache");
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_ldcache struct ldcache old = { 0 };

	if (s && stream_read_all(s, CACHE_MAX, &text, &ignored) == 0 &&
	    ldcache_read(strbuf_slice(&text), &old, &ignored) == 0) {
		for (size_t i = 0; i < old.len; i++) {
			struct ldcache_entry e = old.items[i];
			cleanup_free char *key = xasprintf("%s %s", e.soname, e.path);

			if (map_put(&c->seen, key, c))
				continue;
			e.soname = arena_strdup(a->arena, e.soname);
			e.path = arena_strdup(a->arena, e.path);
			e.hwcaps = arena_strdup(a->arena, e.hwcaps);
			vec_push(&c->list, e);
		}
	}
	stream_close(s);
}

static int write_musl_path(const struct applying *a, struct error *err)
{
	cleanup_free char *path =
		xasprintf("/etc/ld-musl-%s.path",
			  a->loader->machine == ELF_MACHINE_AARCH64 ? "aarch64" : "x86_64");
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < a->loader->dirs.len; i++)
		strbuf_addf(&text, "%s\n", a->loader->dirs.items[i]);
	for (size_t i = 0; i < a->folders.len; i++)
		strbuf_addf(&text, "%s\n", a->folders.items[i]);
	return put_file(a, path, strbuf_slice(&text), err);
}

/*
 * What `ldconfig` over the image would give after the folders were named before its own
 * configuration. An image whose cache had forgotten directories of its configuration is mended by
 * that, as it is in production.
 */
static int update_cache(const struct applying *a, struct error *err)
{
	struct cache c = { .flags = a->loader->machine == ELF_MACHINE_AARCH64
					    ? LDCACHE_AARCH64_LIB64
					    : LDCACHE_X86_64_LIB64 };
	cleanup_strbuf struct strbuf conf = { 0 }, bytes = { 0 };
	int rc = 0;

	if (a->loader->musl)
		return write_musl_path(a, err);
	for (size_t i = 0; rc == 0 && i < a->folders.len; i++) {
		strbuf_addf(&conf, "%s\n", a->folders.items[i]);
		rc = cache_add_injected(a, &c, a->folders.items[i], err);
		cache_scan_image(a, &c, a->folders.items[i]);
	}
	cache_keep(a, &c);
	for (size_t i = 0; i < a->loader->forgotten.len; i++)
		cache_scan_image(a, &c, a->loader->forgotten.items[i]);
	for (size_t i = 0; !a->loader->has_cache && i < a->loader->dirs.len; i++)
		cache_scan_image(a, &c, a->loader->dirs.items[i]);
	ldcache_write(c.list.items, c.list.len, &bytes);
	if (rc == 0)
		rc = put_file(a, "/etc/ld.so.conf.d/00-nvcr-gpuimg.conf", strbuf_slice(&conf), err);
	if (rc == 0)
		rc = put_file(a, "/etc/ld.so.cache", strbuf_slice(&bytes), err);
	vec_release(&c.list);
	map_release(&c.seen);
	return rc;
}

/* --- hooks */

static int hook_symlinks(struct applying *a, const struct cdi_hook *h, struct error *err)
{
	for (size_t i = 0; i < h->args.count; i++) {
		const char *value = cdi_hook_flag(&h->args, &i, "link");
		const char *sep = value ? strstr(value, "::") : NULL;
		cleanup_free char *target =
			xstrndup(value ? value : "", sep ? (size_t)(sep - value) : 0);

		if (!sep || !*target || sep[2] != '/')
			continue;
		if (!cdi_path_is_fresh(sep + 2) && put_link(a, sep + 2, target, err) < 0)
			return -1;
	}
	return 0;
}

static int hook_ldcache(struct applying *a, const struct cdi_hook *h, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < h->args.count; i++) {
		const char *value = cdi_hook_flag(&h->args, &i, "folder");

		if (value && value[0] == '/')
			vec_push(&a->folders, value);
	}
	return 0;
}

static uint64_t major_of(const char *version)
{
	struct slice rest = slice_str(version), part;
	uint64_t n = 0;

	return slice_cut(&rest, '.', &part) && slice_u64(part, &n) ? n : 0;
}

/*
 * The image's forward-compatibility library comes first when it is newer than the host's driver.
 * NVIDIA's hook also asks a note in the library for which drivers it serves; the major versions
 * decide here.
 */
static int hook_compat(struct applying *a, const struct cdi_hook *h, struct error *err)
{
	static const char dir[] = "/usr/local/cuda/compat";
	cleanup_place struct rootdir_place place = { .dirfd = -1 };
	struct fs_names names = { 0 };
	struct error ignored = { 0 };
	const char *host = NULL, *own = NULL;
	cleanup_fd int fd = -1;
	size_t found = 0;

	(void)err;
	for (size_t i = 0; i < h->args.count; i++) {
		const char *value = cdi_hook_flag(&h->args, &i, "host-driver-version");

		host = value ? value : host;
	}
	if (!host || rootdir_find(a->rootfd, "/usr/local/cuda/compat/x", ROOTDIR_NOFOLLOW, &place,
				  &ignored) < 0)
		return 0;
	fd = openat(place.dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fs_list(fd, ".", &names, &ignored) < 0)
		return 0;
	for (size_t i = 0; i < names.len; i++) {
		const char *rest = names.items[i] + strlen("libcuda.so.");

		if (str_starts(names.items[i], "libcuda.so.") && strchr(rest, '.')) {
			own = arena_strdup(a->arena, rest);
			found++;
		}
	}
	fs_names_release(&names);
	if (found == 1 && major_of(own) > major_of(host)) {
		vec_reserve(&a->folders, 1);
		memmove(a->folders.items + 1, a->folders.items,
			a->folders.len * sizeof(*a->folders.items));
		a->folders.items[0] = dir;
		a->folders.len++;
		inject_note(a->in, "cuda-compat",
			    arena_printf(a->arena,
					 "the image's forward-compatibility library %s comes "
					 "before the host's driver %s",
					 own, host));
	}
	return 0;
}

static int hook_nothing(struct applying *a, const struct cdi_hook *h, struct error *err)
{
	(void)a;
	(void)h;
	(void)err;
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct applying *a, const struct cdi_hook *h, struct error *err);
} hooks[] = {
	{ "create-symlinks", hook_symlinks },
	{ "create-soname-symlinks", hook_ldcache },
	{ "update-ldcache", hook_ldcache },
	{ "enable-cuda-compat", hook_compat },
	/* modes of /dev: the nodes come with the host's; the driver's parameters stay as they are
	   since nothing in the container may make nodes; profiles are for graphics */
	{ "chmod", hook_nothing },
	{ "disable-device-node-modification", hook_nothing },
	{ "update-application-profile", hook_nothing },
};

static int run_hook(struct applying *a, const struct cdi_hook *h, struct error *err)
{
	const char *name = cdi_hook_name(h);

	for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
		if (str_equal(hooks[i].name, name))
			return hooks[i].run(a, h, err) < 0 ? error_wrap(err, "hook %s", name) : 0;
	}
	inject_note(a->in, "unknown-hook",
		    arena_printf(a->arena,
				 "the %s hook %s%s%s was not run: its work is not known here",
				 h->name, h->path, *name ? " " : "", name));
	return 0;
}

int inject_apply(struct injection *in, int rootfd, const struct image_loader *loader,
		 const char *dir, struct arena *arena, struct error *err)
{
	struct applying a = { .in = in, .rootfd = rootfd, .loader = loader, .arena = arena };
	int rc = fs_mkdirs(AT_FDCWD, dir, err);

	a.layer = rc < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (a.layer < 0)
		return rc < 0 ? -1 : error_set_errno(err, errno, "open %s", dir);
	for (size_t i = 0; rc == 0 && i < in->edits.mounts.len; i++)
		rc = put_mount_point(&a, &in->edits.mounts.items[i], err);
	for (size_t i = 0; rc == 0 && i < in->edits.hooks.len; i++)
		rc = run_hook(&a, &in->edits.hooks.items[i], err);
	if (rc == 0 && a.folders.len)
		rc = update_cache(&a, err);
	if (in->edits.net_devices.len)
		inject_note(in, "net-devices",
			    "network devices of the specification are not moved");
	if (in->edits.intel_rdt)
		inject_note(in, "intel-rdt", "intelRdt of the specification is not applied");
	vec_release(&a.folders);
	close(a.layer);
	return rc < 0 ? error_wrap(err, "prepare the injection") : 0;
}

int inject_link(const struct injection *in, const char *dir, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };

	if (fs_mkdirs(AT_FDCWD, dir, err) < 0)
		return -1;
	for (size_t i = 0; i < in->edits.mounts.len; i++) {
		const struct cdi_mount *m = &in->edits.mounts.items[i];
		const char *slash = strrchr(m->container_path, '/');
		cleanup_free char *to = fs_join(dir, slash + 1), *link = NULL;
		const char *soname;

		if (!is_library_name(slash + 1))
			continue;
		soname = cdi_devices_soname(m->host_path, 0, &arena);
		if (symlink(m->host_path, to) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "create %s", to);
		if (!soname || strchr(soname, '/'))
			continue;
		link = fs_join(dir, soname);
		if (symlink(m->host_path, link) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "create %s", link);
	}
	return 0;
}
