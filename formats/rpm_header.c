#include "formats/rpm_header.h"

#include "base/alloc.h"
#include "base/reader.h"

/* Bytes of one element; 0 for texts. */
static size_t type_size(uint32_t type)
{
	static const size_t sizes[] = {
		[RPM_TYPE_CHAR] = 1,  [RPM_TYPE_INT8] = 1,  [RPM_TYPE_INT16] = 2,
		[RPM_TYPE_INT32] = 4, [RPM_TYPE_INT64] = 8, [RPM_TYPE_BIN] = 1,
	};

	return type < ARRAY_LEN(sizes) ? sizes[type] : 0;
}

static struct slice entry_bytes(const struct rpm_header *h, uint32_t i)
{
	struct slice out = { 0 };
	bool ok = slice_sub(h->index, (uint64_t)i * RPM_ENTRY_BYTES, RPM_ENTRY_BYTES, &out);

	assert(ok);
	return out;
}

/* The bytes of `count` texts that begin at `rest`; false when one has no end. */
static bool measure_texts(struct slice rest, uint32_t count, struct slice *out)
{
	struct reader r = reader_of(rest);

	if (count > rest.len)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		reader_cstr(&r);
		if (r.bad)
			return false;
	}
	*out = slice_of(rest.data, r.at);
	return true;
}

static bool read_entry(const struct rpm_header *h, uint32_t i, struct rpm_value *out)
{
	struct reader r = reader_of(entry_bytes(h, i));
	uint64_t bytes;
	uint32_t offset;
	struct slice rest;

	r.big_endian = true;
	out->tag = reader_u32(&r);
	out->type = reader_u32(&r);
	offset = reader_u32(&r);
	out->count = reader_u32(&r);
	if (out->type > RPM_TYPE_I18NSTRING || !out->count || offset > h->store.len)
		return false;
	rest = slice_of(h->store.data + offset, h->store.len - offset);
	if (out->type == RPM_TYPE_NULL) {
		out->data = slice_of(rest.data, 0);
		return true;
	}
	if (out->type == RPM_TYPE_STRING && out->count != 1)
		return false;
	if (rpm_value_is_text(out))
		return measure_texts(rest, out->count, &out->data);
	return !mul_overflows((uint64_t)out->count, (uint64_t)type_size(out->type), &bytes) &&
	       slice_sub(rest, 0, bytes, &out->data);
}

struct rpm_value rpm_header_entry(const struct rpm_header *h, uint32_t i)
{
	struct rpm_value v = { 0 };
	bool ok = read_entry(h, i, &v);

	assert(ok);
	return v;
}

