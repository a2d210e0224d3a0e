#include "tests/support/test.h"

#include "base/map.h"
#include "base/vec.h"

static void test_an_empty_map_has_nothing(void **state)
{
	cleanup_map struct map m = { 0 };

	(void)state;
	assert_null(map_get(&m, "x"));
	assert_false(map_has(&m, "x"));
	map_sorted(&m);
	assert_int_equal(m.len, 0);
}

static void test_a_key_may_have_no_value(void **state)
{
	cleanup_map struct map m = { 0 };

	(void)state;
	assert_null(map_put(&m, "x", NULL));
	assert_true(map_has(&m, "x"));
	assert_null(map_get(&m, "x"));
}

static void test_a_second_value_replaces_and_gives_the_first(void **state)
{
	cleanup_map struct map m = { 0 };
	int one, two;

	(void)state;
	map_put(&m, "x", &one);
	assert_ptr_equal(map_put(&m, "x", &two), &one);
	assert_ptr_equal(map_get(&m, "x"), &two);
	assert_int_equal(m.len, 1);
}

static void test_keys_are_copied(void **state)
{
	cleanup_map struct map m = { 0 };
	char key[] = "abc";
	int value;

	(void)state;
	map_put(&m, key, &value);
	key[0] = 'x';
	assert_ptr_equal(map_get(&m, "abc"), &value);
	assert_false(map_has(&m, key));
}

static void test_many_keys_are_found_before_and_after_sorting(void **state)
{
	cleanup_map struct map m = { 0 };
	enum { COUNT = 5000 };
	cleanup_free int *values = xcalloc(COUNT, sizeof(*values));

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		cleanup_free char *key = xasprintf("key-%zu", i * 7919 % COUNT);

		map_put(&m, key, &values[i * 7919 % COUNT]);
	}
	for (int sorted = 0; sorted < 2; sorted++) {
		for (size_t i = 0; i < COUNT; i++) {
			cleanup_free char *key = xasprintf("key-%zu", i);

			assert_ptr_equal(map_get(&m, key), &values[i]);
		}
		map_sorted(&m);
	}
}

static void test_entries_come_in_bytewise_order(void **state)
{
	static const char *const keys[] = { "b", "a/b", "a-b", "a", "", "é", "B" };
	static const char *const want[] = { "", "B", "a", "a-b", "a/b", "b", "é" };
	cleanup_map struct map m = { 0 };
	const struct map_entry *entries;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		map_put(&m, keys[i], NULL);
	entries = map_sorted(&m);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(entries[i].key, want[i]);
	map_put(&m, "aa", NULL);
	assert_string_equal(map_sorted(&m)[3].key, "a-b");
	assert_string_equal(map_sorted(&m)[5].key, "aa");
}

static void test_a_vector_grows_and_keeps_its_items(void **state)
{
	VEC(int) v = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		vec_push(&v, i);
	*vec_add(&v) += 5; /* zeroed */
	assert_int_equal(v.len, 1001);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(v.items[i], i);
	assert_int_equal(v.items[1000], 5);
	vec_release(&v);
	assert_null(v.items);
	vec_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_map_has_nothing),
		cmocka_unit_test(test_a_key_may_have_no_value),
		cmocka_unit_test(test_a_second_value_replaces_and_gives_the_first),
		cmocka_unit_test(test_keys_are_copied),
		cmocka_unit_test(test_many_keys_are_found_before_and_after_sorting),
		cmocka_unit_test(test_entries_come_in_bytewise_order),
		cmocka_unit_test(test_a_vector_grows_and_keeps_its_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
