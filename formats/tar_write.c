#include "formats/tar_write.h"

#include "base/alloc.h"
#include "base/vec.h"

enum {
	BLOCK = 512,
	NAME_MAX_BYTES = 100,
	PREFIX_MAX_BYTES = 155,
};

/* Largest values of the octal fields: 7, 11 digits. */
#define SMALL_MAX UINT64_C(2097151)
#define LARGE_MAX UINT64_C(8589934591)

/* Places of the fields of a ustar header. */
enum {
	AT_NAME = 0,
	AT_MODE = 100,
	AT_UID = 108,
	AT_GID = 116,
	AT_SIZE = 124,
	AT_MTIME = 136,
	AT_CHECKSUM = 148,
	AT_TYPE = 156,
	AT_LINK = 157,
	AT_MAGIC = 257,
	AT_MAJOR = 329,
	AT_MINOR = 337,
	AT_PREFIX = 345,
};

static void put_text(uint8_t *at, const char *text, size_t len)
{
	/* Readers that know pax take the record; others see a name in plain ASCII. */
	for (size_t i = 0; i < len; i++)
		at[i] = (uint8_t)text[i] & 0x80 ? '_' : (uint8_t)text[i];
}

/* `digits` octal digits and a NUL, which is there already. */
static void put_octal(uint8_t *at, unsigned digits, uint64_t value)
{
	while (digits--) {
		at[digits] = (uint8_t)('0' + (value & 7));
		value >>= 3;
	}
}

/* Where to cut `path` so that the parts fit; 0: no cut needed; false: it does not fit. */
static bool split_path(const char *path, size_t len, size_t *out_cut)
{
	*out_cut = 0;
	if (len <= NAME_MAX_BYTES)
		return true;
	for (size_t i = len - NAME_MAX_BYTES - 1; i < len - 1 && i <= PREFIX_MAX_BYTES; i++) {
		if (path[i] == '/' && i > 0) {
			*out_cut = i;
			return true;
		}
	}
	return false;
}

/* A path that does not fit is cut short: the pax record has the whole. */
static void put_path(uint8_t *block, const char *path)
{
	size_t len = strlen(path), cut;

	if (!split_path(path, len, &cut)) {
		put_text(block + AT_NAME, path, NAME_MAX_BYTES);
	} else if (cut) {
		put_text(block + AT_PREFIX, path, cut);
		put_text(block + AT_NAME, path + cut + 1, len - cut - 1);
	} else {
		put_text(block + AT_NAME, path, len);
	}
}

static void put_checksum(uint8_t *block)
{
	uint64_t sum = 0;

	memset(block + AT_CHECKSUM, ' ', 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += block[i];
	put_octal(block + AT_CHECKSUM, 6, sum);
	block[AT_CHECKSUM + 6] = '\0';
}

static bool is_ascii(const char *s)
{
	for (; *s; s++) {
		if ((uint8_t)*s & 0x80)
			return false;
	}
	return true;
}

static size_t decimal_digits(size_t n)
{
	size_t digits = 1;

	for (; n > 9; n /= 10)
		digits++;
	return digits;
}

/* "<length> <key>=<value>\n", where the length counts its own digits. */
static void add_record(struct strbuf *out, const char *prefix, const char *key, const void *value,
		       size_t len)
{
	size_t rest = 1 + strlen(prefix) + strlen(key) + 1 + len + 1;
	size_t total = rest + decimal_digits(rest);

	if (rest + decimal_digits(total) != total)
		total = rest + decimal_digits(total);
	strbuf_addf(out, "%zu %s%s=", total, prefix, key);
	strbuf_add(out, value, len);
	strbuf_addc(out, '\n');
}

static void add_number(struct strbuf *out, const char *key, uint64_t value)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%" PRIu64, value);

	add_record(out, "", key, text, (size_t)n);
}

