#include "oci/image_unpack.h"

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/fs.h"
#include "base/sink.h"
#include "base/vec.h"
#include "formats/tar_read.h"
#include "oci/tree.h"

/* tree_node.facts: the entry, with the path it has in the tree. */
struct planned {
	struct tar_entry entry;
	const char *place; /* of a file that lost its name: that of a hard link to it; else NULL */
};

struct unpacking {
	struct image *image;
	struct tree tree;
	VEC(struct tree_node *) nodes; /* by entry of all layers in order; NULL: a whiteout */
	int root;
	bool privileged;
	struct unpack_result *out;
};

/* ---- what there is ---- */

/* Errors of the layer itself name it already, those of its entries do not. */
static int name_layer(const struct unpacking *u, size_t layer, struct error *err)
{
	if (str_starts(err->text, u->image->name))
		return -1;
	return error_wrap(err, "%s: layer %zu", u->image->name, layer);
}

static const struct tar_extras *copy_extras(const struct tar_entry *e, struct arena *arena)
{
	struct tar_extras *made;
	struct tar_xattr *copy;

	if (!e->extras)
		return NULL;
	made = arena_alloc(arena, sizeof(*made));
	copy = arena_array(arena, e->extras->xattr_count, sizeof(*copy));
	*made = (struct tar_extras){ .xattrs = copy,
				     .xattr_count = e->extras->xattr_count,
				     .dev_major = e->extras->dev_major,
				     .dev_minor = e->extras->dev_minor };
	for (size_t i = 0; i < made->xattr_count; i++) {
		const struct tar_xattr *x = &e->extras->xattrs[i];

		copy[i].name = arena_strdup(arena, x->name);
		copy[i].value = (const uint8_t *)arena_slice(arena, slice_of(x->value, x->len));
		copy[i].len = x->len;
	}
	return made;
}

/* NULL: a whiteout, which makes nothing. */
static struct tree_node *plan_entry(struct unpacking *u, size_t layer, const struct tar_entry *e)
{
	struct tree_node *node = tree_add(&u->tree, layer, e);
	cleanup_strbuf struct strbuf path = { 0 };
	struct arena *arena = &u->tree.arena;
	struct planned *planned;

	if (!node)
		return NULL;
	planned = arena_alloc(arena, sizeof(*planned));
	planned->entry = *e;
	planned->entry.path = arena_strdup(arena, tree_path(&u->tree, node, &path));
	planned->entry.link = e->link ? arena_strdup(arena, e->link) : "";
	planned->entry.extras = copy_extras(e, arena);
	node->facts = planned;
	return node;
}

static struct planned *planned_of(const struct tree_node *n)
{
	return n->facts;
}

static int list_layer(struct unpacking *u, size_t layer, struct error *err)
{
	cleanup_stream struct stream *plain = image_layer(u->image, layer, err);
	cleanup_tar_reader struct tar_reader *tar = NULL;
	struct tar_entry entry;
	int rc;

	if (!plain)
		return -1;
	tar = tar_read_open(plain);
	while ((rc = tar_read_next(tar, &entry, err)) > 0)
		vec_push(&u->nodes, plan_entry(u, layer, &entry));
	if (rc < 0)
		return name_layer(u, layer, err);
	return stream_drain(plain, NULL, err);
}

/* ---- on disk ---- */

/* A path below the root, no symlink on its way and none at its end. */
static int open_below(const struct unpacking *u, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
				.mode = flags & O_CREAT ? 0600 : 0,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					   RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, u->root, path, &how, sizeof(how));
}

/* The folder that holds `path`, made where it is missing, and the last part of the name. */
static int open_parent(const struct unpacking *u, const char *path, const char **out_name,
		       struct error *err)
{
	const char *slash = strrchr(path, '/');
	cleanup_free char *dir = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	int fd;

