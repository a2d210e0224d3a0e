/* For the targets that read a package into a component: where its content goes, and what holds. */
#ifndef TESTS_FUZZ_UNPACKED_H
#define TESTS_FUZZ_UNPACKED_H

#include "builder/component.h"

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

/* Every file's range lies within the content, no name leaves the root, owners are of entries. */
static void check_unpacked(const struct component *c, uint64_t bytes)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		const struct component_entry *e = &c->entries.items[i];

		if (e->tar.path[0] == '/' || slice_has_part(slice_str(e->tar.path), ".."))
			abort();
		if (e->content.kind == CONTENT_RANGE && e->content.offset + e->tar.size > bytes)
			abort();
	}
	for (size_t i = 0; i < c->owners.len; i++) {
		if (c->owners.items[i].entry >= c->entries.len)
			abort();
	}
}

typedef int unpack_fn(struct stream *file, struct sink *content, struct component *c,
		      struct error *err);

/* As `unpack`; what it gives holds. */
static int unpack_checked(unpack_fn *unpack, struct slice bytes, struct component *c)
{
	static const struct sink_ops ops = { .write = count };
	struct counter counter = { .base = { .ops = &ops } };
	cleanup_stream struct stream *file = stream_memory(bytes);
	struct error err = { 0 };
	int rc = unpack(file, &counter.base, c, &err);

	if (rc == 0)
		check_unpacked(c, counter.bytes);
	return rc;
}

#endif
