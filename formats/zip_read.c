#include "formats/zip_read.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "base/vec.h"
#include "formats/compress.h"

enum {
	END_BYTES = 22, /* end of central directory, without its comment */
	END64_BYTES = 56,
	LOCATOR_BYTES = 20,
	LOCAL_BYTES = 30,
	CENTRAL_BYTES = 46,
	COMMENT_MAX = 65535,
	ENTRIES_MAX = 500000,
	PATH_BYTES_MAX = 4096,
	DIRECTORY_MAX = 256 * 1024 * 1024,
};

enum {
	END_MAGIC = 0x06054b50,
	END64_MAGIC = 0x06064b50,
	LOCATOR_MAGIC = 0x07064b50,
	CENTRAL_MAGIC = 0x02014b50,
	LOCAL_MAGIC = 0x04034b50,
	DESCRIPTOR_MAGIC = 0x08074b50,
};

enum {
	FLAG_ENCRYPTED = 1 << 0,
	FLAG_DESCRIPTOR = 1 << 3, /* CRC and sizes follow the data instead of preceding it */
	FLAG_PATCH = 1 << 5,
	FLAG_STRONG = 1 << 6,
	FLAG_UTF8 = 1 << 11,
	FLAG_MASKED = 1 << 13,
};

#define SATURATED32 UINT64_C(0xffffffff)
#define SATURATED16 UINT64_C(0xffff)

struct zip_file {
	int fd;
	const char *name;
	uint64_t size; /* bytes */
};

/* Where the central directory lies. */
struct directory {
	uint64_t count, size, offset;
	uint64_t end; /* first byte that is not the directory's: an end record starts there */
};

/* What the checks need of an entry besides what the caller gets. */
struct record {
	struct zip_entry entry;
	struct slice raw_name; /* in the directory's bytes */
	uint64_t local_offset;
	uint16_t flags, method;
	bool zip64;
};

struct records {
	struct record *items;
	size_t len, cap;
};

static int read_at(const struct zip_file *f, uint64_t offset, void *buf, size_t len,
		   struct error *err)
{
	cleanup_stream struct stream *s = stream_fd_range(f->fd, offset, len, f->name);

	return stream_read_exact(s, buf, len, err);
}

/* The end record: the last one whose comment ends where the file ends. */
static int find_end(struct slice tail, size_t *out_at, struct error *err)
{
	if (tail.len < END_BYTES)
		return error_set(err, ERROR_FORMAT, "is not a zip file: %zu bytes", tail.len);
	for (size_t at = tail.len - END_BYTES + 1; at-- > 0;) {
		struct reader r = reader_of(slice_of(tail.data + at, tail.len - at));

		if (reader_u32(&r) != END_MAGIC)
			continue;
		reader_seek(&r, 20);
		if (reader_u16(&r) == tail.len - at - END_BYTES) {
			*out_at = at;
			return 0;
		}
	}
	return error_set(err, ERROR_FORMAT, "is not a zip file, or is cut short");
}

/* A 16- or 32-bit field that is saturated, or equal to what the zip64 record says. */
static bool agrees(uint64_t small, uint64_t saturated, uint64_t large)
{
	return small == saturated || small == large;
}

/* The zip64 end record that the locator at `at` names; `dir` holds what the plain one said. */
static int read_end64(const struct zip_file *f, uint64_t at, struct reader *locator,
		      struct directory *dir, struct error *err)
{
	uint8_t bytes[END64_BYTES];
	struct reader r = reader_of(slice_of(bytes, sizeof(bytes)));
	struct directory plain = *dir;
	uint64_t length, on_disk;

	reader_seek(locator, 8);
	dir->end = reader_u64(locator);
	if (at < END64_BYTES || dir->end > at - END64_BYTES)
		return error_set(err, ERROR_FORMAT, "zip64 end record outside the file");
	if (read_at(f, dir->end, bytes, sizeof(bytes), err) < 0)
		return -1;
	if (reader_u32(&r) != END64_MAGIC)
		return error_set(err, ERROR_FORMAT,
				 "zip64 end record is not where its locator says");
	length = reader_u64(&r);
	reader_seek(&r, 24);
	on_disk = reader_u64(&r);
	dir->count = reader_u64(&r);
	dir->size = reader_u64(&r);
	dir->offset = reader_u64(&r);
	if (length != at - dir->end - 12 || on_disk != dir->count ||
	    !agrees(plain.count, SATURATED16, dir->count) ||
	    !agrees(plain.size, SATURATED32, dir->size) ||
	    !agrees(plain.offset, SATURATED32, dir->offset))
		return error_set(err, ERROR_FORMAT,
				 "zip64 end record disagrees with the plain one");
	return 0;
}

