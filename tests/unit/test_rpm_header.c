#include "tests/support/test.h"

#include "tests/support/rpm.h"

/* Parses an exact-size copy, so that a byte too many is seen. */
static int parse(struct slice blob, struct rpm_header *out, struct error *err)
{
	return rpm_header_parse(blob, out, err);
}

static void make(struct strbuf *out)
{
	cleanup_test_header struct test_header h = { 0 };

	test_header_identity(&h, "bash", "5.1", "x86_64");
	test_header_texts(&h, RPMTAG_BASENAMES, (const char *[]){ "sh", "", "bash" }, 3);
	test_header_numbers(&h, RPMTAG_FILEMODES, 2, (uint64_t[]){ 0100755, 040755, 0120777 }, 3);
	test_header_numbers(&h, RPMTAG_LONGFILESIZES, 8, (uint64_t[]){ UINT64_C(1) << 33 }, 1);
	test_header_blob(&h, out);
}

static void test_values_are_found_by_their_tags(void **state)
{
	cleanup_strbuf struct strbuf blob = { 0 };
	struct error err = { 0 };
	struct rpm_value names;
	struct rpm_header h;
	uint64_t number;

	(void)state;
	make(&blob);
	assert_ok(parse(strbuf_slice(&blob), &h, &err), err);
	assert_string_equal(rpm_header_text(&h, RPMTAG_NAME), "bash");
	assert_true(rpm_header_find(&h, RPMTAG_BASENAMES, &names));
	assert_string_equal(rpm_value_next(&names), "sh");
	assert_string_equal(rpm_value_next(&names), "");
	assert_string_equal(rpm_value_next(&names), "bash");
	assert_null(rpm_value_next(&names));
	assert_true(rpm_header_number(&h, RPMTAG_FILEMODES, 2, &number));
	assert_int_equal(number, 0120777);
	assert_false(rpm_header_number(&h, RPMTAG_FILEMODES, 3, &number));
	assert_true(rpm_header_number(&h, RPMTAG_LONGFILESIZES, 0, &number));
	assert_true(number == UINT64_C(1) << 33);
	assert_null(rpm_header_text(&h, RPMTAG_GROUP));
	assert_null(rpm_header_text(&h, RPMTAG_FILEMODES));
}

static void test_an_epoch_of_zero_is_no_part_of_the_version(void **state)
{
	(void)state;
	for (uint64_t epoch = 0; epoch < 2; epoch++) {
		cleanup_test_header struct test_header h = { 0 };
		cleanup_strbuf struct strbuf blob = { 0 };
		cleanup_free char *evr = NULL;
		struct error err = { 0 };
		const char *name, *arch;
		struct rpm_header parsed;

		test_header_identity(&h, "bash", "5.1", "x86_64");
		test_header_numbers(&h, RPMTAG_EPOCH, 4, &epoch, 1);
		test_header_blob(&h, &blob);
		assert_ok(parse(strbuf_slice(&blob), &parsed, &err), err);
		assert_true(rpm_header_identity(&parsed, &name, &evr, &arch));
		assert_string_equal(evr, epoch ? "1:5.1-3" : "5.1-3");
		assert_string_equal(arch, "x86_64");
	}
}

