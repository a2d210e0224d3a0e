#include "oci/source.h"

#include <time.h>

#include "base/fs.h"
#include "oci/layout.h"

struct rootfs_source {
	struct image_source base;
	char *dir;
};

static int rootfs_root(struct image_source *s, struct strbuf *out, struct descriptor *desc,
		       struct error *err)
{
	(void)out;
	(void)desc;
	return error_set(err, ERROR_USAGE, "%s: an unpacked root has no manifest", s->rootfs);
}

static struct stream *rootfs_blob(struct image_source *s, const struct descriptor *desc,
				  struct error *err)
{
	(void)desc;
	error_set(err, ERROR_USAGE, "%s: an unpacked root has no layers", s->rootfs);
	return NULL;
}

static void rootfs_close(struct image_source *s)
{
	free(((struct rootfs_source *)s)->dir);
	free(s);
}

struct image_source *rootfs_source(const char *dir, struct error *err)
{
	static const struct image_source_ops ops = { .root = rootfs_root,
						     .blob = rootfs_blob,
						     .close = rootfs_close };
	struct rootfs_source *s;
	struct stat st;

	if (stat(dir, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			error_set(err, ERROR_NOT_FOUND, "%s: no such directory", dir);
		else
			error_set_errno(err, errno, "look at %s", dir);
		return NULL;
	}
	if (!S_ISDIR(st.st_mode)) {
		error_set(err, ERROR_USAGE, "%s: is not a directory", dir);
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &ops;
	s->dir = xstrdup(dir);
	s->base.rootfs = s->dir;
	return &s->base;
}

struct layout_source {
	struct image_source base;
	struct arena arena;
	struct layout *layout;
	struct descriptor root;
};

static struct stream *source_blob(struct image_source *base, const struct descriptor *desc,
				  struct error *err)
{
	return layout_blob(((struct layout_source *)base)->layout, &desc->digest, err);
}

static enum blob_identity source_blob_identity(struct image_source *base,
					       const struct descriptor *desc, struct strbuf *out)
{
	return layout_identity(((struct layout_source *)base)->layout, &desc->digest, out);
}

static int source_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
		       struct error *err)
{
	struct layout_source *s = (struct layout_source *)base;

	if (source_read(base, &s->root, MANIFEST_BYTES_MAX, out, err) < 0)
		return -1;
	*desc = s->root;
	return 0;
}

static void source_close(struct image_source *base)
{
	struct layout_source *s = (struct layout_source *)base;

	layout_close(s->layout);
	arena_release(&s->arena);
	free(s);
}

struct image_source *layout_source(const char *dir, const char *tag, struct error *err)
{
	static const struct image_source_ops ops = { source_root, source_blob, source_close,
						     source_blob_identity };
	struct layout_source *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->layout = layout_open(dir, err);
	if (s->layout && layout_resolve(s->layout, tag, &s->arena, &s->root, err) == 0)
		return &s->base;
	source_close(&s->base);
	return NULL;
}

struct borrowed_source {
	struct image_source base;
	struct image_source *of;
};

static int borrowed_root(struct image_source *s, struct strbuf *out, struct descriptor *desc,
			 struct error *err)
{
	struct image_source *of = ((struct borrowed_source *)s)->of;

	return of->ops->root(of, out, desc, err);
}

static struct stream *borrowed_blob(struct image_source *s, const struct descriptor *desc,
				    struct error *err)
{
	struct image_source *of = ((struct borrowed_source *)s)->of;

	return of->ops->blob(of, desc, err);
}

static void borrowed_close(struct image_source *s)
{
	free(s);
}

static enum blob_identity borrowed_identity(struct image_source *s, const struct descriptor *desc,
					    struct strbuf *out)
{
	return source_identity(((struct borrowed_source *)s)->of, desc, out);
}

struct image_source *source_borrow(struct image_source *s)
{
	static const struct image_source_ops ops = { borrowed_root, borrowed_blob, borrowed_close,
						     borrowed_identity };
	struct borrowed_source *b = xcalloc(1, sizeof(*b));

	b->base.ops = &ops;
	b->base.rootfs = s->rootfs;
	b->of = s;
	return &b->base;
}

enum blob_identity source_identity(struct image_source *s, const struct descriptor *desc,
				   struct strbuf *out)
{
	return s->ops->identity ? s->ops->identity(s, desc, out) : BLOB_UNKNOWN;
}

enum blob_identity source_file_identity(int fd, struct strbuf *out)
{
	enum { SETTLED_SECONDS = 2 }; /* clocks of file systems may be as coarse */
	struct timespec now;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    clock_gettime(CLOCK_REALTIME, &now) < 0 ||
	    (st.st_ctim.tv_sec > now.tv_sec - SETTLED_SECONDS))
		return BLOB_UNKNOWN;
	strbuf_addf(out, "%ju:%ju %ju %jd.%09ld %jd.%09ld", (uintmax_t)st.st_dev,
		    (uintmax_t)st.st_ino, (uintmax_t)st.st_size, (intmax_t)st.st_mtim.tv_sec,
		    st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
	return BLOB_IS_FILE;
}

int source_read(struct image_source *s, const struct descriptor *desc, uint64_t limit,
		struct strbuf *out, struct error *err)
{
	char digest[DIGEST_TEXT_MAX];
	cleanup_stream struct stream *blob = NULL, *verified = NULL;

	if (desc->size > limit)
		return error_set(err, ERROR_LIMIT,
				 "blob %s: is %" PRIu64 " bytes long, %" PRIu64 " are allowed here",
				 digest_text(&desc->digest, digest), desc->size, limit);
	blob = s->ops->blob(s, desc, err);
	if (!blob)
		return -1;
	verified = stream_verify(blob, &desc->digest, desc->size);
	if (stream_read_all(verified, limit, out, err) < 0)
		return error_wrap(err, "blob %s", digest_text(&desc->digest, digest));
	return 0;
}
