/* What was read is written and read again as the same set of entries in a stable order. */
#include "formats/ldcache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup(ldcache_release) struct ldcache first = { 0 };
	cleanup(ldcache_release) struct ldcache second = { 0 };
	cleanup_strbuf struct strbuf once = { 0 }, twice = { 0 };
	struct error err = { 0 };

	if (len > MIB || ldcache_read(slice_of(data, len), &first, &err) < 0)
		return 0;
	ldcache_write(first.items, first.len, &once);
	if (ldcache_read(strbuf_slice(&once), &second, &err) < 0)
		abort();
	assert(first.len == second.len);
	ldcache_write(second.items, second.len, &twice);
	assert(slice_equal(strbuf_slice(&once), strbuf_slice(&twice)));
	return 0;
}