static int read_end(const struct zip_file *f, struct directory *dir, struct error *err)
{
	size_t len = (size_t)MIN(f->size, (uint64_t)(END_BYTES + COMMENT_MAX + LOCATOR_BYTES)),
	       at = 0;
	cleanup_free uint8_t *tail = xmalloc(len + 1);
	struct reader r, locator;
	uint64_t base = f->size - len;
	unsigned disk, start_disk, on_disk;

	if (read_at(f, base, tail, len, err) < 0 || find_end(slice_of(tail, len), &at, err) < 0)
		return -1;
	r = reader_of(slice_of(tail + at, len - at));
	reader_seek(&r, 4);
	disk = reader_u16(&r);
	start_disk = reader_u16(&r);
	on_disk = reader_u16(&r);
	dir->count = reader_u16(&r);
	dir->size = reader_u32(&r);
	dir->offset = reader_u32(&r);
	dir->end = base + at;
	if ((disk && disk != SATURATED16) || (start_disk && start_disk != SATURATED16) ||
	    on_disk != dir->count)
		return error_set(err, ERROR_FORMAT, "zip file in several parts");
	if (at < LOCATOR_BYTES)
		return 0;
	locator = reader_of(slice_of(tail + at - LOCATOR_BYTES, LOCATOR_BYTES));
	if (reader_u32(&locator) != LOCATOR_MAGIC)
		return 0;
	return read_end64(f, dir->end - LOCATOR_BYTES, &locator, dir, err);
}

static int check_directory(const struct directory *dir, struct error *err)
{
	uint64_t end;

	if (dir->count > ENTRIES_MAX)
		return error_set(err, ERROR_LIMIT, "zip file of %" PRIu64 " entries (at most %d)",
				 dir->count, ENTRIES_MAX);
	if (dir->size > DIRECTORY_MAX)
		return error_set(err, ERROR_LIMIT,
				 "zip directory of %" PRIu64 " bytes (at most %d)", dir->size,
				 DIRECTORY_MAX);
	if (add_overflows(dir->offset, dir->size, &end) || end != dir->end)
		return error_set(err, ERROR_FORMAT,
				 "zip directory does not end where the end record starts");
	if (dir->count * CENTRAL_BYTES > dir->size)
		return error_set(err, ERROR_FORMAT, "zip directory is too small for its entries");
	return 0;
}

static bool is_utf8(struct slice s)
{
	for (size_t i = 0; i < s.len;) {
		uint8_t lead = s.data[i];
		size_t more = lead < 0x80   ? 0
			      : lead < 0xc2 ? 4
			      : lead < 0xe0 ? 1
			      : lead < 0xf0 ? 2
			      : lead < 0xf5 ? 3
					    : 4;
		uint32_t code = more == 0 ? lead : lead & (0x3fU >> more);

		if (more == 4 || more >= s.len - i)
			return false;
		for (size_t k = 1; k <= more; k++) {
			if ((s.data[i + k] & 0xc0) != 0x80)
				return false;
			code = code << 6 | (s.data[i + k] & 0x3f);
		}
		if ((more == 2 && (code < 0x800 || (code >= 0xd800 && code < 0xe000))) ||
		    (more == 3 && (code < 0x10000 || code > 0x10ffff)))
			return false;
		i += more + 1;
	}
	return true;
}

static bool is_ascii(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] & 0x80)
			return false;
	}
	return true;
}

