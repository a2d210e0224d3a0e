#include "formats/ldcache.h"

#include "base/reader.h"

/*
 * New format, all integers little endian:
 *   0  "glibc-ld.so.cache" "1.1"   20  number of entries   24  bytes of strings   28  flags (2)
 *   32 offset of the extensions    36  12 unused bytes     48  entries, then the strings
 * An entry: flags, offset of the soname, offset of the path, OS version (all 32 bits), hwcap (64).
 * Offsets count from the start of this header. The extensions: magic, count, then per section
 * tag, flags, offset, size; tag 0 is the name of the writer, tag 1 the offsets of the names of
 * glibc-hwcaps folders, which entries refer to by number.
 */
static const char NEW_MAGIC[] = "glibc-ld.so.cache1.1";
static const char OLD_MAGIC[] = "ld.so-1.7.0";
static const char GENERATOR[] = "gpuimg";

enum {
	NEW_HEADER = 48,
	NEW_ENTRY = 24,
	OLD_HEADER = 16,
	OLD_ENTRY = 12,
	LITTLE_ENDIAN_FLAG = 2,
	BIG_ENDIAN_FLAG = 3,
	SECTION_GENERATOR = 0,
	SECTION_HWCAPS = 1,
	HWCAPS_MAX = 4096,
};

static const uint32_t EXTENSION_MAGIC = 0xeaa42174;
static const uint64_t HWCAP_EXTENSION = UINT64_C(1) << 62;

/* A digit run as glibc reads it: into an int that wraps. */
static int32_t digits(const char **at)
{
	uint32_t v = 0;

	while (**at >= '0' && **at <= '9')
		v = v * 10 + (uint32_t)(*(*at)++ - '0');
	return (int32_t)v;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int ldcache_compare(const char *a, const char *b)
{
	while (*a) {
		if (is_digit(*a) && is_digit(*b)) {
			int32_t x = digits(&a), y = digits(&b);

			if (x != y)
				return x < y ? -1 : 1;
		} else if (is_digit(*a)) {
			return 1;
		} else if (is_digit(*b)) {
			return -1;
		} else if (*a != *b) {
			return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
		} else {
			a++;
			b++;
		}
	}
	return *b ? -1 : 0;
}

/* ------------------------------------------------------------------------------- reading */

struct cache_view {
	struct slice file; /* what string offsets count from */
	const char *text;  /* the copy of it */
	uint32_t hwcap_names[HWCAPS_MAX];
	uint32_t hwcap_count;
};

/* The NUL-terminated string at `offset`, in the copy; NULL when it does not end in the file. */
static const char *text_at(const struct cache_view *v, uint64_t offset)
{
	if (offset >= v->file.len ||
	    !memchr(v->file.data + offset, 0, v->file.len - (size_t)offset))
		return NULL;
	return v->text + offset;
}

static int read_extensions(struct cache_view *v, uint32_t offset, struct error *err)
{
	struct reader r = reader_of(v->file);
	uint32_t count;

	if (!offset)
		return 0;
	reader_seek(&r, offset);
	if (reader_u32(&r) != EXTENSION_MAGIC || r.bad)
		return error_set(err, ERROR_FORMAT,
				 "loader cache: no extensions at offset %" PRIu32, offset);
	count = reader_u32(&r);
	if (r.bad || count > reader_left(&r) / 16)
		return error_set(err, ERROR_FORMAT, "loader cache: %" PRIu32 " extension sections",
				 count);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t tag = reader_u32(&r), at, size;
		struct slice part;
		struct reader names;

		reader_u32(&r);
		at = reader_u32(&r);
		size = reader_u32(&r);
		if (!slice_sub(v->file, at, size, &part))
			return error_set(err, ERROR_FORMAT,
					 "loader cache: extension %" PRIu32 " ends beyond the file",
					 i);
		if (tag != SECTION_HWCAPS)
			continue;
		if (size % 4 || size / 4 > HWCAPS_MAX)
			return error_set(err, ERROR_FORMAT,
					 "loader cache: hwcaps section of %" PRIu32 " bytes", size);
		names = reader_of(part);
		v->hwcap_count = size / 4;
		for (uint32_t k = 0; k < v->hwcap_count; k++)
			v->hwcap_names[k] = reader_u32(&names);
	}
	return 0;
}

