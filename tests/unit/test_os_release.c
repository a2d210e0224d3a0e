#include "tests/support/test.h"

#include "formats/os_release.h"

static void test_values_lose_their_quotes_and_the_first_of_a_key_counts(void **state)
{
	const struct slice text = slice_str("# ID=no\nNAME='A B'\n ID=debian\nVERSION_ID=\"12\"\n"
					    "ID=other\nEMPTY=\nOPEN=\"x\nnothing\n");
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	assert_string_equal(os_release_value(&arena, text, "ID"), "debian");
	assert_string_equal(os_release_value(&arena, text, "NAME"), "A B");
	assert_string_equal(os_release_value(&arena, text, "VERSION_ID"), "12");
	assert_string_equal(os_release_value(&arena, text, "EMPTY"), "");
	assert_string_equal(os_release_value(&arena, text, "OPEN"), "\"x");
	assert_string_equal(os_release_value(&arena, text, "nothing"), "");
	assert_string_equal(os_release_value(&arena, text, "ABSENT"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_lose_their_quotes_and_the_first_of_a_key_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
