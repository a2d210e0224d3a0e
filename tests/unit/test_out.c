#include "tests/support/test.h"

#include "base/out.h"

static void test_control_characters_of_hostile_text_are_shown_not_sent(void **state)
{
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);

	(void)state;
	out_put_clean(file, "a\033[31m\x7f\xc2\x9b"
			    "b\r\n\tü");
	fclose(file);
	assert_string_equal(text, "a\\x1b[31m\\x7f\\x9b"
				  "b\\x0d\n\tü");
	free(text);
}

static void test_sizes_have_a_unit(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(out_size(734, buf), "734 B");
	assert_string_equal(out_size(3 * MIB / 2, buf), "1.5 MiB");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_control_characters_of_hostile_text_are_shown_not_sent),
		cmocka_unit_test(test_sizes_have_a_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
