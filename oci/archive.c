#include "base/fs.h"
#include "oci/docker_archive.h"
#include "oci/layout.h"
#include "oci/tar_index.h"

struct archive_source {
	struct image_source base;
	int fd;
	struct tar_index index;
	bool docker;
	struct docker_archive image; /* when docker */
	struct arena arena;
	struct descriptor root; /* when not */
};

/* A seekable file with the plain tar in it; `fd` is taken. */
static int spool(int fd, const char *name, struct error *err)
{
	cleanup_stream struct stream *in = stream_fd(fd, name), *plain = NULL;
	cleanup_sink struct sink *file = NULL;
	cleanup_fd int out = fs_scratch(err);

	if (out < 0)
		return -1;
	plain = decompress_auto(in, NULL, err);
	if (!plain)
		return error_wrap(err, "%s", name);
	file = sink_fd(out, "a temporary file");
	if (sink_copy(file, plain, NULL, err) < 0)
		return error_wrap(err, "%s", name);
	return steal_fd(&out);
}

/* The archive as a file that can be read anywhere; `fd` is taken. */
static int make_seekable(int fd, const char *name, struct error *err)
{
	uint8_t head[6];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0) {
		error_set_errno(err, errno, "look at %s", name);
		close(fd);
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		close(fd);
		return error_set(err, ERROR_USAGE, "%s: is a directory, not an archive", name);
	}
	n = pread(fd, head, sizeof(head), 0);
	if (S_ISREG(st.st_mode) && n >= 0) {
		if (compression_detect(slice_of(head, (size_t)n)) == COMPRESSION_NONE)
			return fd;
		if (lseek(fd, 0, SEEK_SET) < 0) {
			error_set_errno(err, errno, "seek %s", name);
			close(fd);
			return -1;
		}
	}
	return spool(fd, name, err);
}

static int oci_open(struct archive_source *s, const char *tag, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_index struct index index = { 0 };

	if (tar_index_get(&s->index, "index.json", MANIFEST_BYTES_MAX, &text, err) < 0)
		return -1;
	if (index_parse(strbuf_slice(&text), &s->arena, &index, err) < 0)
		return error_wrap(err, "%s: index.json", s->index.archive);
	if (layout_index_choose(&index, s->index.archive, tag, &s->root, err) < 0)
		return -1;
	s->root.annotations = NULL;
	return 0;
}

static int archive_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
			struct error *err)
{
	struct archive_source *s = (struct archive_source *)base;

	if (s->docker) {
		strbuf_add(out, s->image.manifest.data, s->image.manifest.len);
		*desc = s->image.root;
		return 0;
	}
	if (source_read(base, &s->root, MANIFEST_BYTES_MAX, out, err) < 0)
		return -1;
	*desc = s->root;
	return 0;
}

static struct stream *archive_blob(struct image_source *base, const struct descriptor *desc,
				   struct error *err)
{
	struct archive_source *s = (struct archive_source *)base;
	const struct tar_member *member;
	char hex[DIGEST_HEX_MAX], text[DIGEST_TEXT_MAX];
	cleanup_free char *path = NULL;

	if (s->docker) {
		member = docker_archive_blob(&s->image, &desc->digest);
		if (!member) {
			error_set(err, ERROR_NOT_FOUND, "%s: holds no blob %s", s->index.archive,
				  digest_text(&desc->digest, text));
			return NULL;
		}
		return tar_index_open(&s->index, member);
	}
	path = xasprintf("blobs/%s/%s",
			 desc->digest.algorithm == DIGEST_SHA512 ? "sha512" : "sha256",
			 digest_hex(&desc->digest, hex));
	member = tar_index_find(&s->index, path, err);
	return member ? tar_index_open(&s->index, member) : NULL;
}

/* Of the whole archive; the digest names the part. A spooled one is always a new file. */
static enum blob_identity archive_identity(struct image_source *base, const struct descriptor *desc,
					   struct strbuf *out)
{
	(void)desc;
	return source_file_identity(((struct archive_source *)base)->fd, out);
}

static void archive_close(struct image_source *base)
{
	struct archive_source *s = (struct archive_source *)base;

	docker_archive_release(&s->image);
	tar_index_release(&s->index);
	arena_release(&s->arena);
	cleanup_fd_fn(&s->fd);
	free(s);
}

static int open_content(struct archive_source *s, const char *name, const char *tag,
			struct error *err)
{
	if (tar_index_read(s->fd, name, &s->index, err) < 0)
		return -1;
	/* docker save of version 25 and later writes both: then the layout, which has digests. */
	if (tar_index_has(&s->index, "oci-layout"))
		return oci_open(s, tag, err);
	if (tar_index_has(&s->index, "manifest.json")) {
		s->docker = true;
		return docker_archive_open(&s->index, tag, &s->image, err);
	}
	if (tar_index_has(&s->index, "repositories"))
		return error_set(
			err, ERROR_FORMAT,
			"%s: is an archive of Docker before 1.10; load it and save it with "
			"a newer version",
			name);
	return error_set(err, ERROR_FORMAT,
			 "%s: is no image archive: it holds neither oci-layout nor manifest.json",
			 name);
}

struct image_source *archive_source(int fd, const char *name, const char *tag, struct error *err)
{
	static const struct image_source_ops ops = { archive_root, archive_blob, archive_close,
						     archive_identity };
	struct archive_source *s;

	fd = make_seekable(fd, name, err);
	if (fd < 0)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &ops;
	s->fd = fd;
	if (open_content(s, name, tag, err) == 0)
		return &s->base;
	archive_close(&s->base);
	return NULL;
}
