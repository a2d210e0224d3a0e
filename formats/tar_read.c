#include <archive.h>
#include <archive_entry.h>
#include <sys/sysmacros.h>

#include "formats/tar_read.h"

#include "base/alloc.h"
#include "base/arena.h"

enum {
	INPUT_BYTES = 128 * 1024,     /* most that is read at once */
	RING_BYTES = 8 * INPUT_BYTES, /* what was read last stays this long */
	HEADERS_MAX = RING_BYTES - INPUT_BYTES,
	PATH_BYTES_MAX = 4096,
	XATTRS_MAX = 256,
	XATTR_BYTES_MAX = 64 * 1024, /* what Linux allows for one value */
	BLOCK = 512,                 /* of a tar, and where a header has what */
	AT_SIZE = 124,
	SIZE_BYTES = 12,
	AT_TYPE = 156,
};

struct content_stream {
	struct stream base;
	struct tar_reader *reader;
	uint64_t left;      /* bytes of the entry not yet given */
	uint64_t zeros;     /* a hole that comes before `chunk` */
	struct slice chunk; /* what libarchive gave last and is not used up */
	uint64_t offset;    /* in the entry, behind `chunk` and before it the holes */
};

struct tar_reader {
	struct archive *archive;
	struct archive_entry *entry; /* the current one */
	struct stream *inner;        /* borrowed */
	struct error cause;          /* of `inner`, for libarchive knows only that there was one */
	struct arena arena;          /* strings of the entry just given */
	struct content_stream content;
	bool tolerant;
	const char *odd; /* of the entry at hand, when tolerant */
	char flag;       /* its type as the archive has it */
	bool ended;
	bool padded;              /* the padding that the last block lacks was given */
	uint64_t content_end;     /* where the entry just given ends in the plain tar */
	uint64_t total;           /* bytes read of `inner` */
	uint8_t ring[RING_BYTES]; /* the byte at offset n lies at n modulo RING_BYTES */
};

/*
 * Some writers (umoci insert 0.4) leave out what fills the last block, and every engine takes
 * their layers. Where all of the last entry's content is there, the zeros are given in its place.
 */
static la_ssize_t missing_padding(struct tar_reader *r, const void **out)
{
	static const uint8_t zeros[512];
	size_t over = (size_t)(r->total % sizeof(zeros));

	if (r->padded || !over || r->total < r->content_end ||
	    r->total - r->content_end >= sizeof(zeros) || r->content_end % sizeof(zeros) == 0)
		return 0;
	r->padded = true;
	*out = zeros;
	return (la_ssize_t)(sizeof(zeros) - over);
}

static la_ssize_t input_read(struct archive *a, void *user, const void **out)
{
	struct tar_reader *r = user;
	size_t at = (size_t)(r->total % RING_BYTES);
	ssize_t n = stream_read(r->inner, r->ring + at, MIN((size_t)INPUT_BYTES, RING_BYTES - at),
				&r->cause);

	*out = r->ring + at;
	if (n < 0)
		archive_set_error(a, EIO, "input");
	else if (n == 0)
		return missing_padding(r, out);
	else
		r->total += (uint64_t)n;
	return n;
}

/* What libarchive says, or the error of the stream below it. */
static int complain(struct tar_reader *r, struct error *err)
{
	const char *text = archive_error_string(r->archive);

	if (archive_errno(r->archive) == ENOMEM)
		out_of_memory();
	if (r->cause.code) {
		*err = r->cause;
		return -1;
	}
	return error_set(err, ERROR_FORMAT, "tar at byte %" PRIu64 ": %s",
			 tar_read_header_offset(r), text ? text : "cannot be read");
}

static ssize_t content_read(struct stream *base, void *buf, size_t len, struct error *err);

struct tar_reader *tar_read_open(struct stream *inner)
{
	static const struct stream_ops ops = { .read = content_read };
	struct tar_reader *r = xcalloc(1, sizeof(*r));