/* What is wrong with a name, or NULL. `name` is without the "/" of a directory. */
static const char *name_complaint(struct slice name, unsigned flags)
{
	struct slice rest = name, part;

	if (!name.len)
		return "is empty";
	if (name.len > PATH_BYTES_MAX)
		return "is longer than 4096 bytes";
	if (memchr(name.data, 0, name.len))
		return "holds a NUL";
	if (memchr(name.data, '\\', name.len))
		return "holds a backslash";
	if (name.data[0] == '/')
		return "is absolute";
	if (!is_ascii(name) && (!(flags & FLAG_UTF8) || !is_utf8(name)))
		return "is not UTF-8, or not marked as such";
	while (slice_cut(&rest, '/', &part)) {
		if (slice_is(part, ".."))
			return "points outside the archive";
		if (slice_is(part, ".") || !part.len)
			return "has an empty part";
	}
	return NULL;
}

static int take_name(struct record *rec, struct slice name, struct arena *arena, struct error *err)
{
	const char *complaint;

	rec->raw_name = name;
	rec->entry.is_dir = name.len && name.data[name.len - 1] == '/';
	if (rec->entry.is_dir)
		name.len--;
	complaint = name_complaint(name, rec->flags);
	rec->entry.path = arena_slice(arena, name);
	if (complaint)
		return error_set(err, ERROR_FORMAT, "zip entry \"%.200s\": its name %s",
				 rec->entry.path, complaint);
	return 0;
}

/*
 * Values of the zip64 extra field: only those that are saturated in the record stand there, in
 * the order size, compressed size, offset. `values` are such pointers, NULL where one is not asked
 * for.
 */
static bool take_zip64(struct slice extra, uint64_t *values[3], bool *out_found)
{
	struct reader r = reader_of(extra);

	*out_found = false;
	while (!r.bad && reader_left(&r) >= 4) {
		unsigned id = reader_u16(&r);
		struct slice field = reader_bytes(&r, reader_u16(&r));
		struct reader v = reader_of(field);

		if (id != 1)
			continue;
		if (*out_found)
			return false;
		*out_found = true;
		for (size_t i = 0; i < 3; i++) {
			if (values[i] && *values[i] == SATURATED32)
				*values[i] = reader_u64(&v);
		}
		if (v.bad)
			return false;
	}
	return !r.bad;
}

