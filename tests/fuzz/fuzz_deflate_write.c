/*
 * Property: what is written inflates, by a decoder that is not ours, to what went in. The input is
 * taken as it is, and several times over with a byte changed in between, so that it holds matches.
 */
#include <libdeflate.h>

#include "base/alloc.h"
#include "formats/deflate_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void round_trip(struct slice in)
{
	struct deflate_write *z = deflate_write_new();
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t bound = deflate_write_bound(in.len), got;
	cleanup_free uint8_t *out = xmalloc(bound), *back = xmalloc(in.len + 1);
	size_t n = deflate_write(z, in, out);

	assert(n <= bound);
	if (libdeflate_deflate_decompress(d, out, n, back, in.len, &got) != LIBDEFLATE_SUCCESS)
		abort();
	assert(got == in.len && (!got || memcmp(back, in.data, got) == 0));
	libdeflate_free_decompressor(d);
	deflate_write_free(z);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	enum { TIMES = 9 };
	cleanup_free uint8_t *copies = xmalloc(len * TIMES + 1);

	if (len > 64 * 1024)
		return 0;
	round_trip(slice_of(data, len));
	for (size_t i = 0; i < TIMES && len; i++) {
		memcpy(copies + i * len, data, len);
		copies[i * len + (i * 7) % len] ^= (uint8_t)(1 + i);
	}
	round_trip(slice_of(copies, len * TIMES));
	return 0;
}
