/* A page of names, and the link to the next: the address is a part of the header. */
#include "registry/listing.h"

#include "base/vec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	struct slice all = slice_of(data, len), next = listing_next(all);
	struct listing names = { 0 };
	struct error err = { 0 };

	assert(!next.len || (next.data > data && next.data + next.len < data + len));
	if (listing_parse(all, "tags", &arena, &names, &err) < 0)
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT);
	for (size_t i = 0; i < names.len; i++)
		assert(names.items[i]);
	vec_release(&names);
	return 0;
}
