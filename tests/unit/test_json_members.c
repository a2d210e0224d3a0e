#include "tests/support/test.h"

#include "formats/json_members.h"

static int members(const char *text, struct json_member *m, struct error *err)
{
	m->key = "a";
	return json_members(slice_str(text), m, 1, err);
}

static void test_a_member_is_given_as_it_stands(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "{\"a\":1}", "1" },
		{ " { \"b\" : [1,{\"a\":2}] , \"a\" : { \"x\" : null } } ", "{ \"x\" : null }" },
		{ "{\"\\u0061\":\"\\\"}\"}", "\"\\\"}\"" },
		{ "{\"a\":-1.5e3,\"A\":true}", "-1.5e3" },
		{ "{\"a\":[]}", "[]" },
		{ "{\"a\":\"\xc3\xa9\"}", "\"\xc3\xa9\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_member m;
		struct error err = { 0 };

		assert_ok(members(cases[i].text, &m, &err), err);
		assert_true(slice_is(m.value, cases[i].value));
	}
}

static void test_one_that_is_not_there_is_told_apart(void **state)
{
	struct json_member m;
	struct error err = { 0 };

	(void)state;
	assert_ok(members("{\"b\":{\"a\":1}}", &m, &err), err);
	assert_null(m.value.data);
}

static void test_what_is_no_object_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"[]",
		"{\"a\":1",
		"{\"a\":1}x",
		"{\"a\":1,}",
		"{\"a\":1,\"a\":2}",
		"{\"b\":{\"a\":1,\"\\u0061\":2}}",
		"{\"a\":nul}",
		"{\"a\":truex}",
		"{\"a\":01}",
		"{\"a\":+1}",
		"{\"a\":\"\\x\"}",
		"{\"a\":\"\x01\"}",
		"{\"a\":\"\xff\"}",
		"{\"a\\u0000\":1}",
		"{\"a\":\"",
		"{\"a\":\"\\",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct json_member m;
		struct error err = { 0 };

		assert_int_equal(members(cases[i], &m, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_every_truncation_is_refused(void **state)
{
	static const char text[] = "{\"a\":[1,\"\xc3\xa9\",{\"b\\n\":false}],\"c\":-2.5}";

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		cleanup_free uint8_t *copy = xcalloc(MAX(len, (size_t)1), 1);
		struct json_member m = { .key = "a" };
		struct error err = { 0 };

		memcpy(copy, text, len);
		assert_int_equal(json_members(slice_of(copy, len), &m, 1, &err), -1);
	}
}

static void test_levels_are_limited(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct json_member m;
	struct error err = { 0 };

	(void)state;
	strbuf_adds(&text, "{\"a\":");
	for (int i = 0; i < 5000; i++)
		strbuf_addc(&text, '[');
	for (int i = 0; i < 5000; i++)
		strbuf_addc(&text, ']');
	strbuf_addc(&text, '}');
	assert_int_equal(members(strbuf_text(&text), &m, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_member_is_given_as_it_stands),
		cmocka_unit_test(test_one_that_is_not_there_is_told_apart),
		cmocka_unit_test(test_what_is_no_object_is_refused),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_levels_are_limited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
