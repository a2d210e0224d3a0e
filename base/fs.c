#include "base/fs.h"

#include <dirent.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>

#include "base/stream.h"

int fs_open(int dirfd, const char *path, struct error *err)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	if (errno == ENOENT || errno == ENOTDIR)
		return error_set(err, ERROR_NOT_FOUND, "%s: no such file", path);
	return error_set_errno(err, errno, "open %s", path);
}

int fs_read(int dirfd, const char *path, uint64_t limit, struct strbuf *out, struct error *err)
{
	int fd = fs_open(dirfd, path, err);
	cleanup_stream struct stream *s = fd < 0 ? NULL : stream_fd(fd, path);

	if (!s)
		return -1;
	if (stream_read_all(s, limit, out, err) < 0)
		return err->code == ERROR_SYSTEM ? -1 : error_wrap(err, "%s", path);
	return 0;
}

static int write_all(int fd, struct slice data, const char *name, struct error *err)
{
	while (data.len) {
		ssize_t n = write(fd, data.data, data.len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "write %s", name);
		data.data += n;
		data.len -= (size_t)n;
	}
	return 0;
}

static const char temporary_prefix[] = ".gpuimg-tmp-";

/* Splits "a/b" into an open directory for "a" and the name "b". */
static int open_parent(int dirfd, const char *path, const char **name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	int fd = openat(dirfd, *dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*name = slash ? slash + 1 : path;
	return fd >= 0 ? fd : error_set_errno(err, errno, "open directory of %s", path);
}

/* File systems that know no such thing have nothing to wait for. */
static int wait_for_disk(int fd, const char *path, struct error *err)
{
	if (fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return error_set_errno(err, errno, "bring %s to the disk", path);
	return 0;
}

static int write_file(int dirfd, const char *path, struct slice data, mode_t mode, bool durable,
		      struct error *err)
{
	const char *name;
	cleanup_fd int parent = open_parent(dirfd, path, &name, err);
	cleanup_pending struct fs_pending p = { .fd = -1 };

	if (parent < 0 || fs_pending_open(parent, &p, err) < 0 ||
	    write_all(p.fd, data, path, err) < 0)
		return -1;
	if (durable && wait_for_disk(p.fd, path, err) < 0)
		return -1;
	if (fs_pending_commit(&p, name, mode, err) < 0)
		return -1;
	return durable ? wait_for_disk(parent, path, err) : 0;
}

int fs_write(int dirfd, const char *path, struct slice data, mode_t mode, struct error *err)
{
	return write_file(dirfd, path, data, mode, false, err);
}

int fs_write_durable(int dirfd, const char *path, struct slice data, mode_t mode, struct error *err)
{
	return write_file(dirfd, path, data, mode, true, err);
}

int fs_mkdirs(int dirfd, const char *path, struct error *err)
{
	cleanup_free char *copy = xstrdup(path);
	struct stat st;

	for (char *p = copy + 1; *copy; p++) {
		char at = *p;

		if (at != '/' && at != '\0')
			continue;
		*p = '\0';
		if (mkdirat(dirfd, copy, 0755) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "create directory %s", copy);
		*p = at;
		if (!at)
			break;
	}
	if (*copy && (fstatat(dirfd, copy, &st, 0) < 0 || !S_ISDIR(st.st_mode)))
		return error_set_errno(err, ENOTDIR, "create directory %s", copy);
	return 0;
}

bool fs_exists(int dirfd, const char *path)
{
	struct stat st;

	return fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       (errno != ENOENT && errno != ENOTDIR && errno != EACCES && errno != ENAMETOOLONG);
}

enum { OTHERS_KEPT_S = 7 * 24 * 3600 };

static uint64_t mix(uint64_t h, const char *bytes, ssize_t len)
{
	for (ssize_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)bytes[i]) * UINT64_C(1099511628211); /* FNV-1a */
	return h;
}

/*
 * Process numbers mean something only on one boot of one machine, within one PID namespace: others
 * may share the directory, by a volume or over the network.
 */
static uint32_t numbering(void)
{
	cleanup_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	char text[64];
	uint64_t h = UINT64_C(14695981039346656037);

	if (fd >= 0)
		h = mix(h, text, read(fd, text, sizeof(text)));
	h = mix(h, text, readlink("/proc/self/ns/pid", text, sizeof(text)));
	return (uint32_t)(h ^ h >> 32);
}

char *fs_owner(void)
{
	return xasprintf("%ld-%08" PRIx32, (long)getpid(), numbering());
}

/* Whether the owner that `text` ("PID-NUMBERING-…") begins with lives no more. */
static bool owner_is_gone(const char *text, const struct stat *st)
{
	cleanup_free char *own = fs_owner();
	char *end;
	long pid = strtol(text, &end, 10);
	const char *dash = strchr(own, '-');
	struct timespec now;

	if (pid <= 0 || *end != '-')
		return false;
	if (str_starts(end, dash) && end[strlen(dash)] == '-')
		return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
	clock_gettime(CLOCK_REALTIME, &now);
	return st->st_mtim.tv_sec < now.tv_sec - OTHERS_KEPT_S;
}

void fs_sweep(int dirfd, const char *prefix)
{
	struct fs_names names = { 0 };
	struct error ignored = { 0 }; /* what cannot be removed now is tried again next time */

	if (fs_list(dirfd, ".", &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		struct stat st;

		if (str_starts(names.items[i], prefix) &&
		    fstatat(dirfd, names.items[i], &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    owner_is_gone(names.items[i] + strlen(prefix), &st))
			ignore_result(fs_remove_tree(dirfd, names.items[i], &ignored));
	}
	fs_names_release(&names);
}

void fs_pending_sweep(int dirfd)
{
	fs_sweep(dirfd, temporary_prefix);
}

static char *temporary_name(void)
{
	cleanup_free char *owner = fs_owner();
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)(uintptr_t)&random;
	return xasprintf("%s%s-%016" PRIx64, temporary_prefix, owner, random);
}

enum { NAME_TRIES = 100 };

int fs_pending_open_named(int dirfd, struct fs_pending *out, struct error *err)
{
	for (int tries = 0; tries < NAME_TRIES; tries++) {
		cleanup_free char *name = temporary_name();
		int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		if (fd >= 0) {
			*out = (struct fs_pending){ dirfd, fd, steal_ptr(&name) };
			return 0;
		}
		if (errno != EEXIST)
			return error_set_errno(err, errno, "create a temporary file");
	}
	return error_set(err, ERROR_SYSTEM, "no free name for a temporary file");
}

int fs_pending_open(int dirfd, struct fs_pending *out, struct error *err)
{
	int fd = access("/proc/self/fd", X_OK) < 0 ? -1 : /* it gets its name through there */
			 openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return fs_pending_open_named(dirfd, out, err);
	*out = (struct fs_pending){ dirfd, fd, NULL };
	return 0;
}

/* Gives a file without a name `path`, or, where something has that, a temporary one. */
static int name_it(struct fs_pending *p, const char *path, struct error *err)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", p->fd);
	if (linkat(AT_FDCWD, self, p->dirfd, path, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	for (int tries = 0; errno == EEXIST && tries < NAME_TRIES; tries++) {
		cleanup_free char *name = temporary_name();

		if (linkat(AT_FDCWD, self, p->dirfd, name, AT_SYMLINK_FOLLOW) == 0) {
			p->temporary = steal_ptr(&name);
			return 0;
		}
	}
	return error_set_errno(err, errno, "create %s", path);
}

/* Disks elsewhere say only now that they are full. */
static int close_written(struct fs_pending *p, const char *path, struct error *err)
{
	int rc = close(p->fd);

	p->fd = -1;
	return rc == 0 || errno == EINTR ? 0 : error_set_errno(err, errno, "write %s", path);
}

int fs_pending_commit(struct fs_pending *p, const char *path, mode_t mode, struct error *err)
{
	if (fchmod(p->fd, mode) < 0)
		return error_set_errno(err, errno, "set the mode of %s", path);
	if (!p->temporary && name_it(p, path, err) < 0)
		return -1;
	if (close_written(p, path, err) < 0) {
		if (!p->temporary) /* it has its name already */
			unlinkat(p->dirfd, path, 0);
		return -1;
	}
	if (p->temporary && renameat(p->dirfd, p->temporary, p->dirfd, path) < 0)
		return error_set_errno(err, errno, "rename to %s", path);
	free(p->temporary);
	p->temporary = NULL;
	fs_pending_release(p);
	return 0;
}

void fs_pending_release(struct fs_pending *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	if (p->temporary)
		unlinkat(p->dirfd, p->temporary, 0);
	free(p->temporary);
	p->temporary = NULL;
}

int fs_list(int dirfd, const char *path, struct fs_names *out, struct error *err)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *d;

	if (!dir) {
		int cause = errno;

		if (fd >= 0)
			close(fd);
		if (cause == ENOENT)
			return error_set(err, ERROR_NOT_FOUND, "%s: no such directory", path);
		return error_set_errno(err, cause, "open directory %s", path);
	}
	while (errno = 0, (d = readdir(dir))) {
		if (!str_equal(d->d_name, ".") && !str_equal(d->d_name, ".."))
			vec_push(out, xstrdup(d->d_name));
	}
	if (errno) {
		error_set_errno(err, errno, "read directory %s", path);
		closedir(dir);
		fs_names_release(out);
		return -1;
	}
	closedir(dir);
	vec_sort(out, str_order);
	return 0;
}

void fs_names_release(struct fs_names *names)
{
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	vec_release(names);
}

int fs_remove_tree(int dirfd, const char *path, struct error *err)
{
	struct fs_names names = { 0 };
	struct stat st;
	int rc = 0;

	if (fstatat(dirfd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_set_errno(err, errno, "look at %s", path);
	if (!S_ISDIR(st.st_mode)) {
		if (unlinkat(dirfd, path, 0) < 0 && errno != ENOENT)
			return error_set_errno(err, errno, "remove %s", path);
		return 0;
	}
	if ((st.st_mode & 0700) != 0700 && fchmodat(dirfd, path, 0700, 0) < 0 &&
	    errno != EPERM) /* another's: listing it tells */
		return error_set_errno(err, errno, "change the mode of %s", path);
	if (fs_list(dirfd, path, &names, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		cleanup_fd int fd =
			openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		rc = fd < 0 ? error_set_errno(err, errno, "open directory %s", path)
			    : fs_remove_tree(fd, names.items[i], err);
	}
	fs_names_release(&names);
	if (rc == 0 && unlinkat(dirfd, path, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_set_errno(err, errno, "remove directory %s", path);
	return rc;
}

enum { WALK_DEPTH_MAX = 512 };

static int walk(int dirfd, const char *dir, const char *prefix, int depth, fs_visit_fn *visit,
		void *user, struct error *err)
{
	cleanup_fd int fd = -1;
	struct fs_names names = { 0 };
	struct error bad = { 0 };
	int rc = 0;

	if (depth > WALK_DEPTH_MAX)
		return error_set(err, ERROR_LIMIT, "%s: more than %d directories deep", prefix,
				 WALK_DEPTH_MAX);
	fd = openat(dirfd, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
	if (fd < 0 && depth && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_set_errno(err, errno, "open directory %s", *prefix ? prefix : dir);
	if (fs_list(fd, ".", &names, &bad) < 0) {
		if (depth && bad.code == ERROR_NOT_FOUND)
			return 0;
		*err = bad;
		return -1;
	}
	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		cleanup_free char *path =
			*prefix ? fs_join(prefix, names.items[i]) : xstrdup(names.items[i]);
		struct fs_entry e = { .path = path, .name = names.items[i], .dirfd = fd };

		if (fstatat(fd, e.name, &e.st, AT_SYMLINK_NOFOLLOW) < 0) {
			if (errno == ENOENT)
				continue;
			rc = error_set_errno(err, errno, "look at %s", path);
		} else {
			rc = visit(user, &e, err);
		}
		if (rc == FS_WALK_PAST)
			rc = 0;
		else if (rc == 0 && S_ISDIR(e.st.st_mode))
			rc = walk(fd, e.name, path, depth + 1, visit, user, err);
	}
	fs_names_release(&names);
	return rc;
}

int fs_walk(int dirfd, const char *root, fs_visit_fn *visit, void *user, struct error *err)
{
	return walk(dirfd, root, "", 0, visit, user, err);
}

int fs_lock(int fd, int how, const char *name, struct error *err)
{
	while (flock(fd, how) < 0) {
		if (errno == EWOULDBLOCK)
			return 0;
		if (errno != EINTR)
			return error_set_errno(err, errno, "lock %s", name);
	}
	return 1;
}

int fs_lock_file(int dirfd, const char *name, int how, int *out_fd, struct error *err)
{
	for (;;) {
		cleanup_fd int fd =
			openat(dirfd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat ours, named;
		int rc;

		if (fd < 0)
			return error_set_errno(err, errno, "open %s", name);
		rc = fs_lock(fd, how, name, err);
		if (rc <= 0)
			return rc;
		if (fstat(fd, &ours) < 0)
			return error_set_errno(err, errno, "look at %s", name);
		if (fstatat(dirfd, name, &named, AT_SYMLINK_NOFOLLOW) == 0) {
			if (ours.st_ino == named.st_ino && ours.st_dev == named.st_dev) {
				*out_fd = steal_fd(&fd);
				return 1;
			}
		} else if (errno != ENOENT) {
			return error_set_errno(err, errno, "look at %s", name);
		}
		/* who held it has removed it meanwhile */
	}
}

char *fs_join(const char *dir, const char *name)
{
	return xasprintf("%s%s%s", dir, str_ends(dir, "/") ? "" : "/", name);
}

int fs_scratch(struct error *err)
{
	const char *dir = getenv("TMPDIR");
	cleanup_free char *path = xasprintf("%s/gpuimg-XXXXXX", dir && *dir ? dir : "/var/tmp");
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "create a temporary file %s", path);
	unlink(path);
	return fd;
}
