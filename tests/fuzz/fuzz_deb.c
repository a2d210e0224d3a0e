/*
 * The bytes of a .deb into a component, all in memory, whole and as the record that is left of one
 * that the host brings. Properties: every file's range lies within the content, and no name leaves
 * the root; a record has no script, and a part of the entries.
 */
#include "builder/sources/deb_package.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Counts, and refuses to be a decompression bomb's victim. */
struct counter {
	struct sink base;
	uint64_t bytes;
};

static int count(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct counter *c = (struct counter *)base;

	(void)data;
	c->bytes += len;
	return c->bytes > 64 * MIB ? error_set(err, ERROR_LIMIT, "enough") : 0;
}

static void check(const struct component *c, uint64_t bytes)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		const struct component_entry *e = &c->entries.items[i];

		if (e->tar.path[0] == '/' || slice_has_part(slice_str(e->tar.path), ".."))
			abort();
		if (e->content.kind == CONTENT_RANGE && e->content.offset + e->tar.size > bytes)
			abort();
	}
}

static int read_package(struct slice bytes, bool record, struct component *c)
{
	static const struct sink_ops ops = { .write = count };
	struct counter counter = { .base = { .ops = &ops } };
	cleanup_stream struct stream *file = stream_memory(bytes);
	struct error err = { 0 };
	int rc = (record ? deb_read_record : deb_read)(file, &counter.base, c, &err);

	if (rc == 0)
		check(c, counter.bytes);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_component struct component *whole = component_new(COMPONENT_DEB, "", "");
	cleanup_component struct component *record = component_new(COMPONENT_DEB, "", "");
	struct slice bytes = slice_of(data, len);

	if (read_package(bytes, false, whole) < 0)
		return 0;
	if (read_package(bytes, true, record) < 0 || record->scripts.len ||
	    record->entries.len > whole->entries.len)
		abort();
	return 0;
}