static void test_every_truncation_is_refused(void **state)
{
	cleanup_strbuf struct strbuf blob = { 0 };

	(void)state;
	make(&blob);
	for (size_t len = 0; len < blob.len; len++) {
		cleanup_free uint8_t *copy = xcalloc(len + !len, 1);
		struct error err = { 0 };
		struct rpm_header h;

		memcpy(copy, blob.data, len);
		assert_int_equal(parse(slice_of(copy, len), &h, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_values_outside_the_header_are_refused(void **state)
{
	static const struct {
		uint32_t type, offset, count;
	} bad[] = {
		{ RPM_TYPE_INT32, 8, 1 },
		{ RPM_TYPE_INT32, 0, 3 },
		{ RPM_TYPE_INT64, 0, 0x20000000 },
		{ RPM_TYPE_STRING, 0, 2 },
		{ RPM_TYPE_STRING, 9, 1 },
		{ RPM_TYPE_STRING_ARRAY, 0, 9 },
		{ RPM_TYPE_BIN, 0, 0xffffffff },
		{ RPM_TYPE_BIN, 0xffffffff, 1 },
		{ 10, 0, 1 },
		{ RPM_TYPE_INT16, 0, 0 },
		{ RPM_TYPE_I18NSTRING, 4, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const uint8_t store[8] = { 'a', 0, 'b', 0, 'c', 'd', 'e', 'f' };
		cleanup_test_header struct test_header h = { 0 };
		cleanup_strbuf struct strbuf blob = { 0 };
		struct error err = { 0 };
		struct rpm_header parsed;

		test_header_add(&h, 1000, bad[i].type, bad[i].count, store, sizeof(store));
		for (unsigned k = 0; k < 4; k++)
			h.index.data[8 + k] = (char)(bad[i].offset >> (24 - 8 * k));
		test_header_blob(&h, &blob);
		assert_int_equal(parse(strbuf_slice(&blob), &parsed, &err), -1);
		assert_contains(err.text, "tag 1000");
	}
}

static void test_many_entries_over_the_same_texts_are_refused(void **state)
{
	cleanup_test_header struct test_header h = { 0 };
	cleanup_strbuf struct strbuf blob = { 0 }, big = { 0 };
	struct error err = { 0 };
	struct rpm_header parsed;

	(void)state;
	while (big.len < 65536)
		strbuf_add(&big, "x", 2);
	test_header_add(&h, 1000, RPM_TYPE_STRING_ARRAY, 32768, big.data, 65536);
	for (uint32_t i = 1; i < 64; i++) {
		test_header_add(&h, 1000 + i, RPM_TYPE_STRING_ARRAY, 32768, "", 0);
		memset(h.index.data + h.index.len - 8, 0, 4);
	}
	test_header_blob(&h, &blob);
	assert_int_equal(parse(strbuf_slice(&blob), &parsed, &err), -1);
	assert_contains(err.text, "overlap");
}

static void test_a_tag_that_stands_there_twice_is_told(void **state)
{
	cleanup_test_header struct test_header h = { 0 };
	cleanup_strbuf struct strbuf blob = { 0 };
	struct error err = { 0 };
	struct rpm_header parsed;
	uint32_t tag = 0;

	(void)state;
	test_header_text(&h, RPMTAG_NAME, "one");
	test_header_text(&h, RPMTAG_VERSION, "1");
	test_header_blob(&h, &blob);
	assert_ok(parse(strbuf_slice(&blob), &parsed, &err), err);
	assert_false(rpm_header_repeats(&parsed, &tag));
	test_header_text(&h, RPMTAG_NAME, "two");
	strbuf_truncate(&blob, 0);
	test_header_blob(&h, &blob);
	assert_ok(parse(strbuf_slice(&blob), &parsed, &err), err);
	assert_true(rpm_header_repeats(&parsed, &tag));
	assert_int_equal(tag, RPMTAG_NAME);
	assert_string_equal(rpm_header_text(&parsed, RPMTAG_NAME), "one");
}

static void test_sizes_beyond_the_limits_are_refused_before_anything_is_read(void **state)
{
	static const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	struct error err = { 0 };
	struct rpm_header h;

	(void)state;
	assert_int_equal(parse(slice_of(huge, sizeof(huge)), &h, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_found_by_their_tags),
		cmocka_unit_test(test_an_epoch_of_zero_is_no_part_of_the_version),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_values_outside_the_header_are_refused),
		cmocka_unit_test(test_many_entries_over_the_same_texts_are_refused),
		cmocka_unit_test(test_a_tag_that_stands_there_twice_is_told),
		cmocka_unit_test(test_sizes_beyond_the_limits_are_refused_before_anything_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
