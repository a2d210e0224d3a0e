/*
 * Records of facts, as hostile as a file may be. What was read and is written again reads the same:
 * written a second time it gives the same bytes.
 */
#include "base/alloc.h"
#include "lint/fact_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* All records of `bytes` into `out`; false when they do not end as records do. */
static bool copy(struct slice bytes, struct strbuf *out)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_stream struct stream *in = stream_memory(bytes);
	cleanup_free struct fact_record_reader *r = xcalloc(1, sizeof(*r));
	int kind;

	r->in = in;
	r->names = r->content = &arena;
	do {
		struct tar_entry entry;
		struct file_facts *facts;
		struct odd_entry odd;

		kind = fact_record_next(r, &entry, &facts, &odd);
		if (kind == FACT_RECORD_ENTRY && !fact_record_entry(out, &entry, facts))
			return false;
		if (kind == FACT_RECORD_ODD)
			fact_record_odd(out, &odd);
	} while (kind > FACT_RECORD_END);
	fact_record_end(out);
	return kind == FACT_RECORD_END;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_strbuf struct strbuf once = { 0 }, twice = { 0 };

	if (!copy(slice_of(data, len), &once))
		return 0;
	if (!copy(strbuf_slice(&once), &twice) || once.len != twice.len ||
	    memcmp(once.data, twice.data, once.len) != 0)
		abort();
	return 0;
}
