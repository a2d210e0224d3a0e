#include "tests/support/test.h"

#include "formats/json.h"

static json_t *parse(const char *text)
{
	struct error err = { 0 };
	json_t *value = NULL;

	assert_ok(json_parse(slice_str(text), &value, &err), err);
	return value;
}

static void check_refused(struct slice text, const char *want)
{
	struct error err = { 0 };
	json_t *value = NULL;

	assert_int_equal(json_parse(text, &value, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, want);
	assert_null(value);
}

static void test_bad_documents_are_refused_with_line_and_column(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", "line 1, column 1: not valid JSON: " },
		{ "{\"a\":1,\"a\":2}", "line 1, column 10: not valid JSON: duplicate object key" },
		{ "[1]\nx", "line 2, column 1: not valid JSON: end of file expected" },
		{ "[1,]", "line 1, column 4" },
		{ "{'a':1}", "line 1, column 2" },
		{ "[01]", "line 1, column 2" },
		{ "[NaN]", "not valid JSON" },
		{ "[\"\\u0000\"]", "not valid JSON" },
		{ "{\"\\u0000\":1}", "not valid JSON" },
		{ "[\"\xff\"]", "not valid JSON" },
		{ "[\"\\ud800\"]", "not valid JSON" },
		{ "[\"a\nb\"]", "not valid JSON" },
		{ "[99999999999999999999]", "not valid JSON" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(slice_str(cases[i].text), cases[i].want);
}

static void test_a_nul_byte_is_refused(void **state)
{
	(void)state;
	check_refused(slice_of("[1]\0", 4), "not valid JSON");
	check_refused(slice_of("[\"\0\"]", 5), "not valid JSON");
	check_refused(slice_of("[1,\n2.5\0]", 9), "line 2, column 4: not valid JSON: a NUL byte");
	check_refused(slice_of("[true\0]", 7), "line 1, column 6: not valid JSON: a NUL byte");
	check_refused(slice_of("\0", 1), "line 1, column 1: not valid JSON: a NUL byte");
}

static void test_control_characters_do_not_reach_the_message(void **state)
{
	struct error err = { 0 };
	json_t *value = NULL;

	(void)state;
	assert_int_equal(json_parse(slice_str("[\x1b[31m]"), &value, &err), -1);
	assert_null(strchr(err.text, 0x1b));
}

static void test_nesting_beyond_the_limit_is_refused(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	json_t *value;

	(void)state;
	for (int i = 0; i < 2048; i++)
		strbuf_addc(&text, '[');
	for (int i = 0; i < 2048; i++)
		strbuf_addc(&text, ']');
	value = parse(text.data);
	json_decref(value);
	strbuf_truncate(&text, 0);
	for (int i = 0; i < 2049; i++)
		strbuf_addc(&text, '[');
	check_refused(strbuf_slice(&text), "depth");
}

static void test_the_named_form_puts_the_name_first(void **state)
{
	struct error err = { 0 };
	json_t *value = NULL;

	(void)state;
	assert_int_equal(json_parse_named(slice_str("{\n \"a\" 1}"), "x.json", &value, &err), -1);
	assert_contains(err.text, "x.json:2:");
	assert_contains(err.text, ": not valid JSON: ");
}

static void test_every_truncation_of_a_document_is_refused(void **state)
{
	static const char text[] = "{\"a\":[1,true,null,\"\\u00e9\"],\"b\":{\"c\":-1.5}}";

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		cleanup_free uint8_t *copy = xmemdup(text, len);

		check_refused(slice_of(copy, len), "not valid JSON");
	}
}

static void test_canonical_text_is_sorted_and_has_the_shortest_escapes(void **state)
{
	cleanup_json json_t *value =
		parse(" {\"b\" : [ 1 , 2.5, -0 ], \"a\\\"\":\n\"/\\u0001\\u001F\\b\\t\\n"
		      "\\f\\r\\u007f\\u00e9\\\\\", \"B\": {}, \"c\": [], \"d\": [true, "
		      "false, null]}");
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	json_canonical(value, &out);
	assert_string_equal(out.data,
			    "{\"B\":{},\"a\\\"\":\"/\\u0001\\u001f\\b\\t\\n\\f\\r\x7fé\\\\\","
			    "\"b\":[1,2.5,0],\"c\":[],\"d\":[true,false,null]}");
}

static void test_pretty_text_is_indented_by_two(void **state)
{
	cleanup_json json_t *value = parse("{\"b\":[1,{\"x\":[]}],\"a\":{}}");
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	json_pretty(value, &out);
	assert_string_equal(out.data, "{\n"
				      "  \"a\": {},\n"
				      "  \"b\": [\n"
				      "    1,\n"
				      "    {\n"
				      "      \"x\": []\n"
				      "    }\n"
				      "  ]\n"
				      "}\n");
}

static void test_the_order_of_insertion_does_not_show(void **state)
{
	cleanup_json json_t *one = json_object();
	cleanup_json json_t *two = json_object();
	cleanup_strbuf struct strbuf a = { 0 }, b = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		cleanup_free char *first = xasprintf("k%d", i);
		cleanup_free char *second = xasprintf("k%d", 99 - i);

		json_put(one, first, json_integer(i));
		json_put(two, second, json_integer(99 - i));
	}
	json_canonical(one, &a);
	json_canonical(two, &b);
	assert_string_equal(a.data, b.data);
}

