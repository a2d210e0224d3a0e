/*
 * Property: every member that reads has as many bytes as its header says, and skipping content
 * finds the same members as reading it.
 */
#include "formats/ar_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int list(const uint8_t *data, size_t len, bool read, struct strbuf *out)
{
	struct error err = { 0 };
	struct ar_member m;
	cleanup_stream struct stream *s = stream_memory(slice_of(data, len));
	cleanup_ar_reader struct ar_reader *r = ar_read_open(s);
	int rc;

	while ((rc = ar_read_next(r, &m, &err)) > 0) {
		uint64_t seen = 0;

		strbuf_addf(out, "%s %" PRIu64 "\n", m.name, m.size);
		if (read && stream_drain(ar_read_content(r), &seen, &err) < 0)
			return -1;
		assert(!read || seen == m.size);
	}
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_strbuf struct strbuf read = { 0 }, skipped = { 0 };

	if (list(data, len, true, &read) != list(data, len, false, &skipped))
		abort();
	assert(str_equal(strbuf_text(&read), strbuf_text(&skipped)));
	return 0;
}