	*out_name = slash ? slash + 1 : path;
	fd = open_below(u, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT && fs_mkdirs(u->root, dir, err) == 0)
		fd = open_below(u, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return error_set_errno(err, errno, "open the folder of %s", path);
	return fd;
}

static int make_folder(struct unpacking *u, const struct tar_entry *e, struct error *err)
{
	const char *name;
	cleanup_fd int dir = open_parent(u, e->path, &name, err);

	if (dir < 0)
		return -1;
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "create %s", e->path);
	return 0;
}

static void note_owner(struct unpacking *u, const struct tar_entry *e)
{
	u->out->owners += !u->privileged && (e->uid || e->gid);
}

static void set_xattrs(struct unpacking *u, int fd, const struct tar_entry *e)
{
	const struct tar_extras *x = tar_extras(e);

	for (size_t i = 0; i < x->xattr_count; i++)
		u->out->xattrs += fsetxattr(fd, x->xattrs[i].name, x->xattrs[i].value,
					    x->xattrs[i].len, 0) < 0;
}

/* Owner first: changing it takes setuid bits and capabilities away. */
static int set_attributes(struct unpacking *u, int fd, const struct tar_entry *e, struct error *err)
{
	struct timespec times[2] = { { .tv_sec = (time_t)e->mtime },
				     { .tv_sec = (time_t)e->mtime } };

	note_owner(u, e);
	if (u->privileged && fchown(fd, (uid_t)e->uid, (gid_t)e->gid) < 0)
		return error_set_errno(err, errno, "set the owner of %s", e->path);
	if (fchmod(fd, e->mode) < 0)
		return error_set_errno(err, errno, "set the mode of %s", e->path);
	set_xattrs(u, fd, e);
	if (futimens(fd, times) < 0)
		return error_set_errno(err, errno, "set the time of %s", e->path);
	return 0;
}

static int same_name(const char *path, struct error *err)
{
	return error_set(err, ERROR_FORMAT,
			 "%s is there already: the file system does not tell two names of the "
			 "image apart; unpack elsewhere",
			 path);
}

static int make_file(struct unpacking *u, const struct tar_entry *e, struct stream *content,
		     struct error *err)
{
	const char *name;
	cleanup_fd int dir = open_parent(u, e->path, &name, err), fd = -1;
	cleanup_sink struct sink *sink = NULL;
	uint64_t bytes = 0;

	if (dir < 0)
		return -1;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return errno == EEXIST ? same_name(e->path, err)
				       : error_set_errno(err, errno, "create %s", e->path);
	sink = sink_fd(fd, e->path);
	if (sink_copy(sink, content, &bytes, err) < 0)
		return -1;
	u->out->files++;
	u->out->bytes += bytes;
	return set_attributes(u, fd, e, err);
}