static int read_entry(const struct cache_view *v, struct reader *r, uint32_t index,
		      struct ldcache *out, struct error *err)
{
	struct ldcache_entry e = { .hwcaps = "" };
	uint64_t hwcap;

	e.flags = reader_u32(r);
	e.soname = text_at(v, reader_u32(r));
	e.path = text_at(v, reader_u32(r));
	reader_u32(r);
	hwcap = reader_u64(r);
	if (hwcap >> 32 == HWCAP_EXTENSION >> 32) {
		uint32_t which = (uint32_t)hwcap;

		e.hwcaps = which < v->hwcap_count ? text_at(v, v->hwcap_names[which]) : NULL;
	}
	if (!e.soname || !e.path || !e.hwcaps)
		return error_set(err, ERROR_FORMAT,
				 "loader cache: entry %" PRIu32 " points outside the file", index);
	vec_push(out, e);
	return 0;
}

static int read_new(struct slice file, struct ldcache *out, struct error *err)
{
	cleanup_free struct cache_view *v = xcalloc(1, sizeof(*v));
	struct reader r = reader_of(file);
	uint32_t count, extensions;
	uint8_t flags;

	v->file = file;
	out->text = xmemdup(file.data, file.len);
	v->text = out->text;
	reader_seek(&r, 20);
	count = reader_u32(&r);
	reader_u32(&r);
	flags = reader_u8(&r);
	reader_bytes(&r, 3);
	extensions = reader_u32(&r);
	reader_bytes(&r, 12);
	if (r.bad)
		return error_set(err, ERROR_FORMAT, "loader cache: header ends after %zu bytes",
				 file.len);
	if ((flags & 3) == BIG_ENDIAN_FLAG)
		return error_set(err, ERROR_FORMAT,
				 "loader cache: written for big-endian machines");
	if (count > reader_left(&r) / NEW_ENTRY)
		return error_set(err, ERROR_FORMAT,
				 "loader cache: %" PRIu32 " entries in a file of %zu bytes", count,
				 file.len);
	if (read_extensions(v, extensions, err) < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		if (read_entry(v, &r, i, out, err) < 0)
			return -1;
	}
	return 0;
}

/* The format before glibc 2.2, alone in the file. Strings count from behind the entries. */
static int read_old(struct slice file, uint32_t count, struct ldcache *out, struct error *err)
{
	struct cache_view v = { 0 };
	struct reader r = reader_of(file);
	size_t strings = OLD_HEADER + (size_t)count * OLD_ENTRY;

	v.file = slice_of(file.data + strings, file.len - strings);
	out->text = xmemdup(v.file.data, v.file.len);
	v.text = out->text;
	reader_seek(&r, OLD_HEADER);
	for (uint32_t i = 0; i < count; i++) {
		struct ldcache_entry e = { .hwcaps = "" };

		e.flags = reader_u32(&r);
		e.soname = text_at(&v, reader_u32(&r));
		e.path = text_at(&v, reader_u32(&r));
		if (!e.soname || !e.path)
			return error_set(err, ERROR_FORMAT,
					 "loader cache: entry %" PRIu32 " points outside the file",
					 i);
		vec_push(out, e);
	}
	return 0;
}

static int read_any(struct slice file, struct ldcache *out, struct error *err)
{
	struct reader r = reader_of(file);
	uint32_t count;
	uint64_t behind;
	struct slice rest;

	if (slice_starts(file, NEW_MAGIC))
		return read_new(file, out, err);
	if (!slice_starts(file, OLD_MAGIC))
		return error_set(err, ERROR_FORMAT, "not a loader cache");
	reader_seek(&r, 12);
	count = reader_u32(&r);
	if (r.bad || count > reader_left(&r) / OLD_ENTRY)
		return error_set(err, ERROR_FORMAT,
				 "loader cache: %" PRIu32 " entries in a file of %zu bytes", count,
				 file.len);
	behind = (OLD_HEADER + (uint64_t)count * OLD_ENTRY + 7) & ~UINT64_C(7);
	if (behind < file.len && slice_sub(file, behind, file.len - behind, &rest) &&
	    slice_starts(rest, NEW_MAGIC))
		return read_new(rest, out, err);
	return read_old(file, count, out, err);
}

