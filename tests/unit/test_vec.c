#include "tests/support/test.h"

#include "base/vec.h"

static int sum(const int *items, size_t len)
{
	int total = 0;

	for (size_t i = 0; i < len; i++)
		total += items[i];
	return total;
}

static void test_a_pushed_value_may_read_the_array(void **state)
{
	VEC(int) v = { 0 };

	(void)state;
	vec_reserve(&v, 4);
	memset(v.items, 0x55, v.cap * sizeof(*v.items)); /* what an unset element holds */
	vec_push(&v, 1);
	for (int i = 0; i < 20; i++) /* over several growths */
		vec_push(&v, sum(v.items, v.len));
	assert_int_equal(v.len, 21);
	assert_int_equal(v.items[0], 1);
	for (size_t i = 1; i < v.len; i++)
		assert_int_equal(v.items[i], 1 << (i - 1));
	vec_release(&v);
	assert_null(v.items);
	assert_int_equal(v.len, 0);
}

static void test_an_added_element_is_zero(void **state)
{
	VEC(int) v = { 0 };

	(void)state;
	vec_reserve(&v, 2);
	memset(v.items, 0x55, v.cap * sizeof(*v.items));
	*vec_add(&v) += 3;
	*vec_add(&v) += 4;
	assert_int_equal(v.items[0], 3);
	assert_int_equal(v.items[1], 4);
	vec_release(&v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pushed_value_may_read_the_array),
		cmocka_unit_test(test_an_added_element_is_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