static void test_members_of_the_right_type_are_found(void **state)
{
	cleanup_json json_t *value = parse("{\"s\":\"x\",\"n\":7,\"o\":{},\"l\":[1]}");
	struct error err = { 0 };
	const char *text = NULL;
	uint64_t number = 0;
	json_t *member = NULL;

	(void)state;
	assert_ok(json_get_str(value, "", "s", &text, &err), err);
	assert_string_equal(text, "x");
	assert_ok(json_get_u64(value, "", "n", &number, &err), err);
	assert_int_equal(number, 7);
	assert_ok(json_get_object(value, "", "o", &member, &err), err);
	assert_true(json_is_object(member));
	assert_ok(json_get_array(value, "", "l", &member, &err), err);
	assert_int_equal(json_array_size(member), 1);
}

static void test_a_missing_member_is_named_by_its_path(void **state)
{
	cleanup_json json_t *value = parse("{}");
	struct error err = { 0 };
	const char *text;
	json_t *member;

	(void)state;
	assert_int_equal(json_get_str(value, "layers[2]", "digest", &text, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_string_equal(err.text, "layers[2].digest: is missing");
	assert_int_equal(json_get_array(value, "", "layers", &member, &err), -1);
	assert_string_equal(err.text, "layers: is missing");
}

static void test_a_member_of_another_type_is_refused(void **state)
{
	cleanup_json json_t *value =
		parse("{\"a\":[],\"b\":\"x\",\"c\":-1,\"d\":1.0,\"e\":null,\"f\":true}");
	struct error err = { 0 };
	const char *text;
	uint64_t number;
	json_t *member;

	(void)state;
	assert_int_equal(json_get_str(value, "x", "a", &text, &err), -1);
	assert_string_equal(err.text, "x.a: is a list, not text");
	assert_int_equal(json_get_object(value, "", "b", &member, &err), -1);
	assert_string_equal(err.text, "b: is text, not an object");
	assert_int_equal(json_get_u64(value, "", "c", &number, &err), -1);
	assert_string_equal(err.text, "c: is -1, which must not be below 0");
	assert_int_equal(json_get_u64(value, "", "d", &number, &err), -1);
	assert_string_equal(err.text, "d: is a number, not a whole number");
	assert_int_equal(json_get_str(value, "", "e", &text, &err), -1);
	assert_string_equal(err.text, "e: is null, not text");
	assert_int_equal(json_get_array_opt(value, "", "f", &member, &err), -1);
	assert_string_equal(err.text, "f: is true or false, not a list");
}

static void test_an_optional_member_may_be_missing_or_null(void **state)
{
	cleanup_json json_t *value = parse("{\"a\":null}");
	struct error err = { 0 };
	const char *text = "before";
	json_t *member = value;

	(void)state;
	assert_ok(json_get_str_opt(value, "", "a", &text, &err), err);
	assert_null(text);
	assert_ok(json_get_object_opt(value, "", "b", &member, &err), err);
	assert_null(member);
	member = value;
	assert_ok(json_get_array_opt(value, "", "a", &member, &err), err);
	assert_null(member);
}

static void test_what_is_no_object_has_no_members(void **state)
{
	cleanup_json json_t *value = parse("[]");
	struct error err = { 0 };
	const char *text;

	(void)state;
	assert_int_equal(json_get_str(value, "", "a", &text, &err), -1);
	assert_string_equal(err.text, "document: is a list, not an object");
	assert_int_equal(json_get_str_opt(NULL, "x", "a", &text, &err), -1);
	assert_string_equal(err.text, "x: is missing, not an object");
}

static void test_text_that_is_not_utf8_is_replaced_byte_by_byte(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "plain é", "plain é" },
		{ "a\xff", "a\xef\xbf\xbd" },
		{ "\xc3(", "\xef\xbf\xbd(" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf0\x9f\x98", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_json json_t *value = json_text(cases[i].text);

		assert_string_equal(json_string_value(value), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_documents_are_refused_with_line_and_column),
		cmocka_unit_test(test_a_nul_byte_is_refused),
		cmocka_unit_test(test_control_characters_do_not_reach_the_message),
		cmocka_unit_test(test_nesting_beyond_the_limit_is_refused),
		cmocka_unit_test(test_the_named_form_puts_the_name_first),
		cmocka_unit_test(test_every_truncation_of_a_document_is_refused),
		cmocka_unit_test(test_canonical_text_is_sorted_and_has_the_shortest_escapes),
		cmocka_unit_test(test_pretty_text_is_indented_by_two),
		cmocka_unit_test(test_the_order_of_insertion_does_not_show),
		cmocka_unit_test(test_members_of_the_right_type_are_found),
		cmocka_unit_test(test_a_missing_member_is_named_by_its_path),
		cmocka_unit_test(test_a_member_of_another_type_is_refused),
		cmocka_unit_test(test_an_optional_member_may_be_missing_or_null),
		cmocka_unit_test(test_what_is_no_object_has_no_members),
		cmocka_unit_test(test_text_that_is_not_utf8_is_replaced_byte_by_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
