#include "tests/support/test.h"

#include "base/fs.h"
#include "testkernels/image_ptx.h"

static bool serves(unsigned sm, char suffix, const char *target)
{
	const struct ptx_sample s = { .sm = sm, .suffix = suffix };

	return ptx_serves(&s, target);
}

static void test_plain_ptx_serves_its_own_and_later_architectures(void **state)
{
	(void)state;
	assert_true(serves(80, 0, "sm_80"));
	assert_true(serves(80, 0, "sm_120"));
	assert_true(serves(90, 0, "compute_90a"));
	assert_false(serves(90, 0, "sm_89"));
}

static void test_specific_ptx_serves_one_architecture_and_that_of_a_family_its_family(void **state)
{
	(void)state;
	assert_true(serves(90, 'a', "sm_90a"));
	assert_false(serves(90, 'a', "sm_100"));
	assert_true(serves(100, 'f', "sm_103"));
	assert_false(serves(100, 'f', "sm_110"));
	assert_false(serves(103, 'f', "sm_100"));
}

/* An index as image_ptx_find left it. */
static void find(const char *index, struct arena *arena, struct ptx_samples *out)
{
	char dir[] = "/tmp/gpuimg-ptx-XXXXXX";
	cleanup_free char *path = NULL;
	struct error err = { 0 };

	assert_non_null(mkdtemp(dir));
	path = fs_join(dir, "index");
	assert_int_equal(fs_write(AT_FDCWD, path, slice_str(index), 0644, &err), 0);
	assert_int_equal(image_ptx_find(AT_FDCWD, dir, arena, out, &err), 0);
	assert_int_equal(fs_remove_tree(AT_FDCWD, dir, &err), 0);
}

static void test_a_kept_index_is_read(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct ptx_samples s;

	(void)state;
	find("0.ptx\t90\ta\t8\t5\t/lib/a.so\n-\t120\t-\t9\t0\t/lib/b.so\n", &arena, &s);
	assert_int_equal(s.len, 2);
	assert_string_equal(s.items[0].file, "0.ptx");
	assert_string_equal(s.items[0].object, "/lib/a.so");
	assert_int_equal(s.items[0].sm, 90);
	assert_int_equal(s.items[0].suffix, 'a');
	assert_int_equal(s.items[0].major * 10 + s.items[0].minor, 85);
	assert_null(s.items[1].file);
	assert_int_equal(s.items[1].suffix, 0);
	vec_release(&s);
}

static void test_rows_of_an_index_that_are_none_are_passed_over(void **state)
{
	static const char *const bad[] = {
		"../plan\t90\t-\t8\t5\t/lib/a.so\n",
		"0.ptx\t90\t-\t8\t/lib/a.so\n",
		"0.ptx\tx\t-\t8\t5\t/lib/a.so\n",
		"0.ptx\t99999\t-\t8\t5\t/lib/a.so\n",
		"0.ptx\t90\t-\t8\t5\t\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct ptx_samples s;

		find(bad[i], &arena, &s);
		assert_int_equal(s.len, 0);
		vec_release(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_ptx_serves_its_own_and_later_architectures),
		cmocka_unit_test(
			test_specific_ptx_serves_one_architecture_and_that_of_a_family_its_family),
		cmocka_unit_test(test_a_kept_index_is_read),
		cmocka_unit_test(test_rows_of_an_index_that_are_none_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
