#include "tests/support/test.h"

#include "testkernels/probe_lines.h"

static void parse(const char *text, struct probe_lines *out)
{
	probe_lines_parse(slice_str(text), out);
}

static void test_a_whole_run_is_brought_together(void **state)
{
	cleanup_probe_lines struct probe_lines lines = { 0 };
	const struct probe_outcome *o;

	(void)state;
	parse("{\"probe\":1,\"libc\":\"glibc 2.36\",\"uid\":0}\n"
	      "{\"test\":\"a\",\"event\":\"start\"}\n"
	      "{\"test\":\"a\",\"event\":\"result\",\"status\":\"pass\",\"library\":\"/l\","
	      "\"version\":\"13.0\"}\n"
	      "{\"test\":\"a\",\"event\":\"end\",\"exit\":0,\"signal\":0,\"timed_out\":0,\"ms\":12}"
	      "\n"
	      "{\"event\":\"done\"}\n",
	      &lines);
	o = probe_lines_find(&lines, "a");
	assert_non_null(o);
	assert_true(o->started && o->has_result && o->ended && lines.done);
	assert_int_equal(o->status, TEST_PASS);
	assert_int_equal(o->duration_ms, 12);
	assert_string_equal(o->library, "/l");
	assert_string_equal(json_string_value(json_object_get(o->more, "version")), "13.0");
	assert_string_equal(json_string_value(json_object_get(lines.hello, "libc")), "glibc 2.36");
	assert_int_equal(lines.dropped, 0);
}

static void test_a_test_without_a_result_has_only_its_end(void **state)
{
	cleanup_probe_lines struct probe_lines lines = { 0 };
	const struct probe_outcome *o;

	(void)state;
	parse("{\"test\":\"a\",\"event\":\"end\",\"exit\":-1,\"signal\":11,\"timed_out\":0,\"ms\":"
	      "1,"
	      "\"last_words\":\"x\"}\n",
	      &lines);
	o = probe_lines_find(&lines, "a");
	assert_true(o && o->ended && !o->has_result);
	assert_int_equal(o->signal, 11);
	assert_string_equal(o->last_words, "x");
}

static void test_the_first_result_counts(void **state)
{
	cleanup_probe_lines struct probe_lines lines = { 0 };

	(void)state;
	parse("{\"test\":\"a\",\"event\":\"result\",\"status\":\"fail\"}\n"
	      "{\"test\":\"a\",\"event\":\"result\",\"status\":\"pass\"}\n",
	      &lines);
	assert_int_equal(probe_lines_find(&lines, "a")->status, TEST_FAIL);
	assert_int_equal(lines.dropped, 1);
}

static void test_lines_of_another_form_are_dropped(void **state)
{
	static const char *const bad[] = {
		"not json",
		"[]",
		"{",
		"{\"test\":\"a\"}",
		"{\"test\":\"\",\"event\":\"start\"}",
		"{\"test\":5,\"event\":\"start\"}",
		"{\"test\":\"a\",\"event\":\"result\"}",
		"{\"test\":\"a\",\"event\":\"result\",\"status\":\"error\"}",
		"{\"test\":\"a\",\"event\":\"result\",\"status\":7}",
		"{\"test\":\"a\",\"event\":\"end\",\"exit\":0,\"signal\":0,\"ms\":-1}",
		"{\"test\":\"a\",\"event\":\"end\",\"exit\":999,\"signal\":0,\"ms\":1}",
		"{\"test\":\"a\",\"event\":\"unknown\"}",
		"{\"event\":\"start\"}",
		"{\"test\":\"a\\u0000b\",\"event\":\"start\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		cleanup_probe_lines struct probe_lines lines = { 0 };

		parse(bad[i], &lines);
		assert_int_equal(lines.dropped, 1);
	}
}

static void test_a_line_that_is_too_long_is_dropped(void **state)
{
	cleanup_probe_lines struct probe_lines lines = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	strbuf_adds(&text, "{\"test\":\"");
	for (size_t i = 0; i < PROBE_LINE_MAX; i++)
		strbuf_addc(&text, 'a');
	strbuf_adds(&text, "\",\"event\":\"start\"}\n{\"test\":\"b\",\"event\":\"start\"}\n");
	probe_lines_parse(strbuf_slice(&text), &lines);
	assert_int_equal(lines.dropped, 1);
	assert_int_equal(lines.outcomes.len, 1);
}

static void test_the_number_of_tests_is_bounded(void **state)
{
	cleanup_probe_lines struct probe_lines lines = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	for (size_t i = 0; i < PROBE_TESTS_MAX + 10; i++)
		strbuf_addf(&text, "{\"test\":\"t%zu\",\"event\":\"start\"}\n", i);
	probe_lines_parse(strbuf_slice(&text), &lines);
	assert_int_equal(lines.outcomes.len, PROBE_TESTS_MAX);
	assert_int_equal(lines.dropped, 10);
}

static void test_a_cut_line_at_the_end_is_dropped(void **state)
{
	cleanup_probe_lines struct probe_lines lines = { 0 };

	(void)state;
	parse("{\"test\":\"a\",\"event\":\"start\"}\n{\"test\":\"a\",\"ev", &lines);
	assert_int_equal(lines.dropped, 1);
	assert_true(probe_lines_find(&lines, "a")->started);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_run_is_brought_together),
		cmocka_unit_test(test_a_test_without_a_result_has_only_its_end),
		cmocka_unit_test(test_the_first_result_counts),
		cmocka_unit_test(test_lines_of_another_form_are_dropped),
		cmocka_unit_test(test_a_line_that_is_too_long_is_dropped),
		cmocka_unit_test(test_the_number_of_tests_is_bounded),
		cmocka_unit_test(test_a_cut_line_at_the_end_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