	r->inner = inner;
	r->content.base.ops = &ops;
	r->content.reader = r;
	r->archive = archive_read_new();
	r->entry = archive_entry_new();
	if (!r->archive || !r->entry || archive_read_support_format_tar(r->archive) != ARCHIVE_OK)
		out_of_memory();
	/* Opening reads the first block; what goes wrong with it shows at the first entry. */
	if (archive_read_open(r->archive, r, NULL, input_read, NULL) != ARCHIVE_OK &&
	    !r->cause.code) {
		r->ended = r->total == 0; /* no bytes are an archive without entries */
		error_set(&r->cause, ERROR_FORMAT, "tar: %s", archive_error_string(r->archive));
	}
	return r;
}

void tar_read_tolerate(struct tar_reader *r)
{
	r->tolerant = true;
}

/* ".", ".." and NUL-free parts of a path, joined anew; NULL with *err set when it is unsafe. */
static const char *clean_path(struct tar_reader *r, const char *path, struct error *err)
{
	struct slice rest = slice_str(path), part;
	cleanup_strbuf struct strbuf out = { 0 };

	if (rest.len > PATH_BYTES_MAX) {
		error_set(err, ERROR_FORMAT,
			  "tar entry \"%.60s…\" has a name of %zu bytes (at most %d)", path,
			  rest.len, PATH_BYTES_MAX);
		return NULL;
	}
	if (r->tolerant && path[0] == '/')
		r->odd = "begins with \"/\"";
	while (slice_cut(&rest, '/', &part)) {
		if (part.len == 0 || slice_is(part, "."))
			continue;
		if (r->tolerant && slice_is(part, "..")) {
			r->odd = "has \"..\" in it";
			continue;
		}
		if (slice_is(part, "..")) {
			error_set(err, ERROR_FORMAT, "tar entry \"%s\" points outside the archive",
				  path);
			return NULL;
		}
		if (out.len)
			strbuf_addc(&out, '/');
		strbuf_add(&out, part.data, part.len);
	}
	return arena_strdup(&r->arena, strbuf_text(&out));
}

static bool entry_type(struct archive_entry *e, enum tar_type *out)
{
	if (archive_entry_hardlink(e)) {
		*out = TAR_HARDLINK;
		return true;
	}
	switch (archive_entry_filetype(e)) {
	case AE_IFREG:
		*out = TAR_FILE;
		return true;
	case AE_IFDIR:
		*out = TAR_DIR;
		return true;
	case AE_IFLNK:
		*out = TAR_SYMLINK;
		return true;
	case AE_IFCHR:
		*out = TAR_CHAR;
		return true;
	case AE_IFBLK:
		*out = TAR_BLOCK;
		return true;
	case AE_IFIFO:
		*out = TAR_FIFO;
		return true;
	default:
		return false;
	}
}

static int copy_xattrs(struct tar_reader *r, struct archive_entry *e, const char *path,
		       struct tar_extras *out, struct error *err)
{
	int count = archive_entry_xattr_reset(e);
	struct tar_xattr *xattrs;
	const char *name;
	const void *value;
	size_t len;

	if (count > XATTRS_MAX)
		return error_set(err, ERROR_LIMIT, "%s: %d extended attributes (at most %d)", path,
				 count, XATTRS_MAX);
	if (count <= 0)
		return 0;
	xattrs = arena_array(&r->arena, (size_t)count, sizeof(*xattrs));
	out->xattrs = xattrs;
	while (out->xattr_count < (size_t)count &&
	       archive_entry_xattr_next(e, &name, &value, &len) == ARCHIVE_OK) {
		uint8_t *copy;

		if (len > XATTR_BYTES_MAX)
			return error_set(err, ERROR_LIMIT,
					 "%s: extended attribute \"%s\" of %zu bytes (at most %d)",
					 path, name, len, XATTR_BYTES_MAX);
		copy = arena_alloc(&r->arena, len + 1);
		if (len)
			memcpy(copy, value, len);
		xattrs[out->xattr_count++] = (struct tar_xattr){
			.name = arena_strdup(&r->arena, name),
			.value = copy,
			.len = len,
		};
	}
	return 0;
}

