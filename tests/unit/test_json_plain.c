#include "tests/support/test.h"

#include "formats/json.h"
#include "formats/json_plain.h"
#include "manifests/embedded.h"

static json_t *jansson(const char *text, size_t len)
{
	json_error_t error;

	return json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
}

static void test_every_table_of_ours_is_plain_and_reads_as_jansson_reads_it(void **state)
{
	size_t tables = 0;

	(void)state;
	for (size_t i = 0; i < embedded_count; i++) {
		const struct embedded *e = &embedded_files[i];
		size_t len = (size_t)(e->end - e->data);

		if (!str_ends(e->name, ".json"))
			continue;
		cleanup_json json_t *ours = json_plain(slice_of(e->data, len));
		cleanup_json json_t *theirs = jansson((const char *)e->data, len);

		if (!ours || !json_equal(ours, theirs))
			fail_msg("%s is not plain, or read otherwise", e->name);
		tables++;
	}
	assert_true(tables > 15);
}

static void test_what_is_plain_reads_as_jansson_reads_it(void **state)
{
	static const char *const texts[] = {
		"{}",   " [ ] ",
		"0",    "-0",
		"-12",  "999999999999999999",
		"\"\"", "\"a\\\"b\\\\c\\/d\"",
		"true", "\tfalse\r\n",
		"null", "{\"a\":1,\"b\":[1,[2,{\"c\":null}]],\"\":\"x\",\"q\\\"\":true}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_json json_t *ours = json_plain(slice_str(texts[i]));
		cleanup_json json_t *theirs = jansson(texts[i], strlen(texts[i]));

		if (!ours || !theirs || !json_equal(ours, theirs))
			fail_msg("%s", texts[i]);
	}
}

static void test_what_is_not_plain_is_left_to_jansson(void **state)
{
	static const char *const texts[] = {
		"",       " ",       "1.5",         "1e3",
		"01",     "-",       "+1",          "1234567890123456789",
		"\"a",    "\"\\n\"", "\"\\u0041\"", "\"\xc3\xa4\"",
		"\"\t\"", "{\"a\"}", "{\"a\":1,}",  "{\"a\":1,\"a\":2}",
		"[1,]",   "[1",      "{",           "tru",
		"nul",    "1 2",     "NaN",         "{a:1}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (json_plain(slice_str(texts[i])))
			fail_msg("%s", texts[i]);
	}
}

static void test_levels_are_limited(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *value = NULL;
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < 65; i++)
		strbuf_addc(&text, '[');
	for (int i = 0; i < 65; i++)
		strbuf_addc(&text, ']');
	assert_null(json_plain(strbuf_slice(&text)));
	assert_ok(json_parse(strbuf_slice(&text), &value, &err), err);
}

static void test_every_truncation_is_refused_without_reading_past_it(void **state)
{
	static const char text[] = "{\"a\":[true,false,null,-12],\"b\":\"x\\\"y\"}";

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		cleanup_free uint8_t *copy = xcalloc(len, 1);

		memcpy(copy, text, len);
		assert_null(json_plain(slice_of(copy, len)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_table_of_ours_is_plain_and_reads_as_jansson_reads_it),
		cmocka_unit_test(test_what_is_plain_reads_as_jansson_reads_it),
		cmocka_unit_test(test_what_is_not_plain_is_left_to_jansson),
		cmocka_unit_test(test_levels_are_limited),
		cmocka_unit_test(test_every_truncation_is_refused_without_reading_past_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