int ldcache_read(struct slice file, struct ldcache *out, struct error *err)
{
	struct ldcache made = { 0 };

	if (read_any(file, &made, err) < 0) {
		ldcache_release(&made);
		return -1;
	}
	*out = made;
	return 0;
}

void ldcache_release(struct ldcache *cache)
{
	vec_release(cache);
	free(cache->text);
	cache->text = NULL;
}

/* ------------------------------------------------------------------------------- writing */

struct cached_text {
	const char *text;
	size_t len;
	uint32_t offset; /* in the strings */
};

struct cached_texts {
	struct cached_text *items;
	size_t len, cap;
};

struct sorted_entry {
	const struct ldcache_entry *entry;
	size_t order;
};

static int compare_entries(const void *left, const void *right)
{
	const struct sorted_entry *a = left, *b = right;
	int c = ldcache_compare(b->entry->soname, a->entry->soname);

	if (c)
		return c;
	if (a->entry->flags != b->entry->flags)
		return (int32_t)a->entry->flags < (int32_t)b->entry->flags ? 1 : -1;
	if (!*a->entry->hwcaps != !*b->entry->hwcaps)
		return *a->entry->hwcaps ? -1 : 1;
	c = strcmp(a->entry->hwcaps, b->entry->hwcaps);
	if (c)
		return c;
	return a->order < b->order ? -1 : 1; /* the earlier directory wins */
}

/* From the last byte backwards, descending; of two where one ends the other the longer first. */
static int compare_endings(const void *left, const void *right)
{
	const struct cached_text *a = left, *b = right;

	for (size_t i = 1; i <= MIN(a->len, b->len); i++) {
		unsigned char x = (unsigned char)a->text[a->len - i];
		unsigned char y = (unsigned char)b->text[b->len - i];

		if (x != y)
			return x < y ? 1 : -1;
	}
	return a->len == b->len ? 0 : a->len < b->len ? 1 : -1;
}

static const struct cached_text *text_find(const struct cached_texts *texts, const char *text)
{
	struct cached_text key = { .text = text, .len = strlen(text) };

	return bsearch(&key, texts->items, texts->len, sizeof(key), compare_endings);
}

static int compare_texts(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

/* Strings that end others share their bytes, as glibc's own table does. */
static void lay_out(struct cached_texts *texts, struct strbuf *out)
{
	vec_sort(texts, compare_endings);
	for (size_t i = 0; i < texts->len; i++) {
		struct cached_text *t = &texts->items[i];
		const struct cached_text *before = i ? &texts->items[i - 1] : NULL;

		if (before && before->len >= t->len &&
		    memcmp(before->text + before->len - t->len, t->text, t->len) == 0) {
			t->offset = before->offset + (uint32_t)(before->len - t->len);
			continue;
		}
		t->offset = (uint32_t)out->len;
		strbuf_add(out, t->text, t->len + 1);
	}
}

static void put_u32(struct strbuf *b, uint32_t v)
{
	const uint8_t bytes[4] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
				   (uint8_t)(v >> 24) };

	strbuf_add(b, bytes, sizeof(bytes));
}

static void put_extensions(struct strbuf *out, size_t start, const char *generator,
			   const char **hwcaps, size_t hwcap_count,
			   const struct cached_texts *texts, uint32_t base)
{
	uint32_t sections = hwcap_count ? 2 : 1;
	uint32_t body = (uint32_t)(out->len - start) + 8 + 16 * sections;
	uint32_t hwcap_bytes = (uint32_t)hwcap_count * 4;

	put_u32(out, EXTENSION_MAGIC);
	put_u32(out, sections);
	put_u32(out, SECTION_GENERATOR);
	put_u32(out, 0);
	put_u32(out, body + hwcap_bytes);
	put_u32(out, (uint32_t)strlen(generator));
	if (hwcap_count) {
		put_u32(out, SECTION_HWCAPS);
		put_u32(out, 0);
		put_u32(out, body);
		put_u32(out, hwcap_bytes);
	}
	for (size_t i = 0; i < hwcap_count; i++)
		put_u32(out, base + text_find(texts, hwcaps[i])->offset);
	strbuf_adds(out, generator);
}

