#include "tests/support/test.h"

#include <sys/resource.h>

#include "formats/compress.h"
#include "tests/support/bytes.h"

static void compress(struct slice in, enum compression c, enum compression_level level,
		     struct pool *pool, size_t step, struct strbuf *out)
{
	struct error err = { 0 };
	cleanup_sink struct sink *memory = sink_memory(out);
	cleanup_sink struct sink *sink = compress_sink(memory, c, level, pool);

	for (size_t at = 0; at < in.len; at += step)
		assert_ok(sink_write(sink, in.data + at, MIN(step, in.len - at), &err), err);
	assert_ok(sink_finish(sink, &err), err);
}

static int decompress(struct slice in, enum compression c, size_t step, struct strbuf *out,
		      struct error *err)
{
	cleanup_stream struct stream *inner = test_dribble(in, step);
	cleanup_stream struct stream *s = decompress_stream(inner, c);

	return stream_read_all(s, 1 << 30, out, err);
}

/* Noise, text and zeros over several blocks, the last one short. */
static void sample(struct strbuf *out)
{
	test_text(out, 3 << 19);
	test_noise(out, 5 << 19, 1);
	strbuf_add_zeros(out, 3 << 20);
	test_text(out, 12345);
}

static const enum compression kinds[] = { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };
static const enum compression_level levels[] = { LEVEL_FAST, LEVEL_DEFAULT, LEVEL_MAX };

static void test_what_was_compressed_comes_back(void **state)
{
	cleanup_strbuf struct strbuf in = { 0 };

	(void)state;
	sample(&in);
	for (size_t i = 0; i < ARRAY_LEN(kinds) * ARRAY_LEN(levels); i++) {
		struct error err = { 0 };
		enum compression c = kinds[i / ARRAY_LEN(levels)];
		cleanup_strbuf struct strbuf packed = { 0 }, out = { 0 };

		compress(strbuf_slice(&in), c, levels[i % ARRAY_LEN(levels)], NULL, 1 << 20,
			 &packed);
		assert_ok(decompress(strbuf_slice(&packed), c, SIZE_MAX, &out, &err), err);
		assert_true(slice_equal(strbuf_slice(&in), strbuf_slice(&out)));
	}
}

static void test_bytes_depend_on_neither_threads_nor_write_sizes(void **state)
{
	static const size_t steps[] = { 1 << 24, 100003, 4096, 65536 };
	cleanup_strbuf struct strbuf in = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		sample(&in);
	for (size_t k = 1; k < ARRAY_LEN(kinds); k++) {
		cleanup_strbuf struct strbuf want = { 0 };

		compress(strbuf_slice(&in), kinds[k], LEVEL_DEFAULT, NULL, in.len, &want);
		for (unsigned i = 0; i < ARRAY_LEN(steps); i++) {
			cleanup_pool struct pool *pool = pool_new(1 + i);
			cleanup_strbuf struct strbuf got = { 0 };

			compress(strbuf_slice(&in), kinds[k], LEVEL_DEFAULT, pool, steps[i], &got);
			assert_true(slice_equal(strbuf_slice(&want), strbuf_slice(&got)));
		}
	}
}

static void test_nothing_becomes_nothing(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		cleanup_strbuf struct strbuf out = { 0 };

		compress((struct slice){ 0 }, kinds[k], LEVEL_DEFAULT, NULL, 1, &out);
		assert_int_equal(out.len, 0);
	}
}

static void test_gzip_members_are_a_mebibyte_with_a_fixed_header(void **state)
{
	static const uint8_t header[] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff };
	cleanup_strbuf struct strbuf whole = { 0 }, first = { 0 }, second = { 0 }, in = { 0 };

	(void)state;
	test_text(&in, (1 << 20) + 1000);
	compress(strbuf_slice(&in), COMPRESSION_GZIP, LEVEL_DEFAULT, NULL, in.len, &whole);
	compress(slice_of(in.data, 1 << 20), COMPRESSION_GZIP, LEVEL_DEFAULT, NULL, in.len, &first);
	compress(slice_of(in.data + (1 << 20), 1000), COMPRESSION_GZIP, LEVEL_DEFAULT, NULL, in.len,
		 &second);
	assert_memory_equal(whole.data, header, sizeof(header));
	strbuf_add(&first, second.data, second.len);
	assert_true(slice_equal(strbuf_slice(&whole), strbuf_slice(&first)));
}