static int copy_link(struct tar_reader *r, struct archive_entry *e, struct tar_entry *out,
		     struct error *err)
{
	const char *target = "";

	if (out->type == TAR_SYMLINK)
		target = archive_entry_symlink(e);
	else if (out->type == TAR_HARDLINK)
		target = archive_entry_hardlink(e);
	if (!target)
		return error_set(err, ERROR_FORMAT, "%s: a link without a target", out->path);
	if (strlen(target) > PATH_BYTES_MAX)
		return error_set(err, ERROR_FORMAT, "%s: a link target of %zu bytes (at most %d)",
				 out->path, strlen(target), PATH_BYTES_MAX);
	if (out->type == TAR_HARDLINK) {
		out->link = clean_path(r, target, err);
		if (r->odd && target[0] == '/')
			r->odd =
				NULL; /* many writers do; it is relative to the root all the same */
		if (!out->link)
			return error_wrap(err, "%s: hard link", out->path);
		if (!*out->link)
			return error_set(err, ERROR_FORMAT, "%s: a hard link to nothing",
					 out->path);
		return 0;
	}
	out->link = arena_strdup(&r->arena, target);
	return 0;
}

static int copy_entry(struct tar_reader *r, struct archive_entry *e, struct tar_entry *out,
		      struct error *err)
{
	const char *path = archive_entry_pathname(e);
	int64_t size = archive_entry_size(e), uid = archive_entry_uid(e),
		gid = archive_entry_gid(e);

	struct tar_extras extras = { 0 };

	*out = (struct tar_entry){ .path = "", .link = "" };
	r->odd = NULL;
	if (!path || !*path)
		return error_set(err, ERROR_FORMAT, "tar entry at byte %" PRIu64 " has no name",
				 tar_read_header_offset(r));
	out->path = clean_path(r, path, err);
	if (!out->path)
		return -1;
	if (!entry_type(e, &out->type))
		return error_set(err, ERROR_FORMAT, "%s: an entry of an unknown type", path);
	if (size < 0 || uid < 0 || gid < 0)
		return error_set(err, ERROR_FORMAT, "%s: a negative size, user or group", path);
	if (out->type == TAR_FILE)
		out->size = (uint64_t)size;
	out->mode = archive_entry_perm(e) & 07777;
	out->uid = (uint64_t)uid;
	out->gid = (uint64_t)gid;
	out->mtime = archive_entry_mtime(e);
	out->flag = r->flag;
	out->sparse = archive_entry_sparse_count(e) > 0;
	if (out->type == TAR_CHAR || out->type == TAR_BLOCK) {
		extras.dev_major = (uint32_t)archive_entry_rdevmajor(e);
		extras.dev_minor = (uint32_t)archive_entry_rdevminor(e);
	}
	extras.odd = *out->path || strstr(path, "..") ? r->odd : NULL; /* "/" is the root itself */
	r->odd = NULL;
	if (copy_link(r, e, out, err) < 0)
		return -1;
	extras.odd = extras.odd ? extras.odd : r->odd ? "is a hard link out of the root" : NULL;
	if (extras.odd)
		extras.written = arena_strdup(&r->arena, path);
	if (copy_xattrs(r, e, out->path, &extras, err) < 0)
		return -1;
	if (extras.odd || extras.xattr_count || extras.dev_major || extras.dev_minor) {
		struct tar_extras *kept = arena_alloc(&r->arena, sizeof(*kept));

		*kept = extras;
		out->extras = kept;
	}
	return 0;
}

/*
 * Names outside ASCII in pax records make libarchive warn that it cannot convert them to the
 * locale, which is always "C" here; it then gives the bytes as they stand, which is what we want.
 */
static bool warning_is_harmless(struct archive *a)
{
	const char *text = archive_error_string(a);

	return text && strstr(text, "can't be converted from");
}

