#include "testkernels/unpack.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "formats/tar_read.h"
#include "testkernels/rootdir.h"

#define WHITEOUT ".wh."
#define OPAQUE ".wh..wh..opq"

void unpack_init(struct unpack *u, int rootfd, const struct unpack_limits *limits)
{
	*u = (struct unpack){ .rootfd = rootfd, .cached_fd = -1 };
	if (limits)
		u->left = *limits;
	if (!u->left.bytes)
		u->left.bytes = 512 * GIB;
	if (!u->left.entries)
		u->left.entries = 20 * 1000 * 1000;
}

static void forget_dir(struct unpack *u)
{
	if (u->cached_fd >= 0)
		close(u->cached_fd);
	u->cached_fd = -1;
	free(steal_ptr(&u->cached_parent));
	free(steal_ptr(&u->cached_dir));
}

void unpack_release(struct unpack *u)
{
	forget_dir(u);
	map_release(&u->current);
}

/* Make u->cached_* the directory that holds `path`; *out_name is its last part. */
static int enter_parent(struct unpack *u, const char *path, const char **out_name,
			struct error *err)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;
	struct rootdir_place place = { .dirfd = -1 };
	cleanup_free char *inside = NULL;

	*out_name = slash ? slash + 1 : path;
	if (u->stale)
		forget_dir(u);
	u->stale = false;
	if (u->cached_fd >= 0 && strlen(u->cached_parent) == len &&
	    strncmp(u->cached_parent, path, len) == 0)
		return 0;
	forget_dir(u);
	/* with a last part that is not looked at, the directory before it is the result */
	inside = xasprintf("%.*s/x", (int)len, path);
	if (rootdir_find(u->rootfd, inside, ROOTDIR_CREATE | ROOTDIR_NOFOLLOW, &place, err) < 0)
		return -1;
	u->cached_fd = steal_fd(&place.dirfd);
	u->cached_parent = xstrndup(path, len);
	u->cached_dir = strbuf_steal(&place.dir);
	rootdir_place_release(&place);
	return 0;
}

static char *inside_path(const struct unpack *u, const char *name)
{
	return xasprintf("%s%s%s", u->cached_dir, u->cached_dir[0] ? "/" : "", name);
}

/* Remember a path of this layer and the directories it lies in. */
static void note_current(struct unpack *u, const char *name)
{
	cleanup_free char *path = inside_path(u, name);
	char *slash;

	while (!map_put(&u->current, path, u)) {
		slash = strrchr(path, '/');
		if (!slash)
			break;
		*slash = '\0';
	}
}

