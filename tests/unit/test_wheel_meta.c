#include "tests/support/test.h"

#include "formats/wheel_meta.h"

static void test_names_are_normalized_as_pypa_says(void **state)
{
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	assert_string_equal(wheel_normalize(slice_str("NVIDIA_cuda.Runtime"), &arena),
			    "nvidia-cuda-runtime");
	assert_string_equal(wheel_normalize(slice_str("a--_.b"), &arena), "a-b");
}

static void test_a_file_name_gives_its_parts(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct wheel_name n;

	(void)state;
	assert_ok(wheel_name_parse("torch-2.7.1+cu128-1-cp311-cp311-manylinux_2_28_x86_64.whl",
				   &arena, &n, &err),
		  err);
	assert_string_equal(n.distribution, "torch");
	assert_string_equal(n.version, "2.7.1+cu128");
	assert_string_equal(n.python, "cp311");
	assert_string_equal(n.abi, "cp311");
	assert_string_equal(n.platform, "manylinux_2_28_x86_64");
}

static void test_other_file_names_are_refused(void **state)
{
	static const char *const bad[] = { "a-1.zip",
					   "a-1-py3-none.whl",
					   "a-1-2-3-py3-none-any.whl",
					   "a--1-py3-none-any.whl",
					   ".whl",
					   "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct wheel_name n;

		assert_int_equal(wheel_name_parse(bad[i], &arena, &n, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

#define EMPTY_SHA256 "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"

static int parse(const char *text, struct arena *arena, struct wheel_record *out, struct error *err)
{
	return wheel_record_parse(slice_str(text), arena, out, err);
}

static void test_record_rows_are_read_and_found(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct wheel_record r = { 0 };
	struct error err = { 0 };
	const struct wheel_record_row *row;
	struct digest empty = digest_of((struct slice){ 0 });

	(void)state;
	assert_ok(parse("b/x.py," EMPTY_SHA256 ",0\r\n"
			"\"a,\"\"q\"\".py\"," EMPTY_SHA256 ",0\n"
			"p.dist-info/RECORD,,\n",
			&arena, &r, &err),
		  err);
	assert_int_equal(r.len, 3);
	row = wheel_record_find(&r, "a,\"q\".py");
	assert_non_null(row);
	assert_true(row->has_digest && digest_equal(&row->digest, &empty));
	assert_int_equal(row->size, 0);
	assert_false(wheel_record_find(&r, "p.dist-info/RECORD")->has_digest);
	assert_null(wheel_record_find(&r, "b/y.py"));
	vec_release(&r);
}

static void test_a_nul_byte_in_a_record_is_refused(void **state)
{
	static const char path[] = "a\0b,,\n", digest[] = "a," EMPTY_SHA256 "\0x,\n";
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {
		{ path, sizeof(path) - 1 },
		{ digest, sizeof(digest) - 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct wheel_record r = { 0 };
		struct error err = { 0 };

		assert_int_equal(wheel_record_parse(slice_of(bad[i].text, bad[i].len), &arena, &r,
						    &err),
				 -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		vec_release(&r);
	}
}

static void test_hostile_record_rows_are_refused(void **state)
{
	static const char *const bad[] = {
		"../x,,\n",
		"/etc/passwd,,\n",
		"a//b,,\n",
		"a\\b,,\n",
		",,\n",
		"a\n",
		"a,,,\n",
		"a,md5=abc,3\n",
		"a,sha256=short,3\n",
		"a," EMPTY_SHA256 ",x\n",
		"\"a,,\n",
		"\"a\"b,,\n",
		"a,,\na,,\n",
		"a/../b,,\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct wheel_record r = { 0 };
		struct error err = { 0 };

		if (parse(bad[i], &arena, &r, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(err.code, ERROR_FORMAT);
		vec_release(&r);
	}
}

static void test_what_is_written_is_read_again(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct digest d = digest_of(slice_str("x"));
	struct wheel_record r = { 0 };
	struct error err = { 0 };

	(void)state;
	wheel_record_line(&text, "a \"b\",c", &d, 1);
	wheel_record_line(&text, "z/RECORD", NULL, 0);
	assert_ok(parse(strbuf_text(&text), &arena, &r, &err), err);
	assert_int_equal(r.len, 2);
	assert_string_equal(r.items[0].path, "a \"b\",c");
	assert_true(digest_equal(&r.items[0].digest, &d));
	vec_release(&r);
}

static void test_entry_points_become_scripts(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf script = { 0 };
	struct wheel_entry_points points = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(wheel_entry_points_parse(slice_str("[other]\nx = not a point\n"
						     "[console_scripts]\n"
						     "zed = pkg.mod:main.run [extra]\n"
						     "# comment\nabc=m:f\n"),
					   &arena, &points, &err),
		  err);
	assert_int_equal(points.len, 2);
	assert_string_equal(points.items[0].name, "abc");
	wheel_script(&script, "/usr/bin/python3.11", &points.items[1]);
	assert_string_equal(strbuf_text(&script), "#!/usr/bin/python3.11\n"
						  "import sys\n"
						  "from pkg.mod import main\n"
						  "if __name__ == \"__main__\":\n"
						  "    sys.exit(main.run())\n");
	vec_release(&points);
}

static void test_entry_points_that_would_write_elsewhere_are_refused(void **state)
{
	static const char *const bad[] = { "../x = m:f", "a/b = m:f",         "x = m", "x = :f",
					   "x = m:f g",  "x = m;import os:f", "= m:f", ".. = m:f" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_free char *text = xasprintf("[console_scripts]\n%s\n", bad[i]);
		struct wheel_entry_points points = { 0 };
		struct error err = { 0 };

		if (wheel_entry_points_parse(slice_str(text), &arena, &points, &err) == 0)
			fail_msg("accepted: %s", bad[i]);
		vec_release(&points);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_normalized_as_pypa_says),
		cmocka_unit_test(test_a_file_name_gives_its_parts),
		cmocka_unit_test(test_other_file_names_are_refused),
		cmocka_unit_test(test_record_rows_are_read_and_found),
		cmocka_unit_test(test_hostile_record_rows_are_refused),
		cmocka_unit_test(test_a_nul_byte_in_a_record_is_refused),
		cmocka_unit_test(test_what_is_written_is_read_again),
		cmocka_unit_test(test_entry_points_become_scripts),
		cmocka_unit_test(test_entry_points_that_would_write_elsewhere_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