/* The bytes from `offset` on, as far as they were read and still are there; false otherwise. */
static bool ring_copy(const struct tar_reader *r, uint64_t offset, uint8_t *out, uint64_t len)
{
	size_t at = (size_t)(offset % RING_BYTES),
	       first = (size_t)MIN(len, (uint64_t)RING_BYTES - at);

	if (offset + len > r->total || r->total - offset > RING_BYTES)
		return false;
	memcpy(out, r->ring + at, first);
	memcpy(out + first, r->ring, (size_t)len - first);
	return true;
}

/* "<length> <key>=<value>\n" records, of which those that name a path hold no NUL. */
static int check_records(struct slice records, struct error *err)
{
	while (records.len) {
		struct slice rest = records, digits, key, record;
		uint64_t len;

		if (!slice_cut(&rest, ' ', &digits) || !slice_u64(digits, &len) ||
		    !slice_sub(records, 0, len, &record) || len < digits.len + 3)
			return error_set(err, ERROR_FORMAT, "tar: pax records are damaged");
		rest = slice_of(record.data + digits.len + 1, record.len - digits.len - 2);
		if (!slice_cut(&rest, '=', &key) || !rest.data)
			return error_set(err, ERROR_FORMAT, "tar: pax record without \"=\"");
		if ((slice_is(key, "path") || slice_is(key, "linkpath") ||
		     slice_is(key, "GNU.sparse.name")) &&
		    rest.len && memchr(rest.data, 0, rest.len))
			return error_set(err, ERROR_FORMAT, "tar: pax %.*s holds a NUL",
					 (int)key.len, (const char *)key.data);
		records = slice_of(records.data + len, records.len - (size_t)len);
	}
	return 0;
}

static bool read_octal(struct slice field, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < field.len && field.data[i]; i++) {
		if (field.data[i] == ' ')
			continue;
		if (field.data[i] < '0' || field.data[i] > '7')
			return false;
		*out = *out << 3 | (uint64_t)(field.data[i] - '0');
	}
	return true;
}

/*
 * libarchive cuts names at a NUL that other readers refuse or keep, so that two readers would see
 * two archives. Its headers are looked at again when there is more than the plain one.
 */
static int check_headers(struct tar_reader *r, struct error *err)
{
	uint64_t start = tar_read_header_offset(r);
	uint64_t len = (uint64_t)archive_filter_bytes(r->archive, -1) - start, size;
	cleanup_free uint8_t *bytes = NULL;
	struct slice left, body;
	uint8_t flag;

	r->flag = 0;
	if (len <= BLOCK) {
		if (ring_copy(r, start + AT_TYPE, &flag, 1))
			r->flag = (char)flag;
		return 0;
	}
	if (len > HEADERS_MAX)
		return error_set(err, ERROR_LIMIT,
				 "tar at byte %" PRIu64 ": headers of %" PRIu64
				 " bytes (at most %d)",
				 start, len, HEADERS_MAX);
	bytes = xmalloc((size_t)len);
	if (!ring_copy(r, start, bytes, len))
		return error_set(err, ERROR_FORMAT, "tar at byte %" PRIu64 ": headers out of reach",
				 start);
	left = slice_of(bytes, (size_t)len);
	while (left.len > BLOCK) {
		uint8_t type = left.data[AT_TYPE];

		if (!strchr("xXgLKV", type) || !type) {
			r->flag = (char)type;
			return 0; /* the entry itself; a sparse map may follow */
		}
		if (!read_octal(slice_of(left.data + AT_SIZE, SIZE_BYTES), &size) ||
		    !slice_sub(left, BLOCK, size, &body))
			return error_set(err, ERROR_FORMAT,
					 "tar at byte %" PRIu64 ": extended header is damaged",
					 start);
		if ((type == 'x' || type == 'X' || type == 'g') && check_records(body, err) < 0)
			return -1;
		size = MIN((size + BLOCK - 1) / BLOCK * BLOCK + BLOCK, (uint64_t)left.len);
		left = slice_of(left.data + size, left.len - (size_t)size);
	}
	if (left.len == BLOCK)
		r->flag = (char)left.data[AT_TYPE];
	return 0;
}

