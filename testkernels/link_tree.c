#include "testkernels/link_tree.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "base/fs.h"
#include "base/sink.h"
#include "base/stream.h"

struct linking {
	int from, to;
	bool over;
};

static bool is_system_dir(const char *path)
{
	return str_equal(path, "proc") || str_equal(path, "sys") || str_equal(path, "dev");
}

/* Takes `in`. */
static int copy_bytes(int in, int out, const char *name, struct error *err)
{
	cleanup_stream struct stream *from = stream_fd(in, name);
	cleanup_sink struct sink *to = sink_fd(out, name);

	return ioctl(out, FICLONE, in) == 0 ? 0 : sink_copy(to, from, NULL, err);
}

static int copy_file(const struct linking *l, const struct fs_entry *e, struct error *err)
{
	cleanup_fd int in = openat(e->dirfd, e->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC), out = -1;

	if (in < 0)
		return errno == EACCES ? 0 : error_set_errno(err, errno, "open %s", e->path);
	out = openat(l->to, e->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     (e->st.st_mode & 0777) | 0600);
	if (out < 0)
		return error_set_errno(err, errno, "create %s", e->path);
	return copy_bytes(steal_fd(&in), out, e->path, err);
}

static int make_link(const struct linking *l, const struct fs_entry *e, struct error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(e->dirfd, e->name, target, sizeof(target) - 1);

	if (n < 0)
		return error_set_errno(err, errno, "read the link %s", e->path);
	target[n] = '\0';
	if (symlinkat(target, l->to, e->path) < 0)
		return error_set_errno(err, errno, "create %s", e->path);
	return 0;
}

static int visit(void *user, const struct fs_entry *e, struct error *err)
{
	const struct linking *l = user;
	struct stat st;

	if (S_ISDIR(e->st.st_mode)) {
		if (l->over && fstatat(l->to, e->path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode) && unlinkat(l->to, e->path, 0) < 0)
			return error_set_errno(err, errno, "remove %s", e->path);
		if (mkdirat(l->to, e->path, (e->st.st_mode & 0777) | 0700) < 0 &&
		    !(l->over && errno == EEXIST))
			return error_set_errno(err, errno, "create %s", e->path);
		return !l->over && is_system_dir(e->path) ? FS_WALK_PAST : 0;
	}
	if (!S_ISREG(e->st.st_mode) && !S_ISLNK(e->st.st_mode))
		return 0;
	if (l->over && fs_remove_tree(l->to, e->path, err) < 0)
		return -1;
	if (S_ISLNK(e->st.st_mode))
		return make_link(l, e, err);
	if (linkat(e->dirfd, e->name, l->to, e->path, 0) == 0)
		return 0;
	return copy_file(l, e, err);
}

static int run(const char *from, const char *to, bool over, struct error *err)
{
	cleanup_fd int from_fd = open(*from ? from : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct linking l = { .from = from_fd, .to = to_fd, .over = over };

	if (from_fd < 0 || to_fd < 0)
		return error_set_errno(err, errno, "open %s", from_fd < 0 ? from : to);
	return fs_walk(from_fd, ".", visit, &l, err) < 0 ? -1 : 0;
}

int link_tree(const char *from, const char *to, struct error *err)
{
	return run(from, to, false, err);
}

int link_tree_over(const char *from, const char *to, struct error *err)
{
	return run(from, to, true, err);
}