static int64_t days_before(int64_t year, unsigned month, unsigned day)
{
	/* Years counted from March, so that the leap day is the last of its year. */
	int64_t y = month <= 2 ? year - 1 : year;
	unsigned m = month <= 2 ? month + 9 : month - 3;

	return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

static int64_t dos_time(unsigned date, unsigned time)
{
	unsigned year = 1980 + (date >> 9), month = date >> 5 & 15, day = date & 31;
	unsigned hour = time >> 11, minute = time >> 5 & 63, second = (time & 31) * 2;

	if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59)
		return 315532800; /* 1980-01-01: what a tool without a clock writes */
	return days_before(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

/* Method, flags and kinds we take. */
static int check_record(const struct record *rec, uint32_t attributes, struct error *err)
{
	const struct zip_entry *e = &rec->entry;
	unsigned type = attributes >> 16 & S_IFMT;

	if (rec->flags & (FLAG_ENCRYPTED | FLAG_STRONG | FLAG_MASKED | FLAG_PATCH))
		return error_set(err, ERROR_FORMAT, "zip entry \"%s\" is encrypted or a patch",
				 e->path);
	if (rec->method != 0 && rec->method != 8)
		return error_set(
			err, ERROR_FORMAT,
			"zip entry \"%s\" has compression method %u; only stored and deflate "
			"are read",
			e->path, rec->method);
	if (!e->deflated && e->size != e->compressed_size)
		return error_set(err, ERROR_FORMAT, "zip entry \"%s\" is stored with two sizes",
				 e->path);
	if (type && type != S_IFREG && type != S_IFDIR)
		return error_set(err, ERROR_FORMAT,
				 "zip entry \"%s\" is a symlink or a special file", e->path);
	if (type == S_IFDIR && !e->is_dir)
		return error_set(err, ERROR_FORMAT,
				 "zip entry \"%s\" is a directory without \"/\" at the end",
				 e->path);
	if (e->is_dir && e->size)
		return error_set(err, ERROR_FORMAT,
				 "zip entry \"%s/\" is a directory of %" PRIu64 " bytes", e->path,
				 e->size);
	return 0;
}

static int parse_central(struct reader *r, struct arena *arena, struct record *rec,
			 struct error *err)
{
	struct zip_entry *e = &rec->entry;
	uint64_t *values[3] = { &e->size, &e->compressed_size, &rec->local_offset };
	unsigned time, date, name_len, extra_len, comment_len, disk;
	struct slice name, extra;
	uint32_t attributes;

	if (reader_u32(r) != CENTRAL_MAGIC)
		return error_set(err, ERROR_FORMAT, "zip directory is damaged");
	reader_bytes(r, 4); /* versions */
	rec->flags = reader_u16(r);
	rec->method = reader_u16(r);
	e->deflated = rec->method == 8;
	time = reader_u16(r);
	date = reader_u16(r);
	e->mtime = dos_time(date, time);
	e->crc32 = reader_u32(r);
	e->compressed_size = reader_u32(r);
	e->size = reader_u32(r);
	name_len = reader_u16(r);
	extra_len = reader_u16(r);
	comment_len = reader_u16(r);
	disk = reader_u16(r);
	reader_bytes(r, 2); /* internal attributes */
	attributes = reader_u32(r);
	e->unix_mode = attributes >> 16;
	rec->local_offset = reader_u32(r);
	name = reader_bytes(r, name_len);
	extra = reader_bytes(r, extra_len);
	reader_bytes(r, comment_len);
	if (r->bad)
		return error_set(err, ERROR_FORMAT, "zip directory is cut short");
	if (take_name(rec, name, arena, err) < 0)
		return -1;
	if (disk && disk != SATURATED16)
		return error_set(err, ERROR_FORMAT, "zip file in several parts");
	if (!take_zip64(extra, values, &rec->zip64))
		return error_set(err, ERROR_FORMAT, "zip entry \"%s\" has damaged extra fields",
				 e->path);
	return check_record(rec, attributes, err);
}

static int parse_directory(struct slice bytes, const struct directory *dir, struct arena *arena,
			   struct records *out, struct error *err)
{
	struct reader r = reader_of(bytes);

	for (uint64_t i = 0; i < dir->count; i++) {
		if (parse_central(&r, arena, vec_add(out), err) < 0)
			return -1;
	}
	if (reader_left(&r))
		return error_set(err, ERROR_FORMAT,
				 "zip directory holds %zu bytes that are no entry",
				 reader_left(&r));
	return 0;
}

/*
 * The local header must say the same as the directory; it alone knows where the data starts,
 * since its extra fields may differ in length.
 */
static int read_local(const struct zip_file *f, struct record *rec, uint64_t limit,
		      struct error *err)
{
	uint8_t fixed[LOCAL_BYTES];
	struct reader r = reader_of(slice_of(fixed, sizeof(fixed)));
	struct zip_entry *e = &rec->entry;
	uint64_t size, compressed, end, *values[3] = { &size, &compressed, NULL };
	cleanup_free uint8_t *rest = NULL;
	unsigned flags, method, name_len, extra_len;
	uint32_t crc;
	bool zip64, blank;

	if (add_overflows(rec->local_offset, (uint64_t)LOCAL_BYTES, &end) || end > limit)
		return error_set(err, ERROR_FORMAT, "zip entry \"%s\" lies outside the file",
				 e->path);
	if (read_at(f, rec->local_offset, fixed, sizeof(fixed), err) < 0)
		return -1;
	if (reader_u32(&r) != LOCAL_MAGIC)
		return error_set(err, ERROR_FORMAT,
				 "zip entry \"%s\" has no header where the directory says",
				 e->path);
	reader_bytes(&r, 2);
	flags = reader_u16(&r);
	method = reader_u16(&r);
	reader_bytes(&r, 4);
	crc = reader_u32(&r);
	compressed = reader_u32(&r);
	size = reader_u32(&r);
	name_len = reader_u16(&r);
	extra_len = reader_u16(&r);
	e->data_offset = end + name_len + extra_len;
	if (add_overflows(e->data_offset, e->compressed_size, &end) || end > limit)
		return error_set(err, ERROR_FORMAT, "zip entry \"%s\" lies outside the file",
				 e->path);
	rest = xmalloc(name_len + extra_len + (size_t)1);
	if (read_at(f, rec->local_offset + LOCAL_BYTES, rest, name_len + extra_len, err) < 0)
		return -1;
	if (!take_zip64(slice_of(rest + name_len, extra_len), values, &zip64))
		return error_set(err, ERROR_FORMAT, "zip entry \"%s\" has damaged extra fields",
				 e->path);
	/* With a descriptor the three values come behind the data and may be zero here. */
	blank = flags & FLAG_DESCRIPTOR && !crc && !size && !compressed;
	if (flags != rec->flags || method != rec->method ||
	    !slice_equal(slice_of(rest, name_len), rec->raw_name) ||
	    (!blank && (crc != e->crc32 || size != e->size || compressed != e->compressed_size)))
		return error_set(err, ERROR_FORMAT,
				 "zip entry \"%s\": local header and directory disagree", e->path);
	rec->zip64 |= zip64;
	return 0;
}

/* CRC and sizes behind the data, with or without a magic number, in 32 or 64 bits. */
static int check_descriptor(const struct zip_file *f, const struct record *rec, uint64_t at,
			    uint64_t len, struct error *err)
{
	const struct zip_entry *e = &rec->entry;
	uint8_t bytes[24];
	struct reader r = reader_of(slice_of(bytes, (size_t)MIN(len, sizeof(bytes))));
	unsigned wide = len == 20 || len == 24 ? 8 : 4;

	if (len != 12 && len != 16 && len != 20 && len != 24)
		return error_set(err, ERROR_FORMAT,
				 "zip entry \"%s\" is followed by %" PRIu64 " bytes of no entry",
				 e->path, len);
	if (read_at(f, at, bytes, (size_t)len, err) < 0)
		return -1;
	if ((len == 16 || len == 24) && reader_u32(&r) != DESCRIPTOR_MAGIC)
		return error_set(err, ERROR_FORMAT, "zip entry \"%s\" has a damaged descriptor",
				 e->path);
	if (reader_u32(&r) != e->crc32 || reader_uint(&r, wide) != e->compressed_size ||
	    reader_uint(&r, wide) != e->size)
		return error_set(err, ERROR_FORMAT,
				 "zip entry \"%s\": descriptor and directory disagree", e->path);
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->local_offset > y->local_offset) - (x->local_offset < y->local_offset);
}

/* The entries must fill the file from its first byte to the directory without gap or overlap. */
static int check_layout(const struct zip_file *f, struct records *records, uint64_t limit,
			struct error *err)
{
	const struct record *last = NULL;
	uint64_t at = 0; /* first byte that no entry has claimed */

	vec_sort(records, by_offset);
	for (size_t i = 0; i <= records->len; i++) {
		struct record *rec = i < records->len ? &records->items[i] : NULL;
		uint64_t next = rec ? rec->local_offset : limit;

		if (next < at)
			return error_set(err, ERROR_FORMAT, "zip entries \"%s\" and \"%s\" overlap",
					 last ? last->entry.path : "", rec ? rec->entry.path : "");
		if (next > at && !(last && last->flags & FLAG_DESCRIPTOR))
			return error_set(err, ERROR_FORMAT,
					 "zip file holds %" PRIu64 " bytes at offset %" PRIu64
					 " that belong to no entry",
					 next - at, at);
		if (last && last->flags & FLAG_DESCRIPTOR &&
		    check_descriptor(f, last, at, next - at, err) < 0)
			return -1;
		if (!rec)
			break;
		if (read_local(f, rec, limit, err) < 0)
			return -1;
		at = rec->entry.data_offset + rec->entry.compressed_size;
		last = rec;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct zip_entry *)a)->path, ((const struct zip_entry *)b)->path);
}