static void test_dense_members_are_stored(void **state)
{
	cleanup_strbuf struct strbuf in = { 0 }, out = { 0 };
	const uint8_t *at;

	(void)state;
	test_noise(&in, 1 << 20, 7);
	compress(strbuf_slice(&in), COMPRESSION_GZIP, LEVEL_MAX, NULL, in.len, &out);
	at = (const uint8_t *)out.data + 10;
	assert_int_equal(out.len, 10 + (1 << 20) + 17 * 5 + 8);
	assert_int_equal(at[0], 0); /* not the last block, stored */
	assert_int_equal(at[1] | at[2] << 8, 65535);
	assert_memory_equal(at + 5, in.data, 65535);
}

static void test_any_size_of_read_gives_the_same(void **state)
{
	cleanup_strbuf struct strbuf in = { 0 };

	(void)state;
	test_text(&in, 300000);
	for (size_t k = 1; k < ARRAY_LEN(kinds); k++) {
		cleanup_strbuf struct strbuf one = { 0 };

		/* three members: what the decoder read too far must go back each time */
		for (size_t i = 0; i < 3; i++)
			compress(slice_of(in.data + i * 100000, 100000), kinds[k], LEVEL_DEFAULT,
				 NULL, in.len, &one);
		for (size_t step = 1; step < 40; step++) {
			struct error err = { 0 };
			cleanup_strbuf struct strbuf out = { 0 };

			assert_ok(decompress(strbuf_slice(&one), kinds[k], step, &out, &err), err);
			assert_true(slice_equal(strbuf_slice(&in), strbuf_slice(&out)));
		}
	}
}

static void test_every_truncation_is_refused(void **state)
{
	cleanup_strbuf struct strbuf in = { 0 };

	(void)state;
	test_text(&in, 3000);
	for (size_t k = 1; k < ARRAY_LEN(kinds); k++) {
		cleanup_strbuf struct strbuf packed = { 0 };
		size_t boundary;

		compress(strbuf_slice(&in), kinds[k], LEVEL_DEFAULT, NULL, in.len, &packed);
		boundary = packed.len;
		compress(strbuf_slice(&in), kinds[k], LEVEL_DEFAULT, NULL, in.len, &packed);
		for (size_t len = 0; len < packed.len; len++) {
			struct error err = { 0 };
			cleanup_strbuf struct strbuf out = { 0 };
			cleanup_free uint8_t *copy = xmemdup(packed.data, len);

			if (len == boundary)
				continue;
			assert_int_equal(decompress(slice_of(copy, len), kinds[k], SIZE_MAX, &out,
						    &err),
					 -1);
			assert_int_equal(err.code, ERROR_FORMAT);
		}
	}
}

static void test_a_changed_byte_of_a_gzip_body_never_changes_what_is_read(void **state)
{
	cleanup_strbuf struct strbuf in = { 0 }, packed = { 0 };

	(void)state;
	test_text(&in, 2000);
	compress(strbuf_slice(&in), COMPRESSION_GZIP, LEVEL_DEFAULT, NULL, in.len, &packed);
	for (size_t i = 10; i < packed.len; i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf out = { 0 };

		packed.data[i] ^= 0x10;
		if (decompress(strbuf_slice(&packed), COMPRESSION_GZIP, SIZE_MAX, &out, &err) == 0)
			assert_true(slice_equal(strbuf_slice(&in), strbuf_slice(&out)));
		else
			assert_int_equal(err.code, ERROR_FORMAT);
		packed.data[i] ^= 0x10;
	}
}

static void test_gzip_padding_of_zeros_is_allowed(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf packed = { 0 }, out = { 0 };

	(void)state;
	compress(slice_str("text"), COMPRESSION_GZIP, LEVEL_DEFAULT, NULL, 4, &packed);
	strbuf_add_zeros(&packed, 1000);
	assert_ok(decompress(strbuf_slice(&packed), COMPRESSION_GZIP, 7, &out, &err), err);
	assert_string_equal(strbuf_text(&out), "text");
}

static void test_other_bytes_behind_the_end_are_refused(void **state)
{
	static const char *const tails[] = { "x", "\x1f", "\x1fx", "\x1f\x8b\x07" };

	(void)state;
	for (size_t k = 1; k < ARRAY_LEN(kinds); k++) {
		for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
			struct error err = { 0 };
			cleanup_strbuf struct strbuf packed = { 0 }, out = { 0 };

			compress(slice_str("text"), kinds[k], LEVEL_DEFAULT, NULL, 4, &packed);
			strbuf_adds(&packed, tails[i]);
			assert_int_equal(decompress(strbuf_slice(&packed), kinds[k], 1, &out, &err),
					 -1);
			assert_int_equal(err.code, ERROR_FORMAT);
		}
	}
}