static int read_header(struct tar_reader *r, struct error *err)
{
	int rc = r->cause.code ? ARCHIVE_FATAL : archive_read_next_header2(r->archive, r->entry);

	switch (rc) {
	case ARCHIVE_OK:
		return 1;
	case ARCHIVE_EOF:
		r->ended = true;
		return stream_drain(r->inner, NULL, err);
	case ARCHIVE_WARN:
		return warning_is_harmless(r->archive) ? 1 : complain(r, err);
	default:
		return complain(r, err);
	}
}

int tar_read_next(struct tar_reader *r, struct tar_entry *out, struct error *err)
{
	int rc;

	/* The entry for the root itself ("./") has no name of ours: skipped when it is a directory.
	 */
	do {
		if (r->ended)
			return 0;
		arena_release(&r->arena);
		rc = read_header(r, err);
		if (rc <= 0)
			return rc;
		if (check_headers(r, err) < 0 || copy_entry(r, r->entry, out, err) < 0)
			return -1;
	} while (!*out->path && out->type == TAR_DIR && !tar_extras(out)->odd);
	if (!*out->path && !tar_extras(out)->odd)
		return error_set(err, ERROR_FORMAT, "tar entry at byte %" PRIu64 " has no name",
				 tar_read_header_offset(r));
	r->content_end = (uint64_t)archive_filter_bytes(r->archive, -1) + out->size;
	r->content.left = out->size;
	r->content.zeros = 0;
	r->content.offset = 0;
	r->content.chunk = (struct slice){ 0 };
	return 1;
}

/* The next chunk of data; holes of a sparse file come before it as zeros. */
static int content_next(struct content_stream *s, struct error *err)
{
	const void *data = NULL;
	size_t len = 0;
	la_int64_t offset = 0;
	int rc = archive_read_data_block(s->reader->archive, &data, &len, &offset);

	if (rc == ARCHIVE_EOF) {
		s->zeros = s->left; /* a hole at the end */
		return 0;
	}
	if (rc != ARCHIVE_OK)
		return complain(s->reader, err);
	if (offset < 0 || (uint64_t)offset < s->offset || (uint64_t)offset - s->offset > s->left)
		return error_set(err, ERROR_FORMAT, "tar: a sparse map that does not fit its file");
	s->zeros = (uint64_t)offset - s->offset;
	s->chunk = slice_of(data, (size_t)MIN((uint64_t)len, s->left - s->zeros));
	s->offset = (uint64_t)offset + s->chunk.len;
	return 0;
}

static ssize_t content_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct content_stream *s = (struct content_stream *)base;
	size_t n;

	while (s->left && !s->zeros && !s->chunk.len) {
		if (content_next(s, err) < 0)
			return -1;
	}
	if (s->zeros) {
		n = (size_t)MIN((uint64_t)len, s->zeros);
		memset(buf, 0, n);
		s->zeros -= n;
	} else {
		n = MIN(len, s->chunk.len);
		if (!n)
			return 0;
		memcpy(buf, s->chunk.data, n);
		s->chunk.data += n;
		s->chunk.len -= n;
	}
	s->left -= n;
	return (ssize_t)n;
}

struct stream *tar_read_content(struct tar_reader *r)
{
	return &r->content.base;
}

uint64_t tar_read_header_offset(const struct tar_reader *r)
{
	la_int64_t at = archive_read_header_position(r->archive);

	return at > 0 ? (uint64_t)at : 0;
}

void tar_read_close(struct tar_reader *r)
{
	if (!r)
		return;
	archive_read_free(r->archive);
	archive_entry_free(r->entry);
	arena_release(&r->arena);
	free(r);
}
