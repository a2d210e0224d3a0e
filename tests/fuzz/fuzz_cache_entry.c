/* Entries of a build cache: what is read unsigned, written and read again, is the same; nothing
 * that is not signed is read where a key is asked for. */
#include "base/alloc.h"
#include "registry/cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_cache_entry struct cache_entry entry = { 0 }, again = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct digest key = digest_of(slice_str("key"));
	struct error err = { 0 };

	if (cache_entry_read(slice_of(data, len), "layers", &key, NULL, 0, &entry, &err) < 0) {
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT ||
		       err.code == ERROR_INTEGRITY);
		return 0;
	}
	if (cache_entry_write(&entry, NULL, &text, &err) < 0 ||
	    cache_entry_read(strbuf_slice(&text), "layers", &key, NULL, 0, &again, &err) < 0)
		abort();
	assert(slice_equal(strbuf_slice(&entry.record), strbuf_slice(&again.record)));
	assert(entry.objects.len == again.objects.len);
	return 0;
}
