#include "testkernels/rootdir.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { LINKS_MAX = 40, PENDING_MAX = 64 * 1024 };

/* A walk on its way: the place reached, and the text still to go. */
struct walk {
	int rootfd;
	unsigned flags, links;
	struct rootdir_place *at;
	struct strbuf pending;
};

void rootdir_place_release(struct rootdir_place *place)
{
	if (place->dirfd >= 0)
		close(place->dirfd);
	place->dirfd = -1;
	strbuf_release(&place->dir);
	strbuf_release(&place->name);
}

static int open_dir(int dirfd, const char *name)
{
	return openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int enter(struct walk *w, int fd, const char *name)
{
	close(w->at->dirfd);
	w->at->dirfd = fd;
	if (name)
		strbuf_addf(&w->at->dir, "%s%s", w->at->dir.len ? "/" : "", name);
	return 0;
}

static int to_root(struct walk *w, struct error *err)
{
	int fd = open_dir(w->rootfd, ".");

	if (fd < 0)
		return error_set_errno(err, errno, "open the root");
	strbuf_truncate(&w->at->dir, 0);
	return enter(w, fd, NULL);
}

/* One level up: walk down again from the root, so that no ".." is ever given to the kernel. */
static int to_parent(struct walk *w, struct error *err)
{
	cleanup_free char *dir = strbuf_steal(&w->at->dir);
	char *slash = strrchr(dir, '/'), *name = dir, *next;

	*(slash ? slash : dir) = '\0';
	if (to_root(w, err) < 0)
		return -1;
	for (; name && *name; name = next) {
		int fd;

		next = strchr(name, '/');
		if (next)
			*next++ = '\0';
		fd = open_dir(w->at->dirfd, name);
		if (fd < 0)
			return error_set_errno(err, errno, "open %s", name);
		enter(w, fd, name);
	}
	return 0;
}

/* Take the next component off the pending text; false at the end. */
static bool next_component(struct walk *w, struct strbuf *out)
{
	const char *p = strbuf_text(&w->pending), *end;
	struct strbuf rest = { 0 };

	while (*p == '/')
		p++;
	if (!*p)
		return false;
	end = strchr(p, '/');
	strbuf_truncate(out, 0);
	strbuf_add(out, p, end ? (size_t)(end - p) : strlen(p));
	strbuf_adds(&rest, end ? end : "");
	strbuf_release(&w->pending);
	w->pending = rest;
	return true;
}

static bool is_last(const struct walk *w)
{
	return strspn(strbuf_text(&w->pending), "/") == w->pending.len;
}

static int follow_link(struct walk *w, const char *name, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(w->at->dirfd, name, target, sizeof(target) - 1);
	struct strbuf pending = { 0 };

	if (n < 0)
		return error_set_errno(err, errno, "read the link %s", name);
	target[n] = '\0';
	if (++w->links > LINKS_MAX)
		return error_set(err, ERROR_FORMAT, "%s: more than %d links", name, LINKS_MAX);
	strbuf_addf(&pending, "%s/%s", target, strbuf_text(&w->pending));
	strbuf_release(&w->pending);
	w->pending = pending;
	if (pending.len > PENDING_MAX)
		return error_set(err, ERROR_FORMAT, "%s: the links make a path that is too long",
				 name);
	return target[0] == '/' ? to_root(w, err) : 0;
}

/* `name` is not there, or in the way, where a directory is needed. */
static int make_dir(struct walk *w, const char *name, bool in_the_way, struct error *err)
{
	int fd;

	if (!(w->flags & ROOTDIR_CREATE))
		return error_set(err, ERROR_NOT_FOUND, "/%s%s%s: %s", strbuf_text(&w->at->dir),
				 w->at->dir.len ? "/" : "", name,
				 in_the_way ? "is no directory" : "does not exist");
	if (in_the_way && unlinkat(w->at->dirfd, name, 0) < 0)
		return error_set_errno(err, errno, "remove %s", name);
	if (mkdirat(w->at->dirfd, name, 0755) < 0)
		return error_set_errno(err, errno, "create %s", name);
	fd = open_dir(w->at->dirfd, name);
	if (fd < 0)
		return error_set_errno(err, errno, "open %s", name);
	return enter(w, fd, name);
}

/* 1: the walk ends at `name`; 0: go on; -1. */
static int step(struct walk *w, const char *name, struct error *err)
{
	bool last = is_last(w);
	struct stat st;
	int fd;

	if (str_equal(name, "."))
		return 0;
	if (str_equal(name, ".."))
		return to_parent(w, err);
	if (last && (w->flags & ROOTDIR_NOFOLLOW))
		return 1;
	if (fstatat(w->at->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return error_set_errno(err, errno, "look at %s", name);
		return last ? 1 : make_dir(w, name, false, err);
	}
	if (S_ISLNK(st.st_mode))
		return follow_link(w, name, err);
	if (last)
		return 1;
	if (!S_ISDIR(st.st_mode))
		return make_dir(w, name, true, err);
	fd = open_dir(w->at->dirfd, name);
	if (fd < 0)
		return error_set_errno(err, errno, "open %s", name);
	return enter(w, fd, name);
}

int rootdir_find(int rootfd, const char *path, unsigned flags, struct rootdir_place *out,
		 struct error *err)
{
	struct walk w = { .rootfd = rootfd, .flags = flags, .at = out };
	cleanup_strbuf struct strbuf name = { 0 };
	int rc = 0;

	*out = (struct rootdir_place){ .dirfd = -1 };
	out->dirfd = open_dir(rootfd, ".");
	if (out->dirfd < 0)
		return error_set_errno(err, errno, "open the root");
	strbuf_adds(&w.pending, path);
	while (rc == 0 && next_component(&w, &name))
		rc = step(&w, strbuf_text(&name), err);
	strbuf_release(&w.pending);
	if (rc < 0) {
		rootdir_place_release(out);
		return -1;
	}
	if (rc == 1)
		strbuf_adds(&out->name, strbuf_text(&name));
	return 0;
}

static void place_path(const struct rootdir_place *place, struct strbuf *out)
{
	strbuf_truncate(out, 0);
	strbuf_addf(out, "%s%s%s", strbuf_text(&place->dir),
		    place->dir.len && place->name.len ? "/" : "", strbuf_text(&place->name));
}

int rootdir_open(int rootfd, const char *path, struct strbuf *out_path, struct error *err)
{
	cleanup_place struct rootdir_place place = { .dirfd = -1 };
	cleanup_fd int fd = -1;
	struct stat st;

	if (rootdir_find(rootfd, path, 0, &place, err) < 0)
		return -1;
	if (place.name.len)
		fd = openat(place.dirfd, strbuf_text(&place.name),
			    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (place.name.len && fd < 0 && errno != ENOENT)
		return error_set_errno(err, errno, "open %s", path);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, ERROR_NOT_FOUND, "%s: no such file", path);
	if (out_path)
		place_path(&place, out_path);
	return steal_fd(&fd);
}

bool rootdir_resolve(int rootfd, const char *path, struct strbuf *out)
{
	cleanup_place struct rootdir_place place = { .dirfd = -1 };
	struct error ignored = { 0 };
	struct stat st;

	if (rootdir_find(rootfd, path, 0, &place, &ignored) < 0)
		return false;
	if (place.name.len &&
	    (fstatat(place.dirfd, strbuf_text(&place.name), &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	     !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
		return false;
	place_path(&place, out);
	return true;
}