static int by_xattr_name(const void *a, const void *b)
{
	const struct tar_xattr *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void add_xattrs(struct strbuf *out, const struct tar_entry *entry)
{
	const struct tar_extras *extras = tar_extras(entry);
	VEC(const struct tar_xattr *) sorted = { 0 };

	for (size_t i = 0; i < extras->xattr_count; i++)
		vec_push(&sorted, &extras->xattrs[i]);
	vec_sort(&sorted, by_xattr_name);
	for (size_t i = 0; i < sorted.len; i++)
		add_record(out, "SCHILY.xattr.", sorted.items[i]->name, sorted.items[i]->value,
			   sorted.items[i]->len);
	vec_release(&sorted);
}

static const char *link_of(const struct tar_entry *entry)
{
	return entry->link ? entry->link : "";
}

/* The records that `entry` needs, in bytewise order of their keys; none for most. */
static void add_records(struct strbuf *out, const struct tar_entry *entry, const char *path)
{
	size_t cut;

	add_xattrs(out, entry); /* 'S' sorts before the small letters */
	if (entry->gid > SMALL_MAX)
		add_number(out, "gid", entry->gid);
	if (strlen(link_of(entry)) > NAME_MAX_BYTES || !is_ascii(link_of(entry)))
		add_record(out, "", "linkpath", link_of(entry), strlen(link_of(entry)));
	if (!split_path(path, strlen(path), &cut) || !is_ascii(path))
		add_record(out, "", "path", path, strlen(path));
	if (entry->size > LARGE_MAX)
		add_number(out, "size", entry->size);
	if (entry->uid > SMALL_MAX)
		add_number(out, "uid", entry->uid);
}

static char type_flag(enum tar_type type)
{
	static const char flags[] = {
		[TAR_FILE] = '0', [TAR_DIR] = '5',   [TAR_SYMLINK] = '2', [TAR_HARDLINK] = '1',
		[TAR_CHAR] = '3', [TAR_BLOCK] = '4', [TAR_FIFO] = '6',
	};

	assert((size_t)type < sizeof(flags));
	return flags[type];
}

static void put_common(uint8_t *block, const char *path, char type, uint32_t mode, uint64_t size)
{
	memset(block, 0, BLOCK);
	put_path(block, path);
	put_octal(block + AT_MODE, 7, mode);
	put_octal(block + AT_UID, 7, 0);
	put_octal(block + AT_GID, 7, 0);
	put_octal(block + AT_SIZE, 11, size);
	put_octal(block + AT_MTIME, 11, 0);
	block[AT_TYPE] = (uint8_t)type;
	memcpy(block + AT_MAGIC, "ustar\00000", 8);
	put_octal(block + AT_MAJOR, 7, 0);
	put_octal(block + AT_MINOR, 7, 0);
}

static void put_entry(uint8_t *block, const struct tar_entry *entry, const char *path)
{
	uint64_t mtime = entry->mtime > 0 ? (uint64_t)entry->mtime : 0;

	put_common(block, path, type_flag(entry->type), entry->mode & 07777,
		   entry->size > LARGE_MAX ? 0 : entry->size);
	put_octal(block + AT_UID, 7, entry->uid > SMALL_MAX ? 0 : entry->uid);
	put_octal(block + AT_GID, 7, entry->gid > SMALL_MAX ? 0 : entry->gid);
	put_octal(block + AT_MTIME, 11, MIN(mtime, LARGE_MAX));
	put_text(block + AT_LINK, link_of(entry),
		 MIN(strlen(link_of(entry)), (size_t)NAME_MAX_BYTES));
	if (entry->type == TAR_CHAR || entry->type == TAR_BLOCK) {
		put_octal(block + AT_MAJOR, 7, tar_extras(entry)->dev_major);
		put_octal(block + AT_MINOR, 7, tar_extras(entry)->dev_minor);
	}
	put_checksum(block);
}

static size_t padding(uint64_t bytes)
{
	return (size_t)(-bytes & (BLOCK - 1));
}

/* The name of the pax entry: <dir>/PaxHeader/<name>, with nothing of time or process in it. */
static char *pax_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xasprintf("PaxHeader/%s", path);
	return xasprintf("%.*s/PaxHeader/%s", (int)(slash - path), path, slash + 1);
}