static void test_gzip_padding_followed_by_data_is_refused(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf packed = { 0 }, out = { 0 };

	(void)state;
	compress(slice_str("text"), COMPRESSION_GZIP, LEVEL_DEFAULT, NULL, 4, &packed);
	strbuf_add_zeros(&packed, 3);
	strbuf_addc(&packed, 'x');
	assert_int_equal(decompress(strbuf_slice(&packed), COMPRESSION_GZIP, SIZE_MAX, &out, &err),
			 -1);
	assert_contains(err.text, "followed by something else");
}

static void test_gzip_header_fields_are_skipped(void **state)
{
	/* FEXTRA of 3 bytes, FNAME, FCOMMENT, FHCRC, then "hi" as a stored block */
	static const uint8_t head[] = "\x1f\x8b\x08\x1e\1\2\3\4\0\3"
				      "\3\0abc"
				      "name\0"
				      "comment\0"
				      "\0\0"
				      "\1\2\0\xfd\xffhi"
				      "\xac\x2a\x93\xd8\2\0\0\0";
	struct error err = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	assert_ok(decompress(slice_of(head, sizeof(head) - 1), COMPRESSION_GZIP, 1, &out, &err),
		  err);
	assert_string_equal(strbuf_text(&out), "hi");
}

static void test_errors_of_the_inner_stream_come_out_as_they_are(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf in = { 0 }, packed = { 0 }, out = { 0 };
		cleanup_stream struct stream *inner = NULL, *s = NULL;

		test_text(&in, 3000);
		compress(strbuf_slice(&in), kinds[k], LEVEL_DEFAULT, NULL, in.len, &packed);
		inner = test_cut(slice_of(packed.data, packed.len / 2));
		s = decompress_stream(inner, kinds[k]);
		assert_int_equal(stream_read_all(s, MIB, &out, &err), -1);
		assert_int_equal(err.code, ERROR_NETWORK);
		assert_string_equal(err.text, "line cut");
	}
}

/* echo hello | xz -T1 */
static const uint8_t hello_xz[] = {
	0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x04, 0xe6, 0xd6, 0xb4, 0x46, 0x02,
	0x00, 0x21, 0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00,
	0x05, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x0a, 0x00, 0x00, 0x00, 0xa5, 0x60, 0x97,
	0xf1, 0x94, 0xf6, 0xfd, 0xe0, 0x00, 0x01, 0x1e, 0x06, 0xc1, 0x2f, 0xa4, 0x1d,
	0x1f, 0xb6, 0xf3, 0x7d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x04, 0x59, 0x5a,
};

static void test_xz_is_read_in_any_step(void **state)
{
	(void)state;
	for (size_t step = 1; step <= sizeof(hello_xz); step++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf out = { 0 };

		assert_ok(decompress(slice_of(hello_xz, sizeof(hello_xz)), COMPRESSION_XZ, step,
				     &out, &err),
			  err);
		assert_string_equal(strbuf_text(&out), "hello\n");
	}
}

