#include "tests/support/test.h"

#include <libdeflate.h>

#include "base/digest.h"
#include "formats/deflate_write.h"

/* What comes out inflates to what went in, within the bound, and is the same each time. */
static size_t round_trip(struct slice in)
{
	struct deflate_write *z = deflate_write_new();
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t bound = deflate_write_bound(in.len), len, again, used, got;
	cleanup_free uint8_t *out = xmalloc(bound), *second = xmalloc(bound);
	cleanup_free uint8_t *back = xmalloc(in.len + 1);

	len = deflate_write(z, in, out);
	assert_true(len <= bound);
	again = deflate_write(z, in, second); /* nothing is left of the first call */
	assert_int_equal(len, again);
	assert_memory_equal(out, second, len);
	assert_int_equal(libdeflate_deflate_decompress_ex(d, out, len, back, in.len + 1, &used,
							  &got),
			 LIBDEFLATE_SUCCESS);
	assert_int_equal(used, len);
	assert_int_equal(got, in.len);
	if (in.len)
		assert_memory_equal(back, in.data, in.len);
	libdeflate_free_decompressor(d);
	deflate_write_free(z);
	return len;
}

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

enum kind { ZEROS, NOISE, TEXT, SKEWED, RUNS, KINDS };

/* Exactly `len` bytes on the heap, so that ASan sees one too many. */
static uint8_t *make(enum kind kind, size_t len)
{
	static const char words[] = "the loader looks for libcudart in /usr/local/cuda/lib64 ";
	uint8_t *p = xcalloc(len ? len : 1, 1);
	uint32_t seed = 1 + (uint32_t)kind;

	for (size_t i = 0; i < len; i++) {
		uint32_t r = next_random(&seed);

		if (kind == NOISE)
			p[i] = (uint8_t)r;
		else if (kind == TEXT)
			p[i] = (uint8_t)words[r % 7 ? i % (sizeof(words) - 1) : r % sizeof(words)];
		else if (kind == SKEWED) /* codes that would be longer than deflate's longest */
			p[i] = (uint8_t)__builtin_ctz(r | 1u << 23);
		else if (kind == RUNS)
			p[i] = i && r % 300 ? p[i - 1] : (uint8_t)r;
	}
	return p;
}

static void test_every_length_near_the_edges_comes_back(void **state)
{
	static const size_t edges[] = { 0,     16,    258,        300,        32768,
					65535, 65536, 128 * 1024, 256 * 1024, 1024 * 1024 };

	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		for (size_t e = 0; e < ARRAY_LEN(edges); e++) {
			for (size_t less = 0; less <= 20 && less <= edges[e]; less += 4) {
				size_t len = edges[e] - less;
				cleanup_free uint8_t *in = make((enum kind)kind, len);

				round_trip(slice_of(in, len));
			}
		}
	}
}

static void test_noise_grows_by_the_headings_of_stored_blocks_alone(void **state)
{
	size_t len = 1024 * 1024;
	cleanup_free uint8_t *in = make(NOISE, len);

	(void)state;
	assert_true(round_trip(slice_of(in, len)) <= len + 200);
}

static void test_what_repeats_within_the_window_shrinks(void **state)
{
	size_t len = 64 * 1024;
	cleanup_free uint8_t *in = make(NOISE, len), *zeros = make(ZEROS, len);

	(void)state;
	for (size_t i = 4096; i < len; i++)
		in[i] = in[i - 4096];
	assert_true(round_trip(slice_of(in, len)) < 8192);
	assert_true(round_trip(slice_of(zeros, len)) < 200);
}

/* Many matches in few bytes: a block ends by their number. */
static void test_a_block_may_hold_no_more_matches_than_there_is_room_for(void **state)
{
	size_t len = 512 * 1024;
	cleanup_free uint8_t *in = xcalloc(len, 1);
	uint32_t seed = 5;

	(void)state;
	for (size_t i = 0; i + 6 <= len; i += 6) {
		uint32_t r = next_random(&seed) % 64;

		memset(in + i, (int)r, 5);
		in[i + 5] = (uint8_t)next_random(&seed);
	}
	round_trip(slice_of(in, len));
}

/* Whoever changes these changes layers: raise DEFLATE_WRITE_VERSION and ASSEMBLY_VERSION. */
static void test_the_bytes_are_those_of_version_1(void **state)
{
	static const char *const golden[KINDS] = {
		"sha256:197580e64bcf332a3a1f870e3df5cbfae6e5cff3536d335f49e81779e45f0f49",
		"sha256:ddad6d1558290eb83d8d12926be1f4aca6d32c9ea5a7eea2712c77c6bac9b3c3",
		"sha256:dededef39d00e8b658d065690ae3ef9a9f48a6f60960d35b138b288d691d7046",
		"sha256:cdce14846248c11b597a91f1c7cf6623a9ee877e8b827548a65ba636ea4344e6",
		"sha256:a785cf38909fded250731b73c9ed8682c710961f743ba752d8d6e3851da7561d",
	};

	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		struct deflate_write *z = deflate_write_new();
		size_t len = 300 * 1000;
		cleanup_free uint8_t *in = make((enum kind)kind, len);
		cleanup_free uint8_t *out = xmalloc(deflate_write_bound(len));
		struct digest d =
			digest_of(slice_of(out, deflate_write(z, slice_of(in, len), out)));
		char text[DIGEST_TEXT_MAX];

		deflate_write_free(z);
		assert_string_equal(digest_text(&d, text), golden[kind]);
	}
	assert_int_equal(DEFLATE_WRITE_VERSION, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length_near_the_edges_comes_back),
		cmocka_unit_test(test_noise_grows_by_the_headings_of_stored_blocks_alone),
		cmocka_unit_test(test_what_repeats_within_the_window_shrinks),
		cmocka_unit_test(test_a_block_may_hold_no_more_matches_than_there_is_room_for),
		cmocka_unit_test(test_the_bytes_are_those_of_version_1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
