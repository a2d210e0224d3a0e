#include "builder/sandbox_devices.h"

#include <limits.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "builder/sandbox.h"

void sandbox_devices_release(struct sandbox_devices *d)
{
	if (!d)
		return;
	cdi_edits_release(&d->edits);
	vec_release(&d->made);
	arena_release(&d->arena);
}

/* Engines refuse to start with words that do not say which file it is. */
static int check_paths(const struct sandbox_devices *d, const char *device, struct error *err)
{
	const char *missing = NULL;

	for (size_t i = 0; i < d->edits.mounts.len && !missing; i++) {
		const struct cdi_mount *m = &d->edits.mounts.items[i];

		if (!m->type && !fs_exists(AT_FDCWD, m->host_path))
			missing = m->host_path;
	}
	for (size_t i = 0; i < d->edits.nodes.len && !missing; i++) {
		if (!fs_exists(AT_FDCWD, d->edits.nodes.items[i].host_path))
			missing = d->edits.nodes.items[i].host_path;
	}
	if (!missing)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "CDI device %s: its specification names %s, which this machine does not "
			 "have; make the specification anew (nvidia-ctk cdi generate), as after an "
			 "update of the driver",
			 device, missing);
}

/* The folders of libraries, and a note on hooks that do something else. */
static void read_hooks(struct sandbox_devices *d, const struct out *out, const char *stage)
{
	static const char *const known[] = { "create-symlinks",
					     "create-soname-symlinks",
					     "update-ldcache",
					     "enable-cuda-compat",
					     "chmod",
					     "disable-device-node-modification",
					     "update-application-profile" };
	cleanup_strbuf struct strbuf folders = { 0 };

	for (size_t i = 0; i < d->edits.hooks.len; i++) {
		const struct cdi_hook *h = &d->edits.hooks.items[i];
		const char *name = cdi_hook_name(h), *value;
		bool is_known = false;

		for (size_t k = 0; k < ARRAY_LEN(known); k++)
			is_known |= str_equal(known[k], name);
		if (!is_known)
			out_note(out, "stage %s: the %s hook %s is not run", stage, h->name,
				 h->path);
		for (size_t k = 0; str_equal(name, "update-ldcache") && k < h->args.count; k++) {
			value = cdi_hook_flag(&h->args, &k, "folder");
			if (value && value[0] == '/' && !strchr(value, ':'))
				strbuf_addf(&folders, "%s%s", folders.len ? ":" : "", value);
		}
	}
	d->libraries = folders.len ? arena_strdup(&d->arena, strbuf_text(&folders)) : NULL;
}

int sandbox_devices_find(const char *device, const char *const *dirs, const struct out *out,
			 const char *stage, struct sandbox_devices *d, struct error *err)
{
	cleanup_cdi_devices struct cdi_devices all = { 0 };
	struct cdi_used used = { 0 };
	int rc;

	if (!device)
		return 0;
	cdi_devices_read(dirs, &all);
	rc = cdi_devices_add(&all, device, &used, &d->edits, err);
	vec_release(&used);
	arena_adopt(&d->arena, &all.arena); /* the texts */
	if (rc < 0 || check_paths(d, device, err) < 0)
		return -1;
	cdi_edits_sort(&d->edits);
	read_hooks(d, out, stage);
	return 0;
}

/* The part of a path before its last name; "" for the root. */
static char *parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return xstrndup(path, slash ? (size_t)(slash - path) : 0);
}

/* Opens the folder, which is made with its parents where it is missing. */
static int open_folder(struct sandbox_devices *d, int rootfd, const char *path, struct error *err)
{
	cleanup_free char *up = NULL;
	int fd = sandbox_open_inside(rootfd, *path ? path : "/", O_RDONLY | O_DIRECTORY);
	cleanup_fd int above = -1;

	if (fd >= 0 || errno != ENOENT || !*path)
		return fd >= 0 ? fd : error_set_errno(err, errno, "open %s in the stage", path);
	up = parent_of(path);
	above = open_folder(d, rootfd, up, err);
	if (above < 0)
		return -1;
	if (mkdirat(above, strrchr(path, '/') + 1, 0755) < 0)
		return error_set_errno(err, errno, "create %s in the stage", path);
	vec_push(&d->made, arena_strdup(&d->arena, path));
	fd = sandbox_open_inside(rootfd, path, O_RDONLY | O_DIRECTORY);
	return fd >= 0 ? fd : error_set_errno(err, errno, "open %s in the stage", path);
}

/* "/usr/lib/x" of "/lib/x" where /lib is a link: where an open folder of the tree lies in it. */
static const char *path_of(struct sandbox_devices *d, int fd, const char *root, const char *name)
{
	cleanup_free char *self = xasprintf("/proc/self/fd/%d", fd), *real = realpath(root, NULL);
	char target[PATH_MAX];
	ssize_t n = readlink(self, target, sizeof(target) - 1);
	size_t skip = real ? strlen(real) : 0;

	if (n < 0 || !real || (size_t)n < skip || strncmp(target, real, skip) != 0)
		return NULL;
	return arena_printf(&d->arena, "%.*s/%s", (int)((size_t)n - skip), target + skip, name);
}