static void test_every_truncation_of_xz_is_refused(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(hello_xz); len++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf out = { 0 };
		cleanup_free uint8_t *copy = xmemdup(hello_xz, len);

		assert_int_equal(
			decompress(slice_of(copy, len), COMPRESSION_XZ, SIZE_MAX, &out, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_kinds_are_known_by_their_first_bytes(void **state)
{
	static const struct {
		const char *head;
		size_t len;
		enum compression want;
	} cases[] = {
		{ "\x1f\x8b\x08", 3, COMPRESSION_GZIP },
		{ "\x1f", 1, COMPRESSION_NONE },
		{ "\x28\xb5\x2f\xfd", 4, COMPRESSION_ZSTD },
		{ "\x50\x2a\x4d\x18", 4, COMPRESSION_ZSTD },
		{ "\xfd"
		  "7zXZ\0",
		  6, COMPRESSION_XZ },
		{ "\xfd"
		  "7zXZ",
		  5, COMPRESSION_NONE },
		{ "etc/passwd", 10, COMPRESSION_NONE },
		{ "", 0, COMPRESSION_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(compression_detect(slice_of(cases[i].head, cases[i].len)),
				 cases[i].want);
}

static void test_the_kind_is_detected_and_nothing_is_lost(void **state)
{
	static const char text[] = "tar-like text of some length";

	(void)state;
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		for (size_t len = 0; len < sizeof(text); len++) {
			struct error err = { 0 };
			enum compression kind;
			cleanup_strbuf struct strbuf packed = { 0 }, out = { 0 };
			cleanup_stream struct stream *inner = NULL, *s = NULL;

			compress(slice_of(text, len), kinds[k], LEVEL_FAST, NULL, 100, &packed);
			inner = test_dribble(strbuf_slice(&packed), 1);
			s = decompress_auto(inner, &kind, &err);
			assert_non_null(s);
			assert_int_equal(kind, len ? kinds[k] : COMPRESSION_NONE);
			assert_ok(stream_read_all(s, MIB, &out, &err), err);
			assert_true(slice_equal(strbuf_slice(&out), slice_of(text, len)));
		}
	}
}

static void test_a_read_error_while_detecting_is_told(void **state)
{
	struct error err = { 0 };
	cleanup_stream struct stream *inner = test_cut(slice_str("ab"));

	(void)state;
	assert_null(decompress_auto(inner, NULL, &err));
	assert_int_equal(err.code, ERROR_NETWORK);
}

static void test_a_bomb_meets_the_limit_in_flat_memory(void **state)
{
	(void)state;
	for (size_t k = 1; k < ARRAY_LEN(kinds); k++) {
		struct error err = { 0 };
		struct rusage before, after;
		cleanup_strbuf struct strbuf packed = { 0 };
		cleanup_sink struct sink *memory = sink_memory(&packed);
		cleanup_sink struct sink *sink = compress_sink(memory, kinds[k], LEVEL_FAST, NULL);
		cleanup_stream struct stream *zeros = test_zeros(256 * MIB), *inner = NULL,
					     *s = NULL, *limited = NULL;

		assert_ok(sink_copy(sink, zeros, NULL, &err), err);
		assert_ok(sink_finish(sink, &err), err);
		assert_true(packed.len < MIB);
		inner = stream_memory(strbuf_slice(&packed));
		s = decompress_stream(inner, kinds[k]);
		limited = stream_limit(s, 200 * MIB);
		getrusage(RUSAGE_SELF, &before);
		assert_int_equal(stream_drain(limited, NULL, &err), -1);
		getrusage(RUSAGE_SELF, &after);
		assert_int_equal(err.code, ERROR_LIMIT);
		assert_true(after.ru_maxrss - before.ru_maxrss < 32 * 1024); /* KiB */
	}
}

static void test_zstd_windows_above_the_limit_are_refused(void **state)
{
	/* frame header: no checksum, no content size, window descriptor 2^28 */
	static const uint8_t frame[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 0x01, 0, 0 };
	struct error err = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	assert_int_equal(decompress(slice_of(frame, sizeof(frame)), COMPRESSION_ZSTD, SIZE_MAX,
				    &out, &err),
			 -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

/* Frames in one segment, whose header says `said`; one block that holds "hi", or none, and is last.
 */
static void test_a_zstd_frame_has_the_size_that_it_says(void **state)
{
	static const struct {
		const char *frames;
		size_t len;
		int rc;
	} cases[] = {
		{ "\x28\xb5\x2f\xfd\x20\x00\x01\0\0", 9, 0 },
		{ "\x28\xb5\x2f\xfd\x20\x90\x01\0\0", 9, -1 },
		{ "\x28\xb5\x2f\xfd\x20\x02\x10\0\0hi\x01\0\0", 14, 0 },
		{ "\x28\xb5\x2f\xfd\x20\x03\x10\0\0hi\x01\0\0", 14, -1 },
		{ "\x28\xb5\x2f\xfd\x20\x02\x11\0\0hi"
		  "\x28\xb5\x2f\xfd\x20\x02\x01\0\0",
		  20, -1 },
		{ "\x28\xb5\x2f\xfd\x20\x02\x11\0\0hi"
		  "\x50\x2a\x4d\x18\x01\0\0\0x"
		  "\x28\xb5\x2f\xfd\x20\x00\x01\0\0",
		  29, 0 },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
		struct slice frames = slice_of(cases[i / 2].frames, cases[i / 2].len);
		cleanup_stream struct stream *inner = test_dribble(frames, i % 2 ? 1 : frames.len);
		cleanup_stream struct stream *s = decompress_stream(inner, COMPRESSION_ZSTD);
		cleanup_strbuf struct strbuf out = { 0 };
		struct error err = { 0 };

		assert_int_equal(stream_read_all(s, MIB, &out, &err), cases[i / 2].rc);
		if (cases[i / 2].rc < 0)
			assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_raw_deflate_must_end_where_the_bytes_end(void **state)
{
	static const uint8_t body[] = "\1\2\0\xfd\xffhi";
	struct error err = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	for (size_t len = 0; len <= sizeof(body); len++) { /* with the NUL: one byte too many */
		cleanup_free uint8_t *copy = xmemdup(body, len);
		cleanup_stream struct stream *inner = test_dribble(slice_of(copy, len), 1);
		cleanup_stream struct stream *s = inflate_stream(inner);
		int rc = stream_read_all(s, MIB, &out, &err);

		assert_int_equal(rc, len == sizeof(body) - 1 ? 0 : -1);
	}
	assert_int_equal(err.code, ERROR_FORMAT);
}

static int full_write(struct sink *s, const void *data, size_t len, struct error *err)
{
	(void)s, (void)data, (void)len;
	return error_set(err, ERROR_SYSTEM, "disk full");
}

static void test_errors_of_the_inner_sink_come_out_as_they_are(void **state)
{
	static const struct sink_ops ops = { .write = full_write };

	(void)state;
	for (size_t k = 1; k < ARRAY_LEN(kinds); k++) {
		struct sink full = { .ops = &ops };
		struct error err = { 0 };
		cleanup_pool struct pool *pool = pool_new(2);
		cleanup_sink struct sink *sink = compress_sink(&full, kinds[k], LEVEL_FAST, pool);
		cleanup_stream struct stream *zeros = test_zeros(64 * MIB);

		assert_int_equal(sink_copy(sink, zeros, NULL, &err), -1);
		assert_string_equal(err.text, "disk full");
	}
}

static void test_identity_names_coder_version_and_parameters(void **state)
{
	cleanup_free char *gzip = compression_identity(COMPRESSION_GZIP, LEVEL_DEFAULT);
	cleanup_free char *zstd = compression_identity(COMPRESSION_ZSTD, LEVEL_MAX);
	cleanup_free char *none = compression_identity(COMPRESSION_NONE, LEVEL_FAST);

	(void)state;
	assert_contains(gzip, "gzip libdeflate-");
	assert_contains(gzip, " level 6 member 1048576 store 7.95");
	assert_contains(zstd, "zstd libzstd-");
	assert_contains(zstd, " level 9 frame 4194304 checksum");
	assert_string_equal(none, "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_compressed_comes_back),
		cmocka_unit_test(test_bytes_depend_on_neither_threads_nor_write_sizes),
		cmocka_unit_test(test_nothing_becomes_nothing),
		cmocka_unit_test(test_gzip_members_are_a_mebibyte_with_a_fixed_header),
		cmocka_unit_test(test_dense_members_are_stored),
		cmocka_unit_test(test_any_size_of_read_gives_the_same),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_a_changed_byte_of_a_gzip_body_never_changes_what_is_read),
		cmocka_unit_test(test_gzip_padding_of_zeros_is_allowed),
		cmocka_unit_test(test_other_bytes_behind_the_end_are_refused),
		cmocka_unit_test(test_gzip_padding_followed_by_data_is_refused),
		cmocka_unit_test(test_gzip_header_fields_are_skipped),
		cmocka_unit_test(test_errors_of_the_inner_stream_come_out_as_they_are),
		cmocka_unit_test(test_xz_is_read_in_any_step),
		cmocka_unit_test(test_every_truncation_of_xz_is_refused),
		cmocka_unit_test(test_kinds_are_known_by_their_first_bytes),
		cmocka_unit_test(test_the_kind_is_detected_and_nothing_is_lost),
		cmocka_unit_test(test_a_read_error_while_detecting_is_told),
		cmocka_unit_test(test_a_bomb_meets_the_limit_in_flat_memory),
		cmocka_unit_test(test_zstd_windows_above_the_limit_are_refused),
		cmocka_unit_test(test_a_zstd_frame_has_the_size_that_it_says),
		cmocka_unit_test(test_raw_deflate_must_end_where_the_bytes_end),
		cmocka_unit_test(test_errors_of_the_inner_sink_come_out_as_they_are),
		cmocka_unit_test(test_identity_names_coder_version_and_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
