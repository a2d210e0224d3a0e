#include "builder/sandbox.h"

#include <linux/openat2.h>
#include <sys/syscall.h>

enum { LINK_BYTES_MAX = 4096 };

static int write_content(int rootfd, const struct rootfs_node *n, struct error *err)
{
	cleanup_fd int fd = openat(rootfd, n->tar->path,
				   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	cleanup_stream struct stream *content = NULL;
	cleanup_sink struct sink *sink = NULL;

	if (fd < 0)
		return error_set_errno(err, errno, "create %s", n->tar->path);
	sink = sink_fd(fd, n->tar->path);
	if (n->tar->size) {
		content = content_open(&rootfs_entry(n)->content, n->tar->size, err);
		if (!content || sink_copy(sink, content, NULL, err) < 0)
			return -1;
	}
	if (geteuid() == 0 && fchown(fd, (uid_t)n->tar->uid, (gid_t)n->tar->gid) < 0)
		return error_set_errno(err, errno, "set the owner of %s", n->tar->path);
	if (fchmod(fd, n->tar->mode) < 0)
		return error_set_errno(err, errno, "set the mode of %s", n->tar->path);
	return 0;
}

static int extract_node(int rootfd, const struct rootfs_node *n, struct error *err)
{
	switch (n->tar->type) {
	case TAR_DIR:
		if (mkdirat(rootfd, n->tar->path, 0700) < 0)
			return error_set_errno(err, errno, "create %s", n->tar->path);
		return 0;
	case TAR_SYMLINK:
		if (symlinkat(n->tar->link, rootfd, n->tar->path) < 0)
			return error_set_errno(err, errno, "create the link %s", n->tar->path);
		return 0;
	case TAR_FILE:
		return write_content(rootfd, n, err);
	default:
		return 0; /* hard links come when all files are there */
	}
}

/* Modes of directories are set last: one without write permission must first be filled. */
static int set_dir(int rootfd, const struct rootfs_node *n, struct error *err)
{
	cleanup_fd int fd =
		openat(rootfd, n->tar->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || (geteuid() == 0 && fchown(fd, (uid_t)n->tar->uid, (gid_t)n->tar->gid) < 0) ||
	    fchmod(fd, n->tar->mode | (geteuid() ? 0700 : 0)) < 0)
		return error_set_errno(err, errno, "set the mode of %s", n->tar->path);
	return 0;
}

int sandbox_extract(struct rootfs *r, const char *dir, struct error *err)
{
	cleanup_fd int rootfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct rootfs_nodes nodes = { 0 };
	int rc = 0;

	if (rootfd < 0)
		return error_set_errno(err, errno, "open %s", dir);
	rootfs_sorted(r, &nodes);
	for (size_t i = 0; i < nodes.len && rc == 0; i++)
		rc = extract_node(rootfd, nodes.items[i], err);
	for (size_t i = 0; i < nodes.len && rc == 0; i++) {
		struct rootfs_node *n = nodes.items[i], *file = rootfs_file(r, n);

		if (n->tar->type == TAR_HARDLINK && file &&
		    linkat(rootfd, file->tar->path, rootfd, n->tar->path, 0) < 0)
			rc = error_set_errno(err, errno, "create the hard link %s", n->tar->path);
	}
	for (size_t i = nodes.len; i-- > 0 && rc == 0;) {
		if (nodes.items[i]->tar->type == TAR_DIR)
			rc = set_dir(rootfd, nodes.items[i], err);
	}
	vec_release(&nodes);
	return rc;
}

int sandbox_open_inside(int rootfd, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = flags | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };

	return (int)syscall(SYS_openat2, rootfd, path, &how, sizeof(how));
}

struct collecting {
	struct store *store;
	const struct secrets *secrets;
	struct component *c;
	const char *shown;
};

static int store_file(struct collecting *k, int fd, const char *to, const struct stat *st,
		      struct error *err)
{
	struct tar_entry tar = { .type = TAR_FILE, .path = to, .link = "", .mtime = FIXED_MTIME };
	cleanup_stream struct stream *file = stream_fd(fd, to);
	cleanup_stream struct stream *s = secrets_watch(k->secrets, file);
	cleanup_store_put struct store_pending pending = { 0 };
	struct component_entry *e;
	struct digest digest;

	tar.mode = (uint32_t)st->st_mode & 07777;
	if (store_put_open(k->store, &pending, err) < 0)
		return -1;
	if (sink_copy(pending.sink, s, NULL, err) < 0)
		return error_wrap(err, "%s%s", k->shown, to + 1); /* after "x" */
	if (store_put_commit(&pending, NULL, 0, &digest, &tar.size, err) < 0)
		return -1;
	e = component_add(k->c, &tar);
	e->content = (struct content){ .kind = CONTENT_PATH };
	content_set_digest(&e->content, &digest);
	return 0;
}

/* Names and targets of links are output as well. */
static int refuse_secret(const struct collecting *k, struct slice text, struct error *err)
{
	const struct secret *found = secrets_in(k->secrets, text);

	if (!found)
		return 0;
	return error_set(err, ERROR_INTEGRITY,
			 "%s: holds the secret '%s' in a name or link; what a stage gives must not",
			 k->shown, found->id);
}

static int collect_node(struct collecting *k, int dirfd, const char *name, const char *to,
			const struct stat *st, struct error *err)
{
	if (S_ISDIR(st->st_mode)) {
		component_add_dir(k->c, to, (uint32_t)st->st_mode & 07777);
		return 0;
	}
	if (S_ISLNK(st->st_mode)) {
		char target[LINK_BYTES_MAX];
		ssize_t n = readlinkat(dirfd, name, target, sizeof(target) - 1);

		if (n < 0)
			return error_set_errno(err, errno, "read the link %s", to);
		target[n] = '\0';
		if (refuse_secret(k, slice_of(target, (size_t)n), err) < 0)
			return -1;
		component_add_symlink(k->c, to, target);
		return 0;
	}
	if (S_ISREG(st->st_mode)) {
		int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

		if (fd < 0)
			return error_set_errno(err, errno, "open %s", to);
		return store_file(k, fd, to, st, err);
	}
	return error_set(err, ERROR_USAGE, "%s: holds a device, pipe or socket (%s)", k->shown, to);
}

static int visit(void *user, const struct fs_entry *entry, struct error *err)
{
	struct collecting *k = user;
	cleanup_free char *to = xasprintf("x/%s", entry->path);

	if (refuse_secret(k, slice_str(entry->path), err) < 0)
		return -1;
	if (strchr(entry->path, '\n'))
		return error_set(err, ERROR_USAGE, "%s: has a line break in a name", k->shown);
	return collect_node(k, entry->dirfd, entry->name, to, &entry->st, err);
}

int sandbox_collect(struct store *store, const char *root, const char *path,
		    const struct secrets *secrets, struct component *c, struct error *err)
{
	struct collecting k = { .store = store, .secrets = secrets, .c = c, .shown = path };
	cleanup_fd int rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd =
		rootfd < 0 ? -1 : sandbox_open_inside(rootfd, path, O_RDONLY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
		return error_set(err, ERROR_USAGE, "%s: the stage has no such file or folder",
				 path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "open %s in the stage", path);
	if (S_ISDIR(st.st_mode)) {
		component_add_dir(c, "x", (uint32_t)st.st_mode & 07777);
		return fs_walk(fd, ".", visit, &k, err);
	}
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_USAGE, "%s: is neither a file nor a folder", path);
	return store_file(&k, steal_fd(&fd), "x", &st, err);
}