/* No path twice, and none below a file. */
static int check_paths(const struct zip *zip, struct error *err)
{
	char parent[PATH_BYTES_MAX + 1];

	for (size_t i = 0; i < zip->count; i++) {
		const char *path = zip->entries[i].path;

		if (i && str_equal(path, zip->entries[i - 1].path))
			return error_set(err, ERROR_FORMAT, "zip entry \"%s\" occurs twice", path);
		for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
			const struct zip_entry *above;

			memcpy(parent, path, (size_t)(slash - path));
			parent[slash - path] = '\0';
			above = zip_find(zip, parent);
			if (above && !above->is_dir)
				return error_set(err, ERROR_FORMAT,
						 "zip entry \"%s\" lies below the file \"%s\"",
						 path, parent);
		}
	}
	return 0;
}

static int read_zip(const struct zip_file *f, struct arena *arena, struct records *records,
		    struct zip *out, struct error *err)
{
	struct directory dir = { 0 };
	cleanup_free uint8_t *bytes = NULL;

	if (read_end(f, &dir, err) < 0 || check_directory(&dir, err) < 0)
		return -1;
	bytes = xmalloc((size_t)dir.size + 1);
	if (read_at(f, dir.offset, bytes, (size_t)dir.size, err) < 0 ||
	    parse_directory(slice_of(bytes, (size_t)dir.size), &dir, arena, records, err) < 0 ||
	    check_layout(f, records, dir.offset, err) < 0)
		return -1;
	out->count = records->len;
	out->entries = arena_array(arena, records->len, sizeof(*out->entries));
	for (size_t i = 0; i < records->len; i++)
		out->entries[i] = records->items[i].entry;
	if (out->count > 1)
		qsort(out->entries, out->count, sizeof(*out->entries), by_path);
	return check_paths(out, err);
}

