#include "tests/support/test.h"

#include "base/reader.h"

static void test_a_part_lies_inside_or_is_refused(void **state)
{
	static const struct {
		uint64_t offset, len;
		bool inside;
	} cases[] = {
		{ 0, 0, true },           { 0, 4, true },
		{ 4, 0, true },           { 1, 3, true },
		{ 0, 5, false },          { 5, 0, false },
		{ 2, 3, false },          { UINT64_MAX, 1, false },
		{ 1, UINT64_MAX, false }, { UINT64_MAX, UINT64_MAX, false },
	};
	struct slice s = slice_str("abcd"), part;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(slice_sub(s, cases[i].offset, cases[i].len, &part),
				 cases[i].inside);
	assert_true(slice_sub(s, 1, 2, &part));
	assert_true(slice_is(part, "bc"));
}

static void test_the_empty_slice_is_harmless(void **state)
{
	struct slice none = { 0 }, part;
	uint64_t number;

	(void)state;
	assert_true(slice_sub(none, 0, 0, &part));
	assert_true(slice_equal(none, slice_str("")));
	assert_true(slice_starts(none, ""));
	assert_false(slice_starts(none, "x"));
	assert_int_equal(slice_trim(none).len, 0);
	assert_false(slice_cut(&none, ',', &part));
	assert_false(slice_u64(none, &number));
}

static void test_blanks_at_both_ends_are_cut(void **state)
{
	(void)state;
	assert_true(slice_is(slice_trim(slice_str(" \t\r\n a b \n")), "a b"));
	assert_true(slice_is(slice_trim(slice_str(" \t ")), ""));
	assert_int_equal(slice_trim(slice_of("\0a\0", 3)).len, 3);
}

static void test_no_set_has_a_nul_byte(void **state)
{
	(void)state;
	assert_true(byte_in('b', "ab"));
	assert_false(byte_in('c', "ab"));
	assert_false(byte_in(0, "ab"));
	assert_false(byte_in(0, ""));
}

static void test_cutting_gives_every_piece(void **state)
{
	static const char *const want[] = { "a", "", "b", "" };
	struct slice rest = slice_str("a,,b,"), piece = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_true(slice_cut(&rest, ',', &piece));
		assert_true(slice_is(piece, want[i]));
	}
	assert_false(slice_cut(&rest, ',', &piece));
}

static void test_a_part_of_a_path_is_a_whole_name(void **state)
{
	static const char *const with[] = { "..", "../a", "a/..", "/..", "a/../b", "a//.." };
	static const char *const without[] = { "", "/", "...", "a../b", "a/..b", "..a", "a/b.." };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(with); i++)
		assert_true(slice_has_part(slice_str(with[i]), ".."));
	for (size_t i = 0; i < ARRAY_LEN(without); i++)
		assert_false(slice_has_part(slice_str(without[i]), ".."));
	assert_false(slice_has_part((struct slice){ 0 }, ".."));
}

static void test_an_empty_text_is_one_empty_piece(void **state)
{
	struct slice rest = slice_str(""), piece = { 0 };

	(void)state;
	assert_true(slice_cut(&rest, ',', &piece));
	assert_int_equal(piece.len, 0);
	assert_false(slice_cut(&rest, ',', &piece));
}

static void test_only_decimal_digits_are_a_number(void **state)
{
	static const struct {
		const char *text;
		bool is;
		uint64_t value;
	} cases[] = {
		{ "0", true, 0 },
		{ "0042", true, 42 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "+1", false, 0 },
		{ " 1", false, 0 },
		{ "1 ", false, 0 },
		{ "0x1", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint64_t value = 7;

		assert_int_equal(slice_u64(slice_str(cases[i].text), &value), cases[i].is);
		assert_true(value == (cases[i].is ? cases[i].value : 7));
	}
}

static void test_a_reader_reads_in_its_byte_order(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct reader little = reader_of(slice_of(bytes, sizeof(bytes)));
	struct reader big = little;

	(void)state;
	big.big_endian = true;
	assert_int_equal(reader_u8(&little), 1);
	assert_int_equal(reader_u16(&little), 0x0302);
	assert_int_equal(reader_u32(&little), 0x07060504);
	assert_true(reader_u64(&little) == UINT64_C(0x0f0e0d0c0b0a0908));
	assert_int_equal(reader_left(&little), 0);
	assert_false(little.bad);
	assert_int_equal(reader_u8(&big), 1);
	assert_int_equal(reader_u16(&big), 0x0203);
	assert_int_equal(reader_u32(&big), 0x04050607);
	assert_true(reader_u64(&big) == UINT64_C(0x08090a0b0c0d0e0f));
}

static void test_a_read_past_the_end_stays_bad(void **state)
{
	cleanup_free uint8_t *bytes = xmemdup("abc", 3);
	struct reader r = reader_of(slice_of(bytes, 3));

	(void)state;
	assert_int_equal(reader_u16(&r), 0x6261);
	assert_int_equal(reader_u16(&r), 0);
	assert_true(r.bad);
	assert_int_equal(reader_u8(&r), 0); /* though one byte is left */
	assert_int_equal(reader_bytes(&r, 0).len, 0);
	assert_null(reader_cstr(&r).data);
}

static void test_a_length_of_any_size_is_checked(void **state)
{
	struct reader r = reader_of(slice_str("abc"));

	(void)state;
	assert_int_equal(reader_bytes(&r, UINT64_MAX).len, 0);
	assert_true(r.bad);
}

static void test_texts_end_in_a_nul(void **state)
{
	cleanup_free uint8_t *bytes = xmemdup("ab\0\0cd", 6);
	struct reader r = reader_of(slice_of(bytes, 6));

	(void)state;
	assert_true(slice_is(reader_cstr(&r), "ab"));
	assert_true(slice_is(reader_cstr(&r), ""));
	assert_int_equal(r.at, 4);
	assert_null(reader_cstr(&r).data); /* no NUL follows */
	assert_true(r.bad);
}

static void test_seeking_stays_inside(void **state)
{
	struct reader r = reader_of(slice_str("abc"));

	(void)state;
	assert_true(reader_seek(&r, 3));
	assert_int_equal(reader_left(&r), 0);
	assert_true(reader_seek(&r, 1));
	assert_int_equal(reader_u8(&r), 'b');
	assert_false(reader_seek(&r, 4));
	assert_true(r.bad);
}

static void test_an_empty_reader_is_harmless(void **state)
{
	struct reader r = reader_of((struct slice){ 0 });

	(void)state;
	assert_int_equal(reader_bytes(&r, 0).len, 0);
	assert_false(r.bad);
	assert_null(reader_cstr(&r).data);
	assert_true(r.bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_part_lies_inside_or_is_refused),
		cmocka_unit_test(test_the_empty_slice_is_harmless),
		cmocka_unit_test(test_blanks_at_both_ends_are_cut),
		cmocka_unit_test(test_no_set_has_a_nul_byte),
		cmocka_unit_test(test_cutting_gives_every_piece),
		cmocka_unit_test(test_a_part_of_a_path_is_a_whole_name),
		cmocka_unit_test(test_an_empty_text_is_one_empty_piece),
		cmocka_unit_test(test_only_decimal_digits_are_a_number),
		cmocka_unit_test(test_a_reader_reads_in_its_byte_order),
		cmocka_unit_test(test_a_read_past_the_end_stays_bad),
		cmocka_unit_test(test_a_length_of_any_size_is_checked),
		cmocka_unit_test(test_texts_end_in_a_nul),
		cmocka_unit_test(test_seeking_stays_inside),
		cmocka_unit_test(test_an_empty_reader_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
