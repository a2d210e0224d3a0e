#include "tests/support/test.h"

static void test_the_cause_and_its_code_are_set(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_set(&err, ERROR_FORMAT, "%s is %d", "x", 3), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.text, "x is 3");
}

static void test_a_system_cause_keeps_its_number(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_set_errno(&err, ENOSPC, "write %s", "f"), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_string_equal(err.text, "write f: No space left on device");
}

static void test_a_new_cause_replaces_the_old_one(void **state)
{
	struct error err = { 0 };

	(void)state;
	error_set_errno(&err, ENOSPC, "x");
	error_set(&err, ERROR_LIMIT, "y (after %s)", err.text);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.text, "y (after x: No space left on device)");
}

static void test_context_goes_before_and_the_code_stays(void **state)
{
	struct error err = { 0 };

	(void)state;
	error_set(&err, ERROR_INTEGRITY, "cause");
	assert_int_equal(error_wrap(&err, "layer %d", 2), -1);
	error_wrap(&err, "build");
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_string_equal(err.text, "build: layer 2: cause");
}

static void test_when_it_is_full_the_cause_is_kept(void **state)
{
	struct error err = { 0 };
	char longest[600];

	(void)state;
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	error_set(&err, ERROR_FORMAT, "the cause");
	error_wrap(&err, "%s", longest);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_true(str_starts(err.text, "...xxx"));
	assert_true(str_ends(err.text, "xxx: the cause"));
}

static void test_the_largest_text_that_fits_is_whole(void **state)
{
	struct error err = { 0 };
	char text[sizeof(err.text)];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&err, ERROR_FORMAT, "%s", text);
	assert_string_equal(err.text, text);
}

static void test_exit_statuses_follow_from_codes(void **state)
{
	static const struct {
		enum error_code code;
		int status;
	} cases[] = {
		{ ERROR_NONE, 0 },      { ERROR_VERDICT, 1 }, { ERROR_USAGE, 2 },
		{ ERROR_FORMAT, 3 },    { ERROR_LIMIT, 3 },   { ERROR_INTEGRITY, 3 },
		{ ERROR_NOT_FOUND, 3 }, { ERROR_SYSTEM, 3 },  { ERROR_NETWORK, 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(error_exit_status(cases[i].code), cases[i].status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_cause_and_its_code_are_set),
		cmocka_unit_test(test_a_system_cause_keeps_its_number),
		cmocka_unit_test(test_a_new_cause_replaces_the_old_one),
		cmocka_unit_test(test_context_goes_before_and_the_code_stays),
		cmocka_unit_test(test_when_it_is_full_the_cause_is_kept),
		cmocka_unit_test(test_the_largest_text_that_fits_is_whole),
		cmocka_unit_test(test_exit_statuses_follow_from_codes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
