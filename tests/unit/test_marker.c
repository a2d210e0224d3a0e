#include "tests/support/test.h"

#include "formats/marker.h"

static const struct marker_environment target = { .python_version = "3.11",
						  .python_full_version = "3.11.2",
						  .platform_machine = "x86_64" };

static bool holds(const char *marker, const char *extra)
{
	struct error err = { 0 };
	bool out = false;

	assert_ok(marker_evaluate(slice_str(marker), &target, extra, &out, &err), err);
	return out;
}

static void test_markers_are_judged_for_the_target(void **state)
{
	static const struct {
		const char *marker;
		bool holds;
	} cases[] = {
		{ "", true },
		{ "python_version < '3.11'", false },
		{ "python_version < \"3.8\"", false }, /* not as texts */
		{ "python_version >= '3.9'", true },
		{ "'3.9' <= python_version", true },
		{ "python_version == '3.*'", true },
		{ "python_version != '3.11.*'", false },
		{ "python_version ~= '3.8'", true },
		{ "python_version ~= '3.8.1'", false },
		{ "python_version == '3.11.0'", true },
		{ "python_full_version < '3.11.0a7'", false },
		{ "python_full_version <= '3.11.2'", true },
		{ "python_full_version > '3.11.2'", false },
		{ "python_full_version > '3.11.2rc1'", true },
		{ "python_full_version < '3.11.2.post1'", true },
		{ "implementation_version >= '3.11'", true },
		{ "sys_platform == 'linux'", true },
		{ "sys_platform == 'win32' or os_name == 'nt'", false },
		{ "sys.platform == 'linux' and os.name == 'posix'", true },
		{ "platform_system == 'Linux' and platform_machine == 'x86_64'", true },
		{ "platform_machine in 'x86_64 AMD64'", true },
		{ "platform_machine not in 'aarch64'", true },
		{ "platform_machine   not  in 'x86_64'", false },
		{ "implementation_name != 'pypy'", true },
		{ "platform_python_implementation == 'CPython'", true },
		{ "os_name == 'nt' and os_name == 'nt' or os_name == 'posix'", true },
		{ "os_name == 'nt' and (os_name == 'nt' or os_name == 'posix')", false },
		{ "(((sys_platform=='linux')))", true },
		{ "sys_platform > 'darwin'", true },
		{ "platform_release >= '20'", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (holds(cases[i].marker, "") != cases[i].holds)
			fail_msg("%s", cases[i].marker);
	}
}

static void test_extras_are_compared_by_their_normal_names(void **state)
{
	(void)state;
	assert_false(holds("extra == 'ssh'", ""));
	assert_true(holds("extra == 'Two_Words'", "two-words"));
	assert_true(holds("extra != 'ssh'", ""));
	assert_true(holds("python_version >= '3' and 'ssh' == extra", "ssh"));
	assert_false(holds("extra < 'ssh'", ""));
}

static void test_bad_markers_are_refused(void **state)
{
	static const char *const bad[] = {
		"python_version",
		"python_version <",
		"python_version < 3.8",
		"'a' 'b'",
		"x == 'y'",
		"os_name == 'posix",
		"(os_name == 'posix'",
		"os_name == 'posix')",
		"os_name == 'a' and",
		"or os_name == 'a'",
		"os_name not 'a'",
		"os_name ~= 'x'",
		"os_name = 'x'",
		"'",
		"(",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct error err = { 0 };
		bool out;
		size_t len = strlen(bad[i]);
		cleanup_free char *copy = xcalloc(len, 1);

		memcpy(copy, bad[i], len);
		if (marker_evaluate(slice_of(copy, len), &target, "", &out, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_brackets_have_a_limit(void **state)
{
	char text[200] = "";
	struct error err = { 0 };
	bool out;

	(void)state;
	memset(text, '(', 100);
	assert_int_equal(marker_evaluate(slice_str(text), &target, "", &out, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

static void test_versions_are_ordered_as_pep_440_says(void **state)
{
	static const char *const rising[] = { "1.dev0", "1a1.dev2", "1a1",     "1.a2",  "1b1",
					      "1rc1",   "1",        "1.post1", "1.0.1", "1.1.dev1",
					      "1.1",    "1.10",     "2",       "1!0" };

	(void)state;
	for (size_t i = 0; i + 1 < ARRAY_LEN(rising); i++) {
		bool valid;

		if (!marker_version_meets(slice_str(rising[i]), slice_str("<"),
					  slice_str(rising[i + 1]), &valid) ||
		    !valid)
			fail_msg("%s < %s", rising[i], rising[i + 1]);
	}
}

static void test_requirements_are_taken_apart(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct requirement r;

	(void)state;
	assert_ok(requirement_parse(slice_str("Foo.Bar[B_c, d] (>=1,<2) ; extra == 'x'"), &arena,
				    &r, &err),
		  err);
	assert_string_equal(r.name, "foo-bar");
	assert_int_equal(r.extra_count, 2);
	assert_string_equal(r.extras[0], "b-c");
	assert_string_equal(r.extras[1], "d");
	assert_true(slice_is(r.marker, "extra == 'x'"));
	assert_ok(requirement_parse(slice_str("a"), &arena, &r, &err), err);
	assert_int_equal(r.marker.len, 0);
	assert_ok(requirement_parse(slice_str("a@ https://x.example.org/a;b.whl ; os_name=='nt'"),
				    &arena, &r, &err),
		  err);
	assert_true(slice_is(r.marker, "os_name=='nt'"));
}

static void test_what_is_no_requirement_is_refused(void **state)
{
	static const char *const bad[] = { "", "-x", "a b", "a[b", "[x]", "a/b", ">=1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct requirement r;

		if (requirement_parse(slice_str(bad[i]), &arena, &r, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_a_nul_byte_is_no_sign_of_a_requirement(void **state)
{
	static const char text[] = "a\0b";
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct requirement r;

	(void)state;
	assert_int_equal(requirement_parse(slice_of(text, 3), &arena, &r, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_markers_are_judged_for_the_target),
		cmocka_unit_test(test_extras_are_compared_by_their_normal_names),
		cmocka_unit_test(test_bad_markers_are_refused),
		cmocka_unit_test(test_brackets_have_a_limit),
		cmocka_unit_test(test_versions_are_ordered_as_pep_440_says),
		cmocka_unit_test(test_requirements_are_taken_apart),
		cmocka_unit_test(test_what_is_no_requirement_is_refused),
		cmocka_unit_test(test_a_nul_byte_is_no_sign_of_a_requirement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
