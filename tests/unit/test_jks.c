#include "tests/support/test.h"

#include "formats/jks.h"

static struct jks_entry entry(const char *alias, const char *der)
{
	return (struct jks_entry){ .alias = alias, .der = slice_str(der) };
}

static void test_a_store_is_what_java_writes(void **state)
{
	/* keytool accepts it; the seal is sha1sum's of the same bytes */
	static const uint8_t want[] = {
		0xfe, 0xed, 0xfe, 0xed, 0,   0,   0,   2, 0,    0,    0,    2,    0,    0,
		0,    2,    0,    1,    'a', 0,   0,   0, 0x49, 0x77, 0x38, 0x70, 0,    0,
		5,    'X',  '.',  '5',  '0', '9', 0,   0, 0,    3,    'o',  'n',  'e',  0,
		0,    0,    2,    0,    1,   'b', 0,   0, 0,    0x49, 0x77, 0x38, 0x70, 0,
		0,    5,    'X',  '.',  '5', '0', '9', 0, 0,    0,    3,    't',  'w',  'o',
	};
	cleanup_jks_entries struct jks_entries entries = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	vec_push(&entries, entry("b", "two"));
	vec_push(&entries, entry("a", "one"));
	assert_ok(jks_write(&entries, "changeit", 315532800, &out, &err), err);
	assert_int_equal(out.len, sizeof(want) + 20);
	assert_memory_equal(out.data, want, sizeof(want));
}

static void test_the_seal_depends_on_the_password(void **state)
{
	cleanup_jks_entries struct jks_entries entries = { 0 };
	cleanup_strbuf struct strbuf one = { 0 }, two = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(jks_write(&entries, "changeit", 0, &one, &err), err);
	assert_ok(jks_write(&entries, "another", 0, &two, &err), err);
	assert_int_equal(one.len, 32);
	assert_memory_equal(one.data, two.data, 12);
	assert_memory_not_equal(one.data + 12, two.data + 12, 20);
}

static void test_aliases_are_small_and_each_is_one_entrys(void **state)
{
	cleanup_jks_entries struct jks_entries entries = { 0 };
	cleanup_arena struct arena arena = { 0 };
	const char *want[] = { "\303\204b", "\303\204b-1", "\303\204b-2" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		const char *alias = jks_alias(&entries, slice_str("\303\204B"), &arena);

		assert_string_equal(alias, want[i]);
		vec_push(&entries, entry(alias, "x"));
	}
}

static void test_what_the_format_cannot_hold_is_refused(void **state)
{
	cleanup_jks_entries struct jks_entries entries = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	cleanup_free char *alias = xcalloc(65537, 1);
	struct error err = { 0 };

	(void)state;
	memset(alias, 'a', 65536);
	vec_push(&entries, entry(alias, "x"));
	assert_int_equal(jks_write(&entries, "changeit", 0, &out, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_store_is_what_java_writes),
		cmocka_unit_test(test_the_seal_depends_on_the_password),
		cmocka_unit_test(test_aliases_are_small_and_each_is_one_entrys),
		cmocka_unit_test(test_what_the_format_cannot_hold_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
