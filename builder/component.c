#include "builder/component.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/vec.h"
#include "builder/stat_cache.h"

/* A content's bytes with the streams below them, which close with it; names the file in errors. */
struct content_stream {
	struct stream base;
	struct stream *source, *proven; /* proven: NULL when there is no digest */
	char *path;                     /* NULL: nothing to name */
	/* a file that is known by its stamp */
	const struct file_stamp *stamp;
	int fd; /* belongs to `source` */
	uint64_t left;
};

/* The file still has its stamp, before the first byte and behind the last. */
static int check_stamp(const struct content_stream *s, struct error *err)
{
	struct file_stamp now;
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return error_set_errno(err, errno, "look at %s", s->path);
	now = file_stamp_of(&st);
	if (s->left || !file_stamp_equal(&now, s->stamp))
		return error_set(err, ERROR_INTEGRITY, "changed during the build; build again");
	return 0;
}

static ssize_t content_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct content_stream *s = (struct content_stream *)base;
	ssize_t n = stream_read(s->proven ? s->proven : s->source, buf, len, err);

	if (s->stamp && n >= 0) {
		s->left -= MIN(s->left, (uint64_t)n);
		if (n == 0 && check_stamp(s, err) < 0)
			n = -1;
	}
	if (n < 0 && s->path && err->code != ERROR_SYSTEM)
		return error_wrap(err, "%s", s->path);
	return n;
}

static void content_close(struct stream *base)
{
	struct content_stream *s = (struct content_stream *)base;

	stream_close(s->proven);
	stream_close(s->source);
	free(s->path);
}

char *content_host_path(const struct content *c)
{
	assert(c->kind == CONTENT_PATH);
	return c->folder ? fs_join(c->folder, c->path) : xstrdup(c->path);
}

/* Only regular files are opened: a pipe would block, a device never end. */
static struct stream *open_path(const char *path, int *out_fd, struct error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		error_set(err, ERROR_NOT_FOUND, "%s: no such file", path);
		return NULL;
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		error_set_errno(err, errno, "open %s", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		error_set(err, ERROR_INTEGRITY, "%s: is no longer a regular file", path);
		return NULL;
	}
	*out_fd = fd;
	return stream_fd(steal_fd(&fd), path);
}

/* *out_fd is that of a CONTENT_PATH, and belongs to the stream. */
static struct stream *open_source(const struct content *c, uint64_t size, int *out_fd,
				  struct error *err)
{
	cleanup_free char *path = NULL;

	switch ((enum content_kind)c->kind) {
	case CONTENT_MEMORY:
		assert(c->memory.len == size);
		return stream_memory(c->memory);
	case CONTENT_RANGE:
		return stream_fd_range(c->fd, c->offset, size, c->path ? c->path : "package");
	case CONTENT_ZIP:
		return zip_open(c->fd, c->zip);
	case CONTENT_PATH:
		path = content_host_path(c);
		return open_path(path, out_fd, err);
	case CONTENT_ABSENT:
		error_set(err, ERROR_NOT_FOUND,
			  "its content is in the base image's layers, which are not unpacked");
		return NULL;
	}
	assert(false);
	return NULL;
}

struct stream *content_open(const struct content *c, uint64_t size, struct error *err)
{
	static const struct stream_ops ops = { .read = content_read, .close = content_close };
	int fd = -1;
	struct stream *source = open_source(c, size, &fd, err);
	struct digest want = content_digest(c);
	struct content_stream *s;

	if (!source || (!c->has_digest && c->kind != CONTENT_PATH))
		return source;
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &ops;
	s->source = source;
	s->fd = fd;
	s->left = size;
	s->stamp = c->kind == CONTENT_PATH ? c->stamp : NULL;
	if (c->has_digest && !s->stamp)
		s->proven = stream_verify(source, &want, size);
	s->path = c->kind == CONTENT_PATH ? content_host_path(c)
		  : c->path               ? xstrdup(c->path)
					  : NULL;
	return &s->base;
}

struct component *component_new(enum component_kind kind, const char *name, const char *version)
{
	struct component *c = xcalloc(1, sizeof(*c));

	c->kind = kind;
	c->fd = -1;
	c->name = arena_strdup(&c->arena, name);
	c->version = arena_strdup(&c->arena, version ? version : "");
	c->arch = c->source_name = c->stage = c->license = "";
	return c;
}

void component_free(struct component *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	vec_release(&c->entries);
	vec_release(&c->scripts);
	vec_release(&c->owners);
	vec_release(&c->controls);
	arena_release(&c->arena);
	free(c);
}

static const struct tar_extras *copy_extras(struct arena *arena, const struct tar_extras *from)
{
	struct tar_extras *made = arena_alloc(arena, sizeof(*made));
	struct tar_xattr *out = arena_array(arena, from->xattr_count, sizeof(*out));

	*made = (struct tar_extras){ .xattrs = out,
				     .xattr_count = from->xattr_count,
				     .dev_major = from->dev_major,
				     .dev_minor = from->dev_minor };
	for (size_t i = 0; i < from->xattr_count; i++) {
		const struct tar_xattr *x = &from->xattrs[i];
		uint8_t *value = arena_alloc(arena, x->len + 1);

		if (x->len)
			memcpy(value, x->value, x->len);
		out[i] = (struct tar_xattr){ arena_strdup(arena, x->name), value, x->len };
	}
	return made;
}

struct component_entry *component_add(struct component *c, const struct tar_entry *tar)
{
	struct component_entry *e;

	assert(!c->settled);
	e = vec_add(&c->entries);
	e->tar = *tar;
	e->tar.path = arena_strdup(&c->arena, tar->path);
	e->tar.link = arena_strdup(&c->arena, tar->link ? tar->link : "");
	e->tar.extras = tar->extras ? copy_extras(&c->arena, tar->extras) : NULL;
	e->content.fd = -1;
	return e;
}

struct component_entry *component_add_text(struct component *c, const char *path, uint32_t mode,
					   struct slice text)
{
	struct tar_entry tar = {
		.type = TAR_FILE,
		.path = path,
		.link = "",
		.size = text.len,
		.mode = mode,
		.mtime = FIXED_MTIME,
	};
	struct component_entry *e = component_add(c, &tar);

	e->content.kind = CONTENT_MEMORY;
	e->content.memory = slice_of(arena_slice(&c->arena, text), text.len);
	return e;
}

struct component_entry *component_add_symlink(struct component *c, const char *path,
					      const char *target)
{
	struct tar_entry tar = {
		.type = TAR_SYMLINK,
		.path = path,
		.link = target,
		.mode = 0777,
		.mtime = FIXED_MTIME,
	};

	return component_add(c, &tar);
}

struct component_entry *component_add_dir(struct component *c, const char *path, uint32_t mode)
{
	struct tar_entry tar = {
		.type = TAR_DIR,
		.path = path,
		.link = "",
		.mode = mode,
		.mtime = FIXED_MTIME,
	};

	return component_add(c, &tar);
}