static int set_time(int dir, const char *name, const struct tar_entry *e, struct error *err)
{
	struct timespec time = { .tv_sec = (time_t)e->mtime };
	struct timespec times[2] = { time, time };

	if (utimensat(dir, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set_errno(err, errno, "set the time of %s", e->path);
	return 0;
}

static int make_symlink(struct unpacking *u, const struct tar_entry *e, struct error *err)
{
	const char *name;
	cleanup_fd int dir = open_parent(u, e->path, &name, err);

	if (dir < 0)
		return -1;
	if (symlinkat(e->link, dir, name) < 0)
		return errno == EEXIST ? same_name(e->path, err)
				       : error_set_errno(err, errno, "create %s", e->path);
	note_owner(u, e);
	if (u->privileged &&
	    fchownat(dir, name, (uid_t)e->uid, (gid_t)e->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set_errno(err, errno, "set the owner of %s", e->path);
	return set_time(dir, name, e, err);
}

/* Devices and pipes; where that is not allowed they are counted. */
static int make_special(struct unpacking *u, const struct tar_entry *e, struct error *err)
{
	mode_t type = e->type == TAR_FIFO ? S_IFIFO : e->type == TAR_CHAR ? S_IFCHR : S_IFBLK;
	const struct tar_extras *x = tar_extras(e);
	const char *name;
	cleanup_fd int dir = open_parent(u, e->path, &name, err);

	if (dir < 0)
		return -1;
	if (mknodat(dir, name, type | 0600, makedev(x->dev_major, x->dev_minor)) < 0) {
		if (errno != EPERM)
			return error_set_errno(err, errno, "create %s", e->path);
		u->out->devices++;
		return 0;
	}
	if (u->privileged &&
	    fchownat(dir, name, (uid_t)e->uid, (gid_t)e->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_set_errno(err, errno, "set the owner of %s", e->path);
	if (fchmodat(dir, name, e->mode, 0) < 0)
		return error_set_errno(err, errno, "set the mode of %s", e->path);
	return set_time(dir, name, e, err);
}

/* Where the content of a file is on the disk. */
static const char *place_of(const struct tree_node *n)
{
	return planned_of(n)->place ? planned_of(n)->place : planned_of(n)->entry.path;
}

static int make_link(struct unpacking *u, const struct tree_node *n, struct error *err)
{
	const struct tar_entry *e = &planned_of(n)->entry;
	const struct tree_node *file = tree_target(n);
	const char *name, *target;
	cleanup_fd int dir = open_parent(u, e->path, &name, err), from = -1;

	if (dir < 0)
		return -1;
	if (!file || file->entry.type != TAR_FILE)
		return error_set(err, ERROR_FORMAT, "%s is a hard link to %s, which is no file",
				 e->path, e->link);
	from = open_parent(u, place_of(file), &target, err);
	if (from < 0)
		return -1;
	if (linkat(from, target, dir, name, 0) < 0)
		return error_set_errno(err, errno, "link %s to %s", e->path, place_of(file));
	return 0;
}

/*
 * The file of a hard link may have lost its own name: then its content goes to the first link's
 * name. Such a link takes the place of the target.
 */
static bool is_written(const struct tree_node *n)
{
	return n->fate == TREE_EFFECTIVE;
}

static int write_layer(struct unpacking *u, size_t layer, size_t *next, struct error *err)
{
	cleanup_stream struct stream *plain = image_layer(u->image, layer, err);
	cleanup_tar_reader struct tar_reader *tar = NULL;
	struct tar_entry entry;
	int rc;

	if (!plain)
		return -1;
	tar = tar_read_open(plain);
	while ((rc = tar_read_next(tar, &entry, err)) > 0) {
		const struct tree_node *n = u->nodes.items[(*next)++];

		if (!n || entry.type != TAR_FILE || (!is_written(n) && !n->links))
			continue;
		entry.path = place_of(n);
		if (make_file(u, &entry, tar_read_content(tar), err) < 0)
			return -1;
	}
	if (rc < 0)
		return name_layer(u, layer, err);
	return stream_drain(plain, NULL, err);
}

static int make_rest(struct unpacking *u, const struct tree_node *n, struct error *err)
{
	const struct planned *planned = planned_of(n);
	const struct tree_node *file = tree_target(n);

	switch ((enum tar_type)n->entry.type) {
	case TAR_SYMLINK:
		return make_symlink(u, &planned->entry, err);
	case TAR_CHAR:
	case TAR_BLOCK:
	case TAR_FIFO:
		return make_special(u, &planned->entry, err);
	case TAR_HARDLINK:
		if (file && str_equal(place_of(file), planned->entry.path))
			return 0; /* took the place of its file */
		return make_link(u, n, err);
	case TAR_FILE:
	case TAR_DIR:
		break;
	}
	return 0;
}

static int finish_folder(struct unpacking *u, const struct tar_entry *e, struct error *err)
{
	cleanup_fd int fd = open_below(u, e->path, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return error_set_errno(err, errno, "open %s", e->path);
	return set_attributes(u, fd, e, err);
}

/* Where the content of a file goes that is only left under the names of its links. */
static void place_lost_files(struct tree_node **nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct tree_node *file = tree_target(nodes[i]);

		if (file && !is_written(file) && !planned_of(file)->place)
			planned_of(file)->place = planned_of(nodes[i])->entry.path;
	}
}

static int unpack(struct unpacking *u, struct error *err)
{
	struct tree_node **nodes;
	size_t count, next = 0;

	for (size_t i = 0; i < u->image->manifest.layer_count; i++) {
		if (list_layer(u, i, err) < 0)
			return -1;
	}
	nodes = tree_sorted(&u->tree, &count);
	place_lost_files(nodes, count);
	for (size_t i = 0; i < count; i++) {
		if (nodes[i]->entry.type == TAR_DIR &&
		    make_folder(u, &planned_of(nodes[i])->entry, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < u->image->manifest.layer_count; i++) {
		if (write_layer(u, i, &next, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < count; i++) {
		if (make_rest(u, nodes[i], err) < 0)
			return -1;
	}
	for (size_t i = count; i-- > 0;) {
		if (nodes[i]->entry.type == TAR_DIR &&
		    finish_folder(u, &planned_of(nodes[i])->entry, err) < 0)
			return -1;
	}
	return 0;
}

/* A fresh folder beside `dir`, so that a rename brings it into place. */
static char *temporary_beside(const char *dir, struct error *err)
{
	size_t len = strlen(dir);
	cleanup_free char *path = NULL, *parent = NULL;
	char *slash;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	parent = xstrndup(dir, len);
	slash = strrchr(parent, '/');
	if (slash && slash != parent) {
		*slash = '\0';
		if (fs_mkdirs(AT_FDCWD, parent, err) < 0)
			return NULL;
	}
	path = xasprintf("%.*s.gpuimg-XXXXXX", (int)len, dir);
	if (!mkdtemp(path)) {
		error_set_errno(err, errno, "create a folder beside %s", dir);
		return NULL;
	}
	return steal_ptr(&path);
}

static int unpack_to(struct image *image, const char *temporary, const char *dir,
		     struct unpack_result *out, struct error *err)
{
	struct unpacking u = { .image = image, .out = out, .privileged = geteuid() == 0 };
	int rc = -1;

	u.root = open(temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (u.root < 0)
		error_set_errno(err, errno, "open %s", temporary);
	else
		rc = unpack(&u, err);
	if (rc == 0 && fchmod(u.root, 0755) < 0)
		rc = error_set_errno(err, errno, "set the mode of %s", temporary);
	if (u.root >= 0)
		close(u.root);
	vec_release(&u.nodes);
	tree_release(&u.tree);
	if (rc == 0 && rename(temporary, dir) < 0)
		rc = errno == ENOTEMPTY || errno == EEXIST
			     ? error_set(err, ERROR_USAGE,
					 "%s is not empty; name a folder that is yet to be made",
					 dir)
			     : error_set_errno(err, errno, "rename to %s", dir);
	return rc;
}

int image_unpack(struct image *image, const char *dir, struct unpack_result *out, struct error *err)
{
	cleanup_free char *temporary = NULL;
	struct error ignored = { 0 };
	int rc;

	*out = (struct unpack_result){ 0 };
	if (rmdir(dir) < 0 && errno != ENOENT)
		return errno == ENOTEMPTY || errno == EEXIST
			       ? error_set(err, ERROR_USAGE,
					   "%s is not empty; name a folder that is yet to be made",
					   dir)
			       : error_set_errno(err, errno, "make %s anew", dir);
	temporary = temporary_beside(dir, err);
	if (!temporary)
		return -1;
	rc = unpack_to(image, temporary, dir, out, err);
	if (rc < 0)
		ignore_result(fs_remove_tree(AT_FDCWD, temporary, &ignored));
	return rc;
}
