/* A record of pieces, printed and read again; its file holds what it says. */
#include "registry/ranges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_ranges_record struct ranges_record record = { 0 };
	cleanup_ranges_record struct ranges_record again = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	uint64_t first, last, total;

	if (fetch_parse_range(slice_of(data, len), &first, &last, &total))
		assert(first <= last && last < total);
	if (!ranges_record_parse(slice_of(data, len), 100000, &record))
		return 0;
	for (size_t i = 0; i < record.count; i++)
		assert(!record.have[i] || record.piece * i + record.have[i] <= 100000);
	ranges_record_print(&record, &text);
	assert(ranges_record_parse(strbuf_slice(&text), 100000, &again));
	assert(again.size == record.size && again.piece == record.piece);
	assert(memcmp(again.have, record.have, record.count * sizeof(*record.have)) == 0);
	return 0;
}
