#include "tests/support/test.h"

#include "base/strbuf.h"
#include "formats/yaml.h"

static struct node parse(struct arena *arena, const char *text)
{
	struct error err = { 0 };
	struct node top;

	assert_ok(yaml_parse(slice_str(text), "t.yaml", arena, &top, &err), err);
	return top;
}

static void check_refused(struct slice text, enum error_code code, const char *want)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct node top;

	assert_int_equal(yaml_parse(text, "t.yaml", &arena, &top, &err), -1);
	assert_int_equal(err.code, code);
	assert_contains(err.text, want);
}

static void test_values_know_their_line_and_column(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, "a: 1\nbé: { c: [x, y] }\n");
	const struct node *list;

	(void)state;
	assert_int_equal(top.type, NODE_MAP);
	assert_int_equal(top.pairs[1].key.line, 2);
	assert_int_equal(top.pairs[1].key.column, 1);
	list = node_get(node_get(&top, "bé"), "c");
	assert_int_equal(list->type, NODE_LIST);
	assert_int_equal(list->line, 2);
	assert_int_equal(list->column, 10); /* characters, not bytes */
	assert_string_equal(list->items[1].text, "y");
	assert_int_equal(list->items[1].column, 14);
}

static void test_plain_scalars_keep_their_text(void **state)
{
	static const char *const texts[] = { "13.0",       "0755",  "0x10",  "1e3",       "yes",
					     "2027-01-01", "1_000", "12:30", ">=12.4,<13" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_free char *text =
			xasprintf("a: %s%s%s\n", i == 8 ? "\"" : "", texts[i], i == 8 ? "\"" : "");
		struct node top = parse(&arena, text);

		assert_string_equal(node_get(&top, "a")->text, texts[i]);
		assert_int_equal(node_get(&top, "a")->quoted, i == 8);
	}
}

static void test_only_plain_null_words_are_nothing(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, "[ ~, null, Null, NULL, '', \"null\", !!str null, nil ]");

	(void)state;
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(top.items[i].type, i < 4 ? NODE_NULL : NODE_SCALAR);
	assert_string_equal(top.items[4].text, "");
	assert_string_equal(top.items[6].text, "null");
}

static void test_an_empty_text_is_nothing(void **state)
{
	static const char *const texts[] = { "", "# comment\n", "---\n", "\xef\xbb\xbf" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_arena struct arena arena = { 0 };

		assert_int_equal(parse(&arena, texts[i]).type, NODE_NULL);
	}
}

static void test_aliases_repeat_what_was_anchored(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, "a: &x { k: v }\nb: *x\nc: &x 1\nd: *x\n");

	(void)state;
	assert_string_equal(node_get(node_get(&top, "b"), "k")->text, "v");
	assert_int_equal(node_get(&top, "b")->line, 2);
	assert_string_equal(node_get(&top, "d")->text, "1");
}

static void test_bad_documents_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "a: 1\nb: 2\na: 3\n",
		  "t.yaml:3:1: key 'a' stands twice in one map (first in line 1)" },
		{ "a: 1\n'a': 3\n", "t.yaml:2:1: key 'a' stands twice" },
		{ "--- 1\n--- 2\n", "t.yaml:2:1: a second document begins here" },
		{ "a: !!binary x\n",
		  "t.yaml:1:4: the tag 'tag:yaml.org,2002:binary' cannot be used" },
		{ "a: !mine x\n", "t.yaml:1:4: the tag '!mine' cannot be used here; leave it out" },
		{ "a: !!map x\n", "cannot be used here" },
		{ "a: !!str [x]\n", "cannot be used here" },
		{ "a: *y\n", "t.yaml:1:4: the alias '*y' names no anchor" },
		{ "a: &y [*y]\n", "t.yaml:1:8: the alias '*y' names no anchor" },
		{ "a: {<<: {b: 1}}\n", "t.yaml:1:5: merge keys ('<<') are not read" },
		{ "? [a]\n: 1\n", "t.yaml:1:3: a key must be text, not a list" },
		{ "? {a: b}\n: 1\n", "a key must be text, not a map" },
		{ "~: 1\n", "t.yaml:1:1: a key without text" },
		{ "a: [1\nb: 2\n",
		  "t.yaml:2:2: not valid YAML: did not find expected ',' or ']' (while "
		  "parsing a flow sequence that begins at line 1)" },
		{ "\tx",
		  "t.yaml:1:1: not valid YAML: found character that cannot start any token" },
		{ "a: 'x", "not valid YAML" },
		{ "ok: 1\na: \"\\0\"\n", "t.yaml:2:4: a NUL character in a text" },
		{ "é: 1\na: \xff\n", "t.yaml:2:4: not valid YAML: invalid leading UTF-8 octet" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(slice_str(cases[i].text), ERROR_FORMAT, cases[i].want);
}

