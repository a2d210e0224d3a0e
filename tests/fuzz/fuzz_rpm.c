/*
 * The bytes of an .rpm into a component, all in memory. Properties: every file's range lies within
 * the content, no name leaves the root, every owner is one of an entry.
 */
#include "builder/sources/rpm_package.h"

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

		if (!*e->tar.path || e->tar.path[0] == '/' || str_starts(e->tar.path, "../") ||
		    strstr(e->tar.path, "/../") || str_equal(e->tar.path, ".."))
			abort();
		if (e->content.kind == CONTENT_RANGE && e->content.offset + e->tar.size > bytes)
			abort();
	}
	for (size_t i = 0; i < c->owners.len; i++) {
		if (c->owners.items[i].entry >= c->entries.len)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct sink_ops ops = { .write = count };
	struct counter counter = { .base = { .ops = &ops } };
	cleanup_component struct component *c = component_new(COMPONENT_RPM, "", "");
	cleanup_stream struct stream *file = stream_memory(slice_of(data, len));
	struct error err = { 0 };

	if (rpm_unpack(file, &counter.base, c, &err) == 0)
		check(c, counter.bytes);
	return 0;
}