static bool is_folder(const struct cdi_mount *m)
{
	struct stat st;

	return m->type || (stat(m->host_path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* An empty file or folder to mount upon; *out is where that is, links of its folders followed. */
static int place_point(struct sandbox_devices *d, int rootfd, const char *root, const char *path,
		       bool folder, const char **out, struct error *err)
{
	cleanup_free char *up = parent_of(path);
	const char *name = strrchr(path, '/') + 1;
	cleanup_fd int above = open_folder(d, rootfd, up, err), fd = -1;
	struct stat st;

	if (above < 0)
		return -1;
	*out = path_of(d, above, root, name);
	if (!*out || !*name || str_equal(name, ".."))
		return error_set(err, ERROR_USAGE, "CDI: \"%s\" is no place to mount at", path);
	if (fstatat(above, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (folder && mkdirat(above, name, 0755) < 0)
		return error_set_errno(err, errno, "create %s in the stage", path);
	fd = folder ? -1 : openat(above, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (!folder && fd < 0)
		return error_set_errno(err, errno, "create %s in the stage", path);
	vec_push(&d->made, *out);
	return 0;
}

static int place_link(struct sandbox_devices *d, int rootfd, const char *path, const char *target,
		      struct error *err)
{
	cleanup_free char *up = parent_of(path);
	cleanup_fd int above = cdi_path_is_fresh(path) ? -1 : open_folder(d, rootfd, up, err);
	const char *name = strrchr(path, '/') + 1;

	if (cdi_path_is_fresh(path))
		return 0;
	if (above < 0)
		return -1;
	if (symlinkat(target, above, name) == 0)
		vec_push(&d->made, arena_strdup(&d->arena, path));
	else if (errno != EEXIST)
		return error_set_errno(err, errno, "create the link %s in the stage", path);
	return 0;
}

/* The links of hooks. */
static int place_hook_links(struct sandbox_devices *d, int rootfd, const struct cdi_hook *h,
			    struct error *err)
{
	for (size_t i = 0; i < h->args.count; i++) {
		const char *value = cdi_hook_flag(&h->args, &i, "link");
		const char *sep = value ? strstr(value, "::") : NULL;
		cleanup_free char *target =
			xstrndup(value ? value : "", sep ? (size_t)(sep - value) : 0);

		if (sep && *target && sep[2] == '/' &&
		    place_link(d, rootfd, sep + 2, target, err) < 0)
			return -1;
	}
	return 0;
}

/* Programs look for libcuda.so.1, and the file is libcuda.so.580.95.05. */
static int place_soname(struct sandbox_devices *d, int rootfd, const struct cdi_mount *m,
			struct error *err)
{
	const char *name = strrchr(m->container_path, '/') + 1, *soname;
	cleanup_free char *up = parent_of(m->container_path), *path = NULL;

	if (!strstr(name, ".so."))
		return 0;
	soname = cdi_devices_soname(m->host_path, 0, &d->arena);
	if (!soname || str_equal(soname, name) || strchr(soname, '/'))
		return 0;
	path = xasprintf("%s/%s", up, soname);
	return place_link(d, rootfd, path, name, err);
}

static int place_all(struct sandbox_devices *d, int rootfd, const char *root, struct error *err)
{
	for (size_t i = 0; i < d->edits.mounts.len; i++) {
		struct cdi_mount *m = &d->edits.mounts.items[i];

		if (!cdi_path_is_fresh(m->container_path) &&
		    (place_point(d, rootfd, root, m->container_path, is_folder(m),
				 &m->container_path, err) < 0 ||
		     place_soname(d, rootfd, m, err) < 0))
			return -1;
	}
	for (size_t i = 0; i < d->edits.nodes.len; i++) {
		struct cdi_node *n = &d->edits.nodes.items[i];

		if (!cdi_path_is_fresh(n->path) &&
		    place_point(d, rootfd, root, n->path, false, &n->path, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < d->edits.hooks.len; i++) {
		if (str_equal(cdi_hook_name(&d->edits.hooks.items[i]), "create-symlinks") &&
		    place_hook_links(d, rootfd, &d->edits.hooks.items[i], err) < 0)
			return -1;
	}
	return 0;
}

int sandbox_devices_place(struct sandbox_devices *d, const char *root, struct error *err)
{
	cleanup_fd int rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (rootfd < 0)
		return error_set_errno(err, errno, "open %s", root);
	return place_all(d, rootfd, root, err);
}

/* Whether it is what was made: an empty file, a link or a folder. */
static bool is_ours(int dirfd, const char *name, struct stat *st)
{
	return fstatat(dirfd, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (!S_ISREG(st->st_mode) || !st->st_size);
}

void sandbox_devices_clear(struct sandbox_devices *d, const char *root)
{
	cleanup_fd int rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = d->made.len; rootfd >= 0 && i-- > 0;) {
		const char *path = d->made.items[i], *name = strrchr(path, '/') + 1;
		cleanup_free char *up = parent_of(path);
		cleanup_fd int above =
			sandbox_open_inside(rootfd, *up ? up : "/", O_RDONLY | O_DIRECTORY);
		struct stat st;

		if (above >= 0 && is_ours(above, name, &st))
			unlinkat(above, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0);
	}
	d->made.len = 0;
}
