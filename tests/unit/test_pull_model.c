#include "tests/support/test.h"

#include "builder/pull_model.h"

static const struct pull_engine one = { "one", 1, 1, 100 }, three = { "three", 3, 1, 100 },
				wide = { "wide", 10, 10, 100 };

/* 800 Mbit/s are 100 MB/s, as fast as gzip is unpacked here. */
enum { MBIT = 800 };
#define MB UINT64_C(1000000)

static void assert_seconds(double got, double want)
{
	if (got < want - 0.01 || got > want + 0.01)
		fail_msg("%.3f s instead of %.3f s", got, want);
}

static void test_one_layer_is_downloaded_then_unpacked(void **state)
{
	const struct pull_layer layer = { 100 * MB, 200 * MB };

	(void)state;
	assert_seconds(pull_model_seconds(&one, &layer, 1, COMPRESSION_GZIP, MBIT), 1 + 2);
}

static void test_unpacking_goes_on_while_the_next_is_downloaded(void **state)
{
	const struct pull_layer layers[] = { { 100 * MB, 100 * MB }, { 100 * MB, 100 * MB } };

	(void)state;
	assert_seconds(pull_model_seconds(&one, layers, 2, COMPRESSION_GZIP, MBIT), 3);
}

static void test_downloads_share_the_bandwidth(void **state)
{
	const struct pull_layer layers[] = { { 100 * MB, 0 }, { 100 * MB, 0 }, { 100 * MB, 0 } };

	(void)state;
	assert_seconds(pull_model_seconds(&three, layers, 3, COMPRESSION_GZIP, MBIT), 3);
}

static void test_many_unpackers_are_bound_by_the_largest_layer(void **state)
{
	const struct pull_layer layers[] = { { MB, 100 * MB }, { MB, 300 * MB }, { MB, 100 * MB } };

	(void)state;
	assert_true(pull_model_seconds(&wide, layers, 3, COMPRESSION_GZIP, MBIT) < 3.1);
	assert_true(pull_model_seconds(&three, layers, 3, COMPRESSION_GZIP, MBIT) > 5);
}

static void test_zstd_is_unpacked_faster(void **state)
{
	const struct pull_layer layer = { MB, 1300 * MB };

	(void)state;
	assert_seconds(pull_model_seconds(&one, &layer, 1, COMPRESSION_ZSTD, MBIT), 1.01);
}

static void test_nothing_takes_no_time(void **state)
{
	(void)state;
	for (const struct pull_engine *e = pull_engines; e->name; e++)
		assert_seconds(pull_model_seconds(e, NULL, 0, COMPRESSION_GZIP, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_layer_is_downloaded_then_unpacked),
		cmocka_unit_test(test_unpacking_goes_on_while_the_next_is_downloaded),
		cmocka_unit_test(test_downloads_share_the_bandwidth),
		cmocka_unit_test(test_many_unpackers_are_bound_by_the_largest_layer),
		cmocka_unit_test(test_zstd_is_unpacked_faster),
		cmocka_unit_test(test_nothing_takes_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
