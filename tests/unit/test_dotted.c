#include "tests/support/test.h"

#include "manifests/dotted.h"

static void test_versions_are_compared_number_by_number(void **state)
{
	static const struct {
		const char *a, *b;
		int order;
	} cases[] = {
		{ "570.26", "570.86.10", -1 },
		{ "12.10", "12.9", 1 },
		{ "1.0", "1", 0 },
		{ "535.04", "535.4", 0 },
		{ "2.5.0a0", "2.5.0", 0 },
		{ "9", "10", -1 },
		{ "", "0", 0 },
		{ "13.0.3.0", "13.0.3", 0 },
		{ "99999999999999999999", "99999999999999999998", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_int_equal(dotted_order(cases[i].a, cases[i].b), cases[i].order);
		assert_int_equal(dotted_order(cases[i].b, cases[i].a), -cases[i].order);
	}
}

static void test_a_range_holds_what_it_says(void **state)
{
	static const struct {
		const char *version, *range;
		bool in;
	} cases[] = {
		{ "12.6.3", "12.6", true },
		{ "12.6", "12.6.3", true },
		{ "12.60", "12.6", false },
		{ "2.7.1", "2.7.*", true },
		{ "2.70.1", "2.7.*", false },
		{ "12.8", ">=12.4,<13", true },
		{ "13.0", ">=12.4,<13", false },
		{ "12.4", ">12.4", false },
		{ "12.4.1", ">12.4", true },
		{ "9.1", "<=9.1", true },
		{ "9.1.1", "<=9.1", false },
		{ "9.1.1", "!=9.1", true },
		{ "9.1.0", "!=9.1", false },
		{ "9.1.1", "!=9.1.*", false },
		{ "2.7.1", "==2.7", false },
		{ "2.7.0", "==2.7", true },
		{ "2.7.1", "==2.7.*", true },
		{ "9.2", "!=9.1", true },
		{ "2.9", "~=2.7", true },
		{ "3.0", "~=2.7", false },
		{ "2.7.5", "~=2.7.1", true },
		{ "2.8.0", "~=2.7.1", false },
		{ "1", "", true },
		{ "580.1", ">= 535 , < 600", true },
		{ "9.5", "=9", true },
	};
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (*cases[i].range)
			assert_ok(dotted_range_check(cases[i].range, &err), err);
		if (dotted_in(cases[i].version, cases[i].range) != cases[i].in)
			fail_msg("%s in %s", cases[i].version, cases[i].range);
	}
	assert_true(dotted_in("1.2", NULL));
}

static void test_what_is_no_range_is_refused(void **state)
{
	static const char *const ranges[] = { "",      "x",       "12.", ".12",    ">=",
					      ">=12,", "12..6",   "1 2", "^2",     "2.*.1",
					      "*",     ">=12,<x", "1;2", "12.6-1", "==" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		struct error err = { 0 };

		if (dotted_range_check(ranges[i], &err) == 0)
			fail_msg("'%s' was taken", ranges[i]);
		assert_int_equal(err.code, ERROR_USAGE);
	}
}

static void test_numbers_are_picked_by_position(void **state)
{
	(void)state;
	assert_int_equal(dotted_number("535.183.06", 0), 535);
	assert_int_equal(dotted_number("535.183.06", 2), 6);
	assert_int_equal(dotted_number("535", 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_are_compared_number_by_number),
		cmocka_unit_test(test_a_range_holds_what_it_says),
		cmocka_unit_test(test_what_is_no_range_is_refused),
		cmocka_unit_test(test_numbers_are_picked_by_position),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
