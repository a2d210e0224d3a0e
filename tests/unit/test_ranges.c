#include "tests/support/test.h"

#include "registry/ranges.h"

static bool parse(const char *text, uint64_t file_bytes, struct ranges_record *out)
{
	return ranges_record_parse(slice_str(text), file_bytes, out);
}

static void test_a_record_is_read_back(void **state)
{
	uint64_t have[] = { 65536, 12, 100 };
	struct ranges_record record = { .size = 131172, .piece = 65536, .have = have, .count = 3 };
	cleanup_ranges_record struct ranges_record got = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	ranges_record_print(&record, &text);
	assert_true(ranges_record_parse(strbuf_slice(&text), 131172, &got));
	assert_int_equal(got.size, 131172);
	assert_int_equal(got.piece, 65536);
	assert_int_equal(got.count, 3);
	assert_memory_equal(got.have, have, sizeof(have));
}

static void test_a_record_that_contradicts_itself_or_the_file_is_none(void **state)
{
	static const char *const cases[] = {
		"",
		"[]",
		"{}",
		"{\"version\":2,\"size\":70000,\"piece\":65536,\"have\":[0,0]}",
		"{\"version\":1,\"size\":0,\"piece\":65536,\"have\":[]}",
		"{\"version\":1,\"size\":70000,\"piece\":1,\"have\":[0,0]}",
		"{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[0]}",
		"{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[0,0,0]}",
		"{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[65537,0]}",
		"{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[0,4465]}",
		"{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[-1,0]}",
		"{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[\"1\",0]}",
		"{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[0,4464]}", /* file ends */
		"{\"version\":1,\"size\":9223372036854775807,\"piece\":65536,\"have\":[0]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct ranges_record got;

		if (parse(cases[i], 69999, &got))
			fail_msg("read: %s", cases[i]);
		assert_null(got.have);
	}
}

static void test_an_empty_piece_may_lie_beyond_the_file(void **state)
{
	cleanup_ranges_record struct ranges_record got = { 0 };

	(void)state;
	assert_true(
		parse("{\"version\":1,\"size\":70000,\"piece\":65536,\"have\":[9,0]}", 9, &got));
}

static void test_content_ranges_are_read(void **state)
{
	uint64_t first, last, total;

	(void)state;
	assert_true(fetch_parse_range(slice_str("bytes 5-9/20"), &first, &last, &total));
	assert_true(first == 5 && last == 9 && total == 20);
	assert_true(fetch_parse_range(slice_str("bytes 0-0/*"), &first, &last, &total));
	assert_true(first == 0 && last == 0 && total == UINT64_MAX);
}

static void test_other_content_ranges_are_not(void **state)
{
	static const char *const cases[] = { "",
					     "bytes",
					     "bytes */20",
					     "bytes 9-5/20",
					     "bytes 5-20/20",
					     "bytes 5-9",
					     "items 5-9/20",
					     "bytes -9/20",
					     "bytes 5-/20",
					     "bytes 5-9/-1",
					     "5-9/20",
					     "bytes 5-9/20 x",
					     "bytes=5-9/20",
					     "bytes 99999999999999999999-999999999999999999999/*" };
	uint64_t first, last, total;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (fetch_parse_range(slice_str(cases[i]), &first, &last, &total))
			fail_msg("read: \"%s\"", cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_record_is_read_back),
		cmocka_unit_test(test_a_record_that_contradicts_itself_or_the_file_is_none),
		cmocka_unit_test(test_an_empty_piece_may_lie_beyond_the_file),
		cmocka_unit_test(test_content_ranges_are_read),
		cmocka_unit_test(test_other_content_ranges_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