/* Header blocks of `entry`: the pax entry when it needs one, then its own. */
static void add_headers(struct strbuf *out, const struct tar_entry *entry)
{
	cleanup_free char *path = xasprintf("%s%s", entry->path, entry->type == TAR_DIR ? "/" : "");
	cleanup_strbuf struct strbuf records = { 0 };
	uint8_t block[BLOCK];

	add_records(&records, entry, path);
	if (records.len) {
		cleanup_free char *name = pax_name(entry->path);

		put_common(block, name, 'x', 0644, records.len);
		put_checksum(block);
		strbuf_add(out, block, sizeof(block));
		strbuf_add(out, records.data, records.len);
		strbuf_add_zeros(out, padding(records.len));
	}
	put_entry(block, entry, path);
	strbuf_add(out, block, sizeof(block));
}

static int check_entry(const struct tar_entry *entry, struct error *err)
{
	const struct tar_extras *extras = tar_extras(entry);

	if (extras->dev_major > SMALL_MAX || extras->dev_minor > SMALL_MAX)
		return error_set(err, ERROR_LIMIT, "%s: a device number above %" PRIu64,
				 entry->path, SMALL_MAX);
	for (size_t i = 0; i < extras->xattr_count; i++) {
		const char *name = extras->xattrs[i].name;

		if (!*name || strchr(name, '='))
			return error_set(err, ERROR_FORMAT,
					 "%s: extended attribute \"%s\" has a name that tar "
					 "cannot hold",
					 entry->path, name);
	}
	return 0;
}

static int copy_content(struct sink *out, const struct tar_entry *entry, struct stream *content,
			struct error *err)
{
	enum { COPY_BYTES = 256 * 1024 };
	size_t room = (size_t)MIN(entry->size + 1, (uint64_t)COPY_BYTES);
	cleanup_free uint8_t *buf = content ? xmalloc(room) : NULL;
	uint64_t left = entry->size;

	while (content) {
		ssize_t n = stream_read(content, buf, room, err);

		if (n < 0)
			return error_wrap(err, "%s", entry->path);
		if (n == 0)
			break;
		if ((uint64_t)n > left)
			return error_set(err, ERROR_INTEGRITY,
					 "%s: holds more than its %" PRIu64 " bytes", entry->path,
					 entry->size);
		if (sink_write(out, buf, (size_t)n, err) < 0)
			return -1;
		left -= (uint64_t)n;
	}
	if (left)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: ends %" PRIu64 " bytes before its %" PRIu64, entry->path,
				 left, entry->size);
	return 0;
}

static const uint8_t zeros[2 * BLOCK];

int tar_write_header(struct sink *out, const struct tar_entry *entry, struct error *err)
{
	cleanup_strbuf struct strbuf headers = { 0 };

	assert(entry->type == TAR_FILE || entry->size == 0);
	if (check_entry(entry, err) < 0)
		return -1;
	add_headers(&headers, entry);
	return sink_write(out, headers.data, headers.len, err);
}

int tar_write_padding(struct sink *out, const struct tar_entry *entry, struct error *err)
{
	return sink_write(out, zeros, padding(entry->size), err);
}

int tar_write_entry(struct sink *out, const struct tar_entry *entry, struct stream *content,
		    struct error *err)
{
	if (tar_write_header(out, entry, err) < 0)
		return -1;
	if (entry->type != TAR_FILE)
		return 0;
	if (copy_content(out, entry, content, err) < 0)
		return -1;
	return tar_write_padding(out, entry, err);
}

int tar_write_end(struct sink *out, struct error *err)
{
	return sink_write(out, zeros, sizeof(zeros), err);
}