static size_t collect_hwcaps(const struct ldcache_entry *entries, size_t count, const char **names)
{
	size_t used = 0, unique = 0;

	for (size_t i = 0; i < count; i++) {
		if (*entries[i].hwcaps)
			names[used++] = entries[i].hwcaps;
	}
	if (used > 1)
		qsort(names, used, sizeof(*names), compare_texts);
	for (size_t i = 0; i < used; i++) {
		if (!unique || !str_equal(names[unique - 1], names[i]))
			names[unique++] = names[i];
	}
	return unique;
}

static uint64_t hwcap_value(const char *name, const char **hwcaps, size_t count)
{
	for (size_t i = 0; *name && i < count; i++) {
		if (str_equal(hwcaps[i], name))
			return HWCAP_EXTENSION | i;
	}
	return 0;
}

static void put_entry(struct strbuf *out, const struct ldcache_entry *e,
		      const struct cached_texts *texts, uint32_t base, uint64_t hwcap)
{
	put_u32(out, e->flags);
	put_u32(out, base + text_find(texts, e->soname)->offset);
	put_u32(out, base + text_find(texts, e->path)->offset);
	put_u32(out, 0);
	put_u32(out, (uint32_t)hwcap);
	put_u32(out, (uint32_t)(hwcap >> 32));
}

static void push_text(struct cached_texts *texts, const char *text)
{
	vec_push(texts, ((struct cached_text){ .text = text, .len = strlen(text) }));
}

void ldcache_write(const struct ldcache_entry *entries, size_t count, struct strbuf *out)
{
	ldcache_write_as(GENERATOR, entries, count, out);
}

void ldcache_write_as(const char *generator, const struct ldcache_entry *entries, size_t count,
		      struct strbuf *out)
{
	cleanup_free struct sorted_entry *sorted = xcalloc(count + 1, sizeof(*sorted));
	cleanup_free const char **hwcaps = xcalloc(count + 1, sizeof(*hwcaps));
	size_t hwcap_count = collect_hwcaps(entries, count, hwcaps), start = out->len;
	uint32_t base = NEW_HEADER + (uint32_t)count * NEW_ENTRY, extensions;
	struct cached_texts texts = { 0 };
	cleanup_strbuf struct strbuf strings = { 0 };

	assert(count < UINT32_MAX / NEW_ENTRY / 2);
	for (size_t i = 0; i < count; i++) {
		sorted[i] = (struct sorted_entry){ &entries[i], i };
		push_text(&texts, entries[i].soname);
		push_text(&texts, entries[i].path);
	}
	for (size_t i = 0; i < hwcap_count; i++)
		push_text(&texts, hwcaps[i]);
	if (count > 1)
		qsort(sorted, count, sizeof(*sorted), compare_entries);
	lay_out(&texts, &strings);
	extensions = (base + (uint32_t)strings.len + 3) & ~3u;

	strbuf_adds(out, NEW_MAGIC);
	put_u32(out, (uint32_t)count);
	put_u32(out, (uint32_t)strings.len);
	put_u32(out, LITTLE_ENDIAN_FLAG);
	put_u32(out, extensions);
	strbuf_add_zeros(out, 12);
	for (size_t i = 0; i < count; i++)
		put_entry(out, sorted[i].entry, &texts, base,
			  hwcap_value(sorted[i].entry->hwcaps, hwcaps, hwcap_count));
	strbuf_add(out, strbuf_text(&strings), strings.len);
	strbuf_add_zeros(out, extensions - base - strings.len);
	put_extensions(out, start, generator, hwcaps, hwcap_count, &texts, base);
	vec_release(&texts);
}

bool ldcache_takes_name(const char *name)
{
	return (str_starts(name, "lib") || str_starts(name, "ld-") || str_starts(name, "ld.so")) &&
	       strstr(name, ".so") != NULL;
}
