#include "tests/support/test.h"

#include "base/strbuf.h"
#include "formats/yaml.h"

static struct node parse(struct arena *arena, const char *text)
{
	struct error err = { 0 };
	struct node top;

	assert_ok(yaml_parse_json(slice_str(text), "t.json", arena, &top, &err), err);
	return top;
}

static void check_refused(const char *text, enum error_code code, const char *want)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct node top;

	assert_int_equal(yaml_parse_json(slice_str(text), "t.json", &arena, &top, &err), -1);
	assert_int_equal(err.code, code);
	assert_contains(err.text, want);
}

static void test_values_know_their_line_and_column(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, "{\t\"a\" : 1,\r\n  \"é\":{\"c\" :[ \"x\",{} ] } }\n");
	const struct node *list = node_get(node_get(&top, "é"), "c");

	(void)state;
	assert_int_equal(top.pairs[0].key.column, 3);
	assert_int_equal(node_get(&top, "a")->column, 9);
	assert_int_equal(list->line, 2);
	assert_int_equal(list->column, 13); /* characters, not bytes */
	assert_int_equal(list->items[1].type, NODE_MAP);
	assert_int_equal(list->items[1].column, 19);
}

static void test_only_texts_are_quoted(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, "[13.0,-1e5,true,false,null,\"true\",\"\"]");
	static const char *const want[] = { "13.0", "-1e5", "true", "false", "", "true", "" };

	(void)state;
	assert_int_equal(top.count, 7);
	for (size_t i = 0; i < top.count; i++) {
		assert_string_equal(top.items[i].text, want[i]);
		assert_int_equal(top.items[i].quoted, i > 4);
		assert_int_equal(top.items[i].type, i == 4 ? NODE_NULL : NODE_SCALAR);
	}
}

static void test_escapes_are_resolved(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top =
		parse(&arena, "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00E9\\u20ac\\ud83d\\uDE00\"]");

	(void)state;
	assert_string_equal(top.items[0].text, "\"\\/\b\f\n\r\té€😀");
}

static void test_line_separators_in_a_text_are_kept(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, "[\"a\xe2\x80\xa8"
					"b\xc2\x85"
					"c\x7f\"]");

	(void)state;
	assert_string_equal(top.items[0].text, "a\xe2\x80\xa8"
					       "b\xc2\x85"
					       "c\x7f");
}

static void test_a_bare_value_is_a_document(void **state)
{
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	assert_string_equal(parse(&arena, " 12 ").text, "12");
	assert_string_equal(parse(&arena, "\"x\"").text, "x");
}

static void test_what_is_not_json_is_refused(void **state)
{
	(void)state;
	check_refused("a: 1\n", ERROR_FORMAT, "t.json:1:1: not valid JSON");
	check_refused("{\n\"a\":1,\n}", ERROR_FORMAT, "t.json:3:1: not valid JSON");
	check_refused("{\"a\":1,\n\"a\":2}", ERROR_FORMAT, "t.json:2:3: not valid JSON: duplicate");
	check_refused("{} {}", ERROR_FORMAT, "t.json:1:4: not valid JSON");
	check_refused("", ERROR_FORMAT, "t.json:1:1: not valid JSON");
	check_refused("[NaN]", ERROR_FORMAT,
		      "t.json:1:4: not valid JSON: invalid token near 'NaN'");
	check_refused("[1e]", ERROR_FORMAT, "not valid JSON");
	check_refused("{\"a\": \"\xff\"}", ERROR_FORMAT, "not valid JSON");
}

static void test_limits_hold(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	for (int i = 0; i < 66; i++)
		strbuf_addc(&text, '[');
	for (int i = 0; i < 66; i++)
		strbuf_addc(&text, ']');
	check_refused(text.data, ERROR_LIMIT, "t.json:1:66: nested deeper than 64 levels");
	strbuf_truncate(&text, 0);
	strbuf_addc(&text, '[');
	for (int i = 0; i < 200000; i++)
		strbuf_adds(&text, "1,");
	strbuf_adds(&text, "1]");
	check_refused(text.data, ERROR_LIMIT, "more than 200000 values");
}

static void test_no_truncation_is_read_beyond_its_end(void **state)
{
	static const char text[] =
		"{\"a\":[1,true,null,\"\\u00e9\\ud83d\\ude00\"],\"b\":{\"c\":-1.5}}";

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		cleanup_free uint8_t *copy = xmemdup(text, len);
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct node top;

		assert_int_equal(yaml_parse_json(slice_of(copy, len), "t", &arena, &top, &err), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_know_their_line_and_column),
		cmocka_unit_test(test_only_texts_are_quoted),
		cmocka_unit_test(test_escapes_are_resolved),
		cmocka_unit_test(test_line_separators_in_a_text_are_kept),
		cmocka_unit_test(test_a_bare_value_is_a_document),
		cmocka_unit_test(test_what_is_not_json_is_refused),
		cmocka_unit_test(test_limits_hold),
		cmocka_unit_test(test_no_truncation_is_read_beyond_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