/* Remove what lower layers put at `name`, so that something else can stand there. */
static int clear_place(struct unpack *u, const char *name, struct error *err)
{
	struct stat st;

	if (fstatat(u->cached_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_set_errno(err, errno, "look at it");
	u->stale |= !S_ISREG(st.st_mode); /* paths through it lead elsewhere from now on */
	if (!S_ISDIR(st.st_mode)) {
		if (unlinkat(u->cached_fd, name, 0) < 0)
			return error_set_errno(err, errno, "remove it");
		return 0;
	}
	return fs_remove_tree(u->cached_fd, name, err);
}

static int whiteout(struct unpack *u, const char *name, struct error *err)
{
	cleanup_free char *path = inside_path(u, name);

	if (!*name || str_equal(name, ".") || str_equal(name, ".."))
		return error_set(err, ERROR_FORMAT, "a whiteout of nothing");
	if (map_has(&u->current, path))
		return 0; /* it hides only what lower layers hold */
	if (clear_place(u, name, err) < 0)
		return -1;
	forget_dir(u);
	return 0;
}

/* Remove what lower layers put in the directory `dir`, keeping what this layer did. */
static int opaque_below(struct unpack *u, int dirfd, const char *dir, struct error *err)
{
	struct fs_names names = { 0 };
	int rc = fs_list(dirfd, ".", &names, err);

	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		const char *name = names.items[i];
		cleanup_free char *path = xasprintf("%s%s%s", dir, dir[0] ? "/" : "", name);
		cleanup_fd int sub = -1;

		if (!map_has(&u->current, path)) {
			rc = fs_remove_tree(dirfd, name, err);
			continue;
		}
		sub = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			rc = opaque_below(u, sub, path, err);
	}
	fs_names_release(&names);
	return rc;
}

static int opaque(struct unpack *u, struct error *err)
{
	cleanup_free char *dir = xstrdup(u->cached_dir);
	cleanup_fd int fd =
		openat(u->cached_fd, ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "open it");
	if (opaque_below(u, fd, dir, err) < 0)
		return -1;
	forget_dir(u);
	return 0;
}

/* Only root can give files away, and only there can another user of the image come in. */
static int keep_owner(const struct unpack *u, const char *name, const struct tar_entry *e,
		      struct error *err)
{
	if (geteuid() != 0 || (!e->uid && !e->gid))
		return 0;
	if (fchownat(u->cached_fd, name, (uid_t)e->uid, (gid_t)e->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set_errno(err, errno, "give it to %u", (unsigned)e->uid);
	return 0;
}

static int make_dir(struct unpack *u, const char *name, const struct tar_entry *e,
		    struct error *err)
{
	mode_t bits = (e->mode & 01777) | 0700;
	struct stat st;

	if (fstatat(u->cached_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
		if (fchmodat(u->cached_fd, name, bits, 0) < 0)
			return error_set_errno(err, errno, "change its mode");
		return keep_owner(u, name, e, err);
	}
	if (clear_place(u, name, err) < 0)
		return -1;
	if (mkdirat(u->cached_fd, name, bits) < 0 || fchmodat(u->cached_fd, name, bits, 0) < 0)
		return error_set_errno(err, errno, "create it");
	return keep_owner(u, name, e, err);
}

static int copy_content(int fd, struct stream *content, uint64_t *left, struct error *err)
{
	enum { BUFFER = 256 * 1024 };
	cleanup_free uint8_t *buf = xmalloc(BUFFER);
	ssize_t n;

	while ((n = stream_read(content, buf, BUFFER, err)) > 0) {
		size_t at = 0;

		if ((uint64_t)n > *left)
			return error_set(err, ERROR_LIMIT,
					 "the image's files together are larger than allowed");
		*left -= (uint64_t)n;
		while (at < (size_t)n) {
			ssize_t w = write(fd, buf + at, (size_t)n - at);

			if (w < 0 && errno != EINTR)
				return error_set_errno(err, errno, "write it");
			at += w > 0 ? (size_t)w : 0;
		}
	}
	return n < 0 ? -1 : 0;
}

static int make_file(struct unpack *u, const char *name, const struct tar_entry *e,
		     struct stream *content, struct error *err)
{
	cleanup_fd int fd = -1;

	if (e->size > u->left.bytes)
		return error_set(err, ERROR_LIMIT,
				 "the image's files together are larger than allowed");
	if (clear_place(u, name, err) < 0)
		return -1;
	fd = openat(u->cached_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    (mode_t)((e->mode & 0777) | 0600));
	if (fd < 0)
		return error_set_errno(err, errno, "create it");
	if (fchmod(fd, (mode_t)((e->mode & 0777) | 0600)) < 0) /* whatever the umask */
		return error_set_errno(err, errno, "change its mode");
	if (keep_owner(u, name, e, err) < 0)
		return -1;
	return copy_content(fd, content, &u->left.bytes, err);
}

char *unpack_link_target(const char *dir, const char *target)
{
	struct strbuf out = { 0 };
	struct slice rest = slice_str(target), part;
	size_t depth = 0, at;

	for (const char *p = dir; *p; p++)
		depth += p == dir || *p == '/';
	if (target[0] == '/') {
		for (; depth; depth--)
			strbuf_adds(&out, "../");
	}
	at = depth;
	while (slice_cut(&rest, '/', &part)) {
		if (!part.len || slice_is(part, "."))
			continue;
		if (slice_is(part, "..")) {
			if (!at)
				continue; /* "/.." is "/" */
			at--;
		} else {
			at++;
		}
		strbuf_add(&out, part.data, part.len);
		strbuf_addc(&out, '/');
	}
	if (!out.len)
		strbuf_addc(&out, '.');
	else
		strbuf_truncate(&out, out.len - 1);
	return strbuf_steal(&out);
}

static int make_symlink(struct unpack *u, const char *name, const char *target, struct error *err)
{
	cleanup_free char *inside = unpack_link_target(u->cached_dir, target);

	if (clear_place(u, name, err) < 0)
		return -1;
	if (symlinkat(inside, u->cached_fd, name) < 0)
		return error_set_errno(err, errno, "create it");
	return 0;
}

static int make_hardlink(struct unpack *u, const char *name, const char *target, struct error *err)
{
	cleanup_place struct rootdir_place place = { .dirfd = -1 };
	struct stat st, here;

	if (rootdir_find(u->rootfd, target, ROOTDIR_NOFOLLOW, &place, err) < 0)
		return error_wrap(err, "hard link to %s", target);
	if (!place.name.len ||
	    fstatat(place.dirfd, strbuf_text(&place.name), &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISDIR(st.st_mode))
		return error_set(err, ERROR_FORMAT, "hard link to %s, which is no file", target);
	if (fstatat(u->cached_fd, name, &here, AT_SYMLINK_NOFOLLOW) == 0 &&
	    here.st_ino == st.st_ino && here.st_dev == st.st_dev)
		return 0; /* to itself, or made already */
	if (clear_place(u, name, err) < 0)
		return -1;
	if (linkat(place.dirfd, strbuf_text(&place.name), u->cached_fd, name, 0) < 0)
		return error_set_errno(err, errno, "link it to %s", target);
	return 0;
}

static int apply(struct unpack *u, const struct tar_entry *e, struct tar_reader *r,
		 struct error *err)
{
	const char *name;

	if (!u->left.entries--)
		return error_set(err, ERROR_LIMIT, "the image holds more entries than allowed");
	if (enter_parent(u, e->path, &name, err) < 0)
		return -1;
	if (str_equal(name, OPAQUE))
		return opaque(u, err);
	if (str_starts(name, WHITEOUT))
		return whiteout(u, name + strlen(WHITEOUT), err);
	note_current(u, name);
	switch (e->type) {
	case TAR_DIR:
		return make_dir(u, name, e, err);
	case TAR_FILE:
		return make_file(u, name, e, tar_read_content(r), err);
	case TAR_SYMLINK:
		return make_symlink(u, name, e->link, err);
	case TAR_HARDLINK:
		return make_hardlink(u, name, e->link, err);
	default:
		return clear_place(u, name, err); /* devices and fifos: nothing may stand there */
	}
}

int unpack_layer(struct unpack *u, struct stream *tar, struct error *err)
{
	cleanup_tar_reader struct tar_reader *r = tar_read_open(tar);
	struct tar_entry e;
	int rc;

	map_release(&u->current);
	u->current = (struct map){ 0 };
	while ((rc = tar_read_next(r, &e, err)) > 0) {
		if (apply(u, &e, r, err) < 0)
			return error_wrap(err, "/%s", e.path);
	}
	return rc;
}

int unpack_image(struct image *image, int rootfd, const struct unpack_limits *limits,
		 struct error *err)
{
	cleanup_unpack struct unpack u = { .cached_fd = -1 };

	unpack_init(&u, rootfd, limits);
	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		cleanup_stream struct stream *tar = image_layer(image, i, err);
		uint64_t rest;

		if (!tar || unpack_layer(&u, tar, err) < 0 || stream_drain(tar, &rest, err) < 0)
			return error_wrap(err, "unpack layer %zu", i);
	}
	return 0;
}
