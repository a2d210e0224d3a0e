#include "tests/support/test.h"

#include "builder/toolkit.h"

static struct stack stack_of(const char *section)
{
	cleanup_free char *text = xasprintf("gpuimg: 1\nname: a/b\ntag: \"1\"\n"
					    "platforms: [linux/amd64]\nstack: %s\n"
					    "sources: [ { id: pip, type: wheels, from: host } ]\n"
					    "stages: { runtime: { profile: base } }\n",
					    section);
	struct stack stack = { 0 };
	struct error err = { 0 };

	assert_ok(stack_parse(slice_str(text), "stack.yaml", &stack, &err), err);
	return stack;
}

static void test_the_newest_toolkit_that_fits_is_chosen(void **state)
{
	static const char *const cases[][2] = {
		{ "{ cuda: \"13.0\" }", "13.0" },
		{ "{ cuda: \"13.0.2\" }", "13.0" },
		{ "{ cuda: \"12.6.*\" }", "12.6" },
		{ "{ cuda: \">=12.4,<12.9\" }", "12.8" },
		{ "{ cuda: \"12\" }", "12.9" },
		{ "{ cuda: \"==13.1\" }", "13.1" },
		{ "{}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_stack struct stack stack = stack_of(cases[i][0]);
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		const char *got;

		assert_ok(toolkit_choose(&stack, &arena, &got, &err), err);
		if (cases[i][1])
			assert_string_equal(got, cases[i][1]);
		else
			assert_null(got);
	}
}

static void test_no_toolkit_that_fits_is_a_verdict(void **state)
{
	cleanup_stack struct stack stack = stack_of("{ cuda: \"99.9\" }");
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *got;

	(void)state;
	assert_int_equal(toolkit_choose(&stack, &arena, &got, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_contains(err.text, "99.9");
}

static char *wheels_of(const char *section, const char *cuda, enum stack_profile profile, bool math)
{
	cleanup_stack struct stack stack = stack_of(section);
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf b = { 0 };
	struct toolkit_packages packages = { 0 };
	struct error err = { 0 };

	assert_ok(toolkit_wheels(&stack, cuda, profile, math, &arena, &packages, &err), err);
	for (size_t i = 0; i < packages.len; i++)
		strbuf_addf(&b, "%s ", packages.items[i].spec);
	vec_release(&packages);
	return strbuf_steal(&b);
}

static void test_a_profile_takes_its_components_under_the_names_of_its_generation(void **state)
{
	cleanup_free char *base = wheels_of("{}", "13.0", PROFILE_BASE, false),
			  *older = wheels_of("{}", "12.6", PROFILE_BASE, false),
			  *runtime = wheels_of("{ cudnn: \"9\" }", "13.0", PROFILE_RUNTIME, false),
			  *devel = wheels_of("{}", "13.0", PROFILE_DEVEL, false),
			  *both = wheels_of("{}", "13.0", PROFILE_DEVEL, true);

	(void)state;
	assert_string_equal(base, "nvidia-cuda-runtime==13.0.* ");
	assert_string_equal(older, "nvidia-cuda-runtime-cu12==12.6.* ");
	assert_contains(runtime, "nvidia-cublas==13.1.0.3 ");
	assert_contains(runtime, "nvidia-cudnn-cu13==9.* ");
	assert_null(strstr(runtime, "nccl"));
	assert_contains(devel, "nvidia-cuda-nvcc==13.0.* ");
	assert_contains(devel, "nvidia-cuda-cccl==13.0.* ");
	assert_null(strstr(devel, "cublas"));
	assert_contains(both, "nvidia-cublas==");
}

static void test_a_toolkit_whose_math_libraries_are_not_known_says_so(void **state)
{
	cleanup_stack struct stack stack = stack_of("{ cuda: \"12.3\" }");
	cleanup_arena struct arena arena = { 0 };
	struct toolkit_packages packages = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(toolkit_wheels(&stack, "12.3", PROFILE_RUNTIME, false, &arena, &packages,
					&err),
			 -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "12.3");
	vec_release(&packages);
}

static void test_the_requirement_lets_in_what_the_floor_promises(void **state)
{
	static const char *const cases[][3] = {
		{ "{}", "13.0", "cuda>=13.0" },
		{ "{ driver: \">=580.65.06\" }", "13.0", "cuda>=13.0" },
		{ "{ driver: \">=580\" }", "13.0", "cuda>=13.0" },
		{ "{ driver: \">=580.65.06\" }", "13.1", "cuda>=13.1 driver>=580.65.06" },
		{ "{ driver: \">=535.183.06\" }", "12.6", "cuda>=12.6 driver>=535.183.06" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_stack struct stack stack = stack_of(cases[i][0]);
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		const char *got;

		assert_ok(toolkit_require(&stack, cases[i][1], &arena, &got, &err), err);
		assert_string_equal(got, cases[i][2]);
	}
}

static void test_a_floor_below_the_major_is_a_verdict(void **state)
{
	cleanup_stack struct stack stack = stack_of("{ driver: \">=535\" }");
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *got;

	(void)state;
	assert_int_equal(toolkit_require(&stack, "13.0", &arena, &got, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_contains(err.text, "580.65.06");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_newest_toolkit_that_fits_is_chosen),
		cmocka_unit_test(test_no_toolkit_that_fits_is_a_verdict),
		cmocka_unit_test(
			test_a_profile_takes_its_components_under_the_names_of_its_generation),
		cmocka_unit_test(test_a_toolkit_whose_math_libraries_are_not_known_says_so),
		cmocka_unit_test(test_the_requirement_lets_in_what_the_floor_promises),
		cmocka_unit_test(test_a_floor_below_the_major_is_a_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
