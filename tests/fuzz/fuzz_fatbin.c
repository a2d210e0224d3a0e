/* GPU code: however the bytes are cut into pieces, the same is found, and what is
 * unpacked has the size that was promised. */
#include "formats/fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void scan(struct slice bytes, size_t piece, struct fatbin *out)
{
	struct fatbin_scan *s = fatbin_scan_new(bytes.len);

	for (size_t at = 0; at < bytes.len; at += piece)
		fatbin_scan_feed(s, slice_of(bytes.data + at, MIN(piece, bytes.len - at)));
	fatbin_scan_end(s, out);
}

/* To the size that it says, or not at all. */
static void unpack(struct slice file, const struct fatbin_entry *e)
{
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };
	int rc = fatbin_unpack(file, e, 65536, &out, &err);

	if (rc == 0 ? e->packed && out.len != e->unpacked : out.len != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_fatbin struct fatbin whole = { 0 }, parts = { 0 };
	uint64_t stored = 0;

	scan(slice_of(data, size), MAX(size, (size_t)1), &whole);
	scan(slice_of(data, size), size ? 1 + data[0] : 1, &parts);
	if (whole.containers != parts.containers || whole.entries.len != parts.entries.len ||
	    whole.broken != parts.broken)
		abort();
	for (size_t i = 0; i < whole.entries.len; i++) {
		const struct fatbin_entry *a = &whole.entries.items[i];

		if (a->sm != parts.entries.items[i].sm || a->container >= size ||
		    a->link_stub != parts.entries.items[i].link_stub)
			abort();
		if (!a->bare)
			stored += a->stored;
		if (i < 64)
			unpack(slice_of(data, size), a);
	}
	if (stored > size)
		abort();
	return 0;
}