static void test_nesting_stops_at_64_levels(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (int i = 0; i < 64; i++)
		strbuf_addc(&text, '[');
	strbuf_addc(&text, '1');
	for (int i = 0; i < 64; i++)
		strbuf_addc(&text, ']');
	parse(&arena, text.data);
	strbuf_truncate(&text, 0);
	for (int i = 0; i < 100000; i++)
		strbuf_addc(&text, '[');
	check_refused(strbuf_slice(&text), ERROR_LIMIT,
		      "t.yaml:1:66: nested deeper than 64 levels");
}

static void test_aliases_cannot_multiply_without_end(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	strbuf_adds(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++) {
		strbuf_addf(&text, "a%d: &a%d [", i, i);
		for (int j = 0; j < 10; j++)
			strbuf_addf(&text, "%s*a%d", j ? ", " : "", i - 1);
		strbuf_adds(&text, "]\n");
	}
	check_refused(strbuf_slice(&text), ERROR_LIMIT,
		      "more than 200000 values, aliases expanded");
}

static void test_a_text_over_16_mib_is_refused(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	strbuf_add_zeros(&text, 16 * MIB + 1);
	check_refused(strbuf_slice(&text), ERROR_LIMIT, "t.yaml: 16777217 bytes of YAML");
}

static void test_no_truncation_is_read_beyond_its_end(void **state)
{
	static const char text[] = "a: &x { k: \"v\\u00e9\" }\nb: [*x, 'q', |\n  block\n ]\n";

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		cleanup_free uint8_t *copy = xmemdup(text, len);
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct node top;

		if (yaml_parse(slice_of(copy, len), "t.yaml", &arena, &top, &err) < 0)
			assert_true(str_starts(err.text, "t.yaml:"));
	}
}

static void test_bools_are_plain_words(void **state)
{
	static const struct {
		const char *text;
		bool quoted, is, value;
	} cases[] = {
		{ "true", false, true, true },  { "Yes", false, true, true },
		{ "ON", false, true, true },    { "off", false, true, false },
		{ "No", false, true, false },   { "FALSE", false, true, false },
		{ "true", true, false, false }, { "tRue", false, false, false },
		{ "1", false, false, false },   { "y", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct node node = { .type = NODE_SCALAR,
				     .text = cases[i].text,
				     .quoted = cases[i].quoted };
		bool value = false;

		assert_int_equal(node_bool(&node, &value), cases[i].is);
		assert_int_equal(value, cases[i].value);
	}
}

static void test_numbers_are_plain_decimal_digits(void **state)
{
	static const struct {
		const char *text;
		bool is;
	} cases[] = {
		{ "0", true },    { "1000", true },  { "18446744073709551615", true },
		{ "-1", false },  { "0755", false }, { "18446744073709551616", false },
		{ "1.0", false }, { "0x1", false },  { "", false },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct node node = { .type = NODE_SCALAR, .text = cases[i].text };

		assert_int_equal(node_u64(&node, &value), cases[i].is);
		node.quoted = true;
		assert_false(node_u64(&node, &value));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_know_their_line_and_column),
		cmocka_unit_test(test_plain_scalars_keep_their_text),
		cmocka_unit_test(test_only_plain_null_words_are_nothing),
		cmocka_unit_test(test_an_empty_text_is_nothing),
		cmocka_unit_test(test_aliases_repeat_what_was_anchored),
		cmocka_unit_test(test_bad_documents_are_refused_with_their_place),
		cmocka_unit_test(test_nesting_stops_at_64_levels),
		cmocka_unit_test(test_aliases_cannot_multiply_without_end),
		cmocka_unit_test(test_a_text_over_16_mib_is_refused),
		cmocka_unit_test(test_no_truncation_is_read_beyond_its_end),
		cmocka_unit_test(test_bools_are_plain_words),
		cmocka_unit_test(test_numbers_are_plain_decimal_digits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