static int compare_tags(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

bool rpm_header_repeats(const struct rpm_header *h, uint32_t *out_tag)
{
	cleanup_free uint32_t *tags = xcalloc(h->count + 1, sizeof(*tags));

	for (uint32_t i = 0; i < h->count; i++)
		tags[i] = rpm_header_entry(h, i).tag;
	if (h->count)
		qsort(tags, h->count, sizeof(*tags), compare_tags);
	for (uint32_t i = 1; i < h->count; i++) {
		if (tags[i] == tags[i - 1]) {
			*out_tag = tags[i];
			return true;
		}
	}
	return false;
}

static int check_entries(const struct rpm_header *h, struct error *err)
{
	uint64_t texts = 0;

	for (uint32_t i = 0; i < h->count; i++) {
		struct rpm_value v = { 0 };

		if (!read_entry(h, i, &v))
			return error_set(err, ERROR_FORMAT,
					 "header: the value of tag %" PRIu32
					 " does not lie in the header, or is of an unknown type",
					 v.tag);
		/* entries may share bytes, which must not make a small header expensive */
		texts += rpm_value_is_text(&v) ? v.data.len : 0;
		if (texts > 16 * (uint64_t)h->store.len + MIB)
			return error_set(err, ERROR_FORMAT, "header: its texts overlap");
	}
	return 0;
}

int rpm_header_parse(struct slice blob, struct rpm_header *out, struct error *err)
{
	struct reader r = reader_of(blob);
	struct rpm_header h = { 0 };
	uint32_t bytes;

	r.big_endian = true;
	h.count = reader_u32(&r);
	bytes = reader_u32(&r);
	if (r.bad)
		return error_set(err, ERROR_FORMAT, "header: ends early");
	if (h.count > RPM_ENTRIES_LIMIT || bytes > RPM_HEADER_LIMIT)
		return error_set(err, ERROR_LIMIT,
				 "header: %" PRIu32 " entries and %" PRIu32
				 " bytes, more than %d or %d",
				 h.count, bytes, RPM_ENTRIES_LIMIT, RPM_HEADER_LIMIT);
	h.index = reader_bytes(&r, (uint64_t)h.count * RPM_ENTRY_BYTES);
	h.store = reader_bytes(&r, bytes);
	if (r.bad || reader_left(&r))
		return error_set(err, ERROR_FORMAT,
				 "header: it has %zu bytes, its sizes say otherwise", blob.len);
	if (check_entries(&h, err) < 0)
		return -1;
	*out = h;
	return 0;
}

bool rpm_header_find(const struct rpm_header *h, uint32_t tag, struct rpm_value *out)
{
	for (uint32_t i = 0; i < h->count; i++) {
		struct reader r = reader_of(entry_bytes(h, i));

		r.big_endian = true;
		if (reader_u32(&r) != tag)
			continue;
		*out = rpm_header_entry(h, i);
		return true;
	}
	return false;
}

const char *rpm_value_next(struct rpm_value *v)
{
	const char *text = (const char *)v->data.data;
	size_t len;

	if (!rpm_value_is_text(v) || !v->count)
		return NULL;
	len = strlen(text) + 1;
	v->data = slice_of(v->data.data + len, v->data.len - len);
	v->count--;
	return text;
}

const char *rpm_header_text(const struct rpm_header *h, uint32_t tag)
{
	struct rpm_value v;

	return rpm_header_find(h, tag, &v) ? rpm_value_next(&v) : NULL;
}

bool rpm_value_number(const struct rpm_value *v, size_t i, uint64_t *out)
{
	size_t size = type_size(v->type);
	struct reader r = { 0 };

	if (!size || v->type == RPM_TYPE_BIN || i >= v->count)
		return false;
	r = reader_of(slice_of(v->data.data + i * size, size));
	r.big_endian = true;
	*out = reader_uint(&r, (unsigned)size);
	return true;
}

bool rpm_header_number(const struct rpm_header *h, uint32_t tag, size_t i, uint64_t *out)
{
	struct rpm_value v;

	return rpm_header_find(h, tag, &v) && rpm_value_number(&v, i, out);
}

static bool is_word(const char *text)
{
	if (!text || !*text)
		return false;
	for (const char *p = text; *p; p++) {
		if (*p <= ' ' || *p > '~' || *p == '/')
			return false;
	}
	return true;
}

bool rpm_header_identity(const struct rpm_header *h, const char **out_name, char **out_evr,
			 const char **out_arch)
{
	const char *name = rpm_header_text(h, RPMTAG_NAME);
	const char *version = rpm_header_text(h, RPMTAG_VERSION);
	const char *release = rpm_header_text(h, RPMTAG_RELEASE);
	const char *arch = rpm_header_text(h, RPMTAG_ARCH);
	uint64_t epoch = 0;

	if (!is_word(name) || !is_word(version) || !is_word(release))
		return false;
	if (arch && !is_word(arch))
		return false;
	*out_name = name;
	*out_arch = arch ? arch : "(none)"; /* as for public keys in a database */
	*out_evr = rpm_header_number(h, RPMTAG_EPOCH, 0, &epoch) && epoch
			   ? xasprintf("%" PRIu64 ":%s-%s", epoch, version, release)
			   : xasprintf("%s-%s", version, release);
	return true;
}
