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

static struct solved_stack solve(const struct stack *stack, struct arena *arena)
{
	struct solved_stack solved;
	struct error err = { 0 };

	assert_ok(solvable_check(stack, NULL, NULL, NULL, arena, &solved, &err), err);
	return solved;
}

static void test_what_the_solver_chose_is_what_is_locked(void **state)
{
	static const struct {
		const char *section, *cuda, *release;
		bool exact;
	} cases[] = {
		{ "{ cuda: \"13.0\" }", "13.0", "13.0.3", false },
		{ "{ cuda: \"13.0.2\" }", "13.0", "13.0.2", true },
		{ "{ cuda: \"==12.6.2\" }", "12.6", "12.6.2", true },
		{ "{ cuda: \"12.6.*\" }", "12.6", "12.6.3", false },
		{ "{ cuda: \">=12.4,<12.9\" }", "12.8", "12.8.2", false },
		{ "{ cuda: \"12\" }", "12.9", "12.9.2", false },
		{ "{}", NULL, NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_stack struct stack stack = stack_of(cases[i].section);
		cleanup_arena struct arena arena = { 0 };
		struct solved_stack got = solve(&stack, &arena);

		assert_true(
			str_equal(got.cuda ? got.cuda : "", cases[i].cuda ? cases[i].cuda : ""));
		assert_int_equal(got.exact, cases[i].exact);
		if (got.release)
			assert_string_equal(got.release, cases[i].release);
	}
}

static void test_no_toolkit_that_fits_is_a_verdict(void **state)
{
	cleanup_stack struct stack stack = stack_of("{ cuda: \"99.9\" }");
	cleanup_arena struct arena arena = { 0 };
	struct solved_stack solved;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(solvable_check(&stack, NULL, NULL, NULL, &arena, &solved, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_contains(err.text, "99.9");
}

static void test_the_compatibility_package_is_taken_as_the_stack_says(void **state)
{
	static const char *const cases[][2] = {
		{ "{ cuda: \"12.6\", driver: \">=560\" }", "" },
		{ "{ cuda: \"12.6\" }", "" },
		{ "{ cuda: \"13.0\", driver: \">=535.183.06\" }", "13.0" },
		{ "{ cuda: \"12.6\", compat: always }", "12.6" },
		{ "{ cuda: \"13.0\", driver: \">=580.65.06\", compat: never }", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_stack struct stack stack = stack_of(cases[i][0]);
		cleanup_arena struct arena arena = { 0 };
		struct solved_stack got = solve(&stack, &arena);

		assert_string_equal(got.compat ? got.compat : "", cases[i][1]);
		if (got.compat)
			assert_string_equal(got.compat_serving.items[0], got.compat);
	}
}

/* The wheels of a profile; `exact`: the manifest names the release "13.0.2". */
static char *wheels_of(const char *section, const char *release, bool exact,
		       enum stack_profile profile, bool math)
{
	cleanup_toolkit_components struct toolkit_components components = { 0 };
	cleanup_stack struct stack stack = stack_of(section);
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *minor = xstrndup(release, strlen(release) - 2);
	struct solved_stack solved = { .cuda = minor, .release = release, .exact = exact };
	struct strbuf b = { 0 };
	struct error err = { 0 };

	assert_ok(toolkit_components(&stack, &solved, profile, math, &arena, &components, &err),
		  err);
	for (size_t i = 0; i < components.len; i++) {
		const char *spec;

		if (!components.items[i].wheel)
			continue;
		assert_ok(toolkit_requirement(&stack, &solved, &components.items[i], &arena, &spec,
					      &err),
			  err);
		strbuf_addf(&b, "%s ", spec);
	}
	return strbuf_steal(&b);
}

static void test_a_profile_takes_its_components_under_the_names_of_its_generation(void **state)
{
	cleanup_free char *base = wheels_of("{}", "13.0.2", false, PROFILE_BASE, false),
			  *older = wheels_of("{}", "12.6.3", false, PROFILE_BASE, false),
			  *runtime = wheels_of("{ cudnn: \"9\" }", "13.0.2", false, PROFILE_RUNTIME,
					       false),
			  *devel = wheels_of("{}", "13.0.2", false, PROFILE_DEVEL, false),
			  *both = wheels_of("{}", "13.0.2", false, PROFILE_DEVEL, true);

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

static void test_a_release_that_is_named_is_taken_to_the_last_number(void **state)
{
	cleanup_free char *base = wheels_of("{}", "13.0.0", true, PROFILE_BASE, false),
			  *math = wheels_of("{}", "12.6.1", true, PROFILE_RUNTIME, false);

	(void)state;
	assert_string_equal(base, "nvidia-cuda-runtime==13.0.48 ");
	assert_contains(math, "nvidia-cuda-runtime-cu12==12.6.68 ");
	assert_contains(math, "nvidia-cublas-cu12==12.6.1.4 ");
}

static void test_a_component_with_a_number_of_its_own_is_taken_by_it(void **state)
{
	cleanup_free char *devel = wheels_of("{}", "13.5.0", false, PROFILE_DEVEL, false);

	(void)state;
	assert_contains(devel, "nvidia-cuda-cccl==13.3.5.0.6 ");
	assert_contains(devel, "nvidia-cuda-nvcc==13.5.* ");
}

/* The names of a component in repositories of a kind, with blanks between. */
static char *names_of(const char *id, const char *kind, const char *cuda, const char *cudnn,
		      enum stack_profile profile)
{
	cleanup_toolkit_components struct toolkit_components components = { 0 };
	cleanup_stack struct stack stack = stack_of("{ cudnn: \">=8\", nccl: \"2\" }");
	cleanup_arena struct arena arena = { 0 };
	struct solved_stack solved = { .cuda = cuda, .cudnn = cudnn };
	struct strbuf b = { 0 };
	struct error err = { 0 };

	strbuf_adds(&b, "");
	assert_ok(toolkit_components(&stack, &solved, profile, true, &arena, &components, &err),
		  err);
	for (size_t i = 0; i < components.len; i++) {
		struct toolkit_names names;

		if (!str_equal(components.items[i].id, id))
			continue;
		assert_ok(toolkit_names(&components.items[i], kind, cuda, profile, &arena, &names,
					&err),
			  err);
		for (size_t k = 0; k < names.count; k++)
			strbuf_addf(&b, "%s%s", k ? " " : "", names.items[k]);
	}
	return strbuf_steal(&b);
}

static void test_each_kind_of_repository_has_its_own_names(void **state)
{
	static const struct {
		const char *id, *kind, *cuda, *cudnn;
		enum stack_profile profile;
		const char *names;
	} cases[] = {
		{ "cudart", "deb", "12.6", NULL, PROFILE_RUNTIME, "cuda-cudart-12-6" },
		{ "cublas", "deb", "12.6", NULL, PROFILE_DEVEL,
		  "libcublas-12-6 libcublas-dev-12-6" },
		{ "cublas", "rpm", "13.0", NULL, PROFILE_DEVEL,
		  "libcublas-13-0 libcublas-devel-13-0" },
		{ "cudnn", "deb", "12.6", "9.5.1.17", PROFILE_RUNTIME, "libcudnn9-cuda-12" },
		{ "cudnn", "deb", "12.6", "8.9.7.29", PROFILE_DEVEL, "libcudnn8 libcudnn8-dev" },
		{ "cudnn", "rpm", "13.0", "9.14.0.64", PROFILE_DEVEL,
		  "libcudnn9-cuda-13 libcudnn9-devel-cuda-13" },
		{ "nccl", "deb", "12.6", NULL, PROFILE_DEVEL, "libnccl2 libnccl-dev" },
		{ "nccl", "rpm", "12.6", NULL, PROFILE_RUNTIME, "libnccl" },
		{ "cccl", "deb", "13.2", NULL, PROFILE_DEVEL, "cuda-cccl-13-2" },
		{ "cccl", "rpm", "13.3", NULL, PROFILE_DEVEL, "cccl-13-3" },
		{ "nvvm", "deb", "13.0", NULL, PROFILE_DEVEL, "libnvvm-13-0" },
		{ "nvvm", "deb", "12.6", NULL, PROFILE_DEVEL, "" }, /* a part of nvcc */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *got = names_of(cases[i].id, cases[i].kind, cases[i].cuda,
						  cases[i].cudnn, cases[i].profile);

		assert_string_equal(got, cases[i].names);
	}
}

static void test_a_toolkit_whose_math_libraries_are_not_known_says_so(void **state)
{
	cleanup_toolkit_components struct toolkit_components components = { 0 };
	cleanup_stack struct stack stack = stack_of("{}");
	cleanup_arena struct arena arena = { 0 };
	struct solved_stack solved = { .cuda = "12.7", .release = "12.7.0" };
	struct error err = { 0 };
	const char *spec;
	int rc = 0;

	(void)state;
	assert_ok(toolkit_components(&stack, &solved, PROFILE_RUNTIME, false, &arena, &components,
				     &err),
		  err);
	for (size_t i = 0; i < components.len && rc == 0; i++)
		rc = toolkit_requirement(&stack, &solved, &components.items[i], &arena, &spec,
					 &err);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "12.7.0");
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

		assert_ok(toolkit_require(&stack, cases[i][1], false, &arena, &got, &err), err);
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
	assert_int_equal(toolkit_require(&stack, "13.0", false, &arena, &got, &err), -1);
	assert_int_equal(err.code, ERROR_VERDICT);
	assert_contains(err.text, "580.65.06");
}

static void test_the_hosts_of_the_compatibility_package_are_let_in(void **state)
{
	cleanup_stack struct stack stack = stack_of("{ driver: \">=535.183.06\" }");
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *got;

	(void)state;
	assert_ok(toolkit_require(&stack, "13.0", true, &arena, &got, &err), err);
	assert_contains(got, "cuda>=13.0");
	assert_contains(got, "brand=tesla,driver>=535");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_solver_chose_is_what_is_locked),
		cmocka_unit_test(test_no_toolkit_that_fits_is_a_verdict),
		cmocka_unit_test(
			test_a_profile_takes_its_components_under_the_names_of_its_generation),
		cmocka_unit_test(test_a_toolkit_whose_math_libraries_are_not_known_says_so),
		cmocka_unit_test(test_the_requirement_lets_in_what_the_floor_promises),
		cmocka_unit_test(test_the_compatibility_package_is_taken_as_the_stack_says),
		cmocka_unit_test(test_a_release_that_is_named_is_taken_to_the_last_number),
		cmocka_unit_test(test_a_component_with_a_number_of_its_own_is_taken_by_it),
		cmocka_unit_test(test_each_kind_of_repository_has_its_own_names),
		cmocka_unit_test(test_the_hosts_of_the_compatibility_package_are_let_in),
		cmocka_unit_test(test_a_floor_below_the_major_is_a_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