int zip_read(int fd, const char *name, struct arena *arena, struct zip *out, struct error *err)
{
	struct zip_file f = { .fd = fd, .name = name };
	struct records records = { 0 };
	struct zip zip = { 0 };
	struct stat st;
	int rc;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "look at %s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(err, ERROR_FORMAT, "%s: is not a file", name);
	f.size = (uint64_t)st.st_size;
	rc = read_zip(&f, arena, &records, &zip, err);
	vec_release(&records);
	if (rc < 0)
		return err->code == ERROR_SYSTEM ? -1 : error_wrap(err, "%s", name);
	*out = zip;
	return 0;
}

const struct zip_entry *zip_find(const struct zip *zip, const char *path)
{
	struct zip_entry key = { .path = path };

	if (!zip->count)
		return NULL;
	return bsearch(&key, zip->entries, zip->count, sizeof(*zip->entries), by_path);
}

struct zip_stream {
	struct stream base;
	struct stream *range, *inflated;
	char *path;
	uint64_t size, seen; /* bytes */
	uint32_t want, crc;
	bool ended;
};

static int zip_end(struct zip_stream *s, struct error *err)
{
	s->ended = true;
	if (s->seen < s->size)
		return error_set(err, ERROR_INTEGRITY,
				 "zip entry \"%s\" ends after %" PRIu64 " of %" PRIu64 " bytes",
				 s->path, s->seen, s->size);
	if (s->crc != s->want)
		return error_set(err, ERROR_INTEGRITY,
				 "zip entry \"%s\" has CRC %08" PRIx32 " instead of %08" PRIx32,
				 s->path, s->crc, s->want);
	return 0;
}

static ssize_t zip_stream_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct zip_stream *s = (struct zip_stream *)base;
	ssize_t n;

	if (s->ended)
		return 0;
	n = stream_read(s->inflated ? s->inflated : s->range, buf, len, err);
	if (n < 0)
		return err->code == ERROR_SYSTEM ? -1
						 : error_wrap(err, "zip entry \"%s\"", s->path);
	if (n == 0)
		return zip_end(s, err);
	s->seen += (uint64_t)n;
	if (s->seen > s->size)
		return error_set(err, ERROR_INTEGRITY,
				 "zip entry \"%s\" holds more than its %" PRIu64 " bytes", s->path,
				 s->size);
	s->crc = compress_crc32(s->crc, buf, (size_t)n);
	return n;
}

static void zip_stream_close(struct stream *base)
{
	struct zip_stream *s = (struct zip_stream *)base;

	stream_close(s->inflated);
	stream_close(s->range);
	free(s->path);
}

struct stream *zip_open(int fd, const struct zip_entry *entry)
{
	static const struct stream_ops ops = { .read = zip_stream_read, .close = zip_stream_close };
	struct zip_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->path = xstrdup(entry->path);
	s->size = entry->size;
	s->want = entry->crc32;
	s->range = stream_fd_range(fd, entry->data_offset, entry->compressed_size, entry->path);
	if (entry->deflated)
		s->inflated = inflate_stream(s->range);
	return &s->base;
}
