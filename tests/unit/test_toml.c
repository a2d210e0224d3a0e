#include "tests/support/test.h"

#include "base/strbuf.h"
#include "formats/toml.h"

static struct node parse(struct arena *arena, const char *text)
{
	struct error err = { 0 };
	struct node top;

	assert_ok(toml_parse(slice_str(text), "t.toml", arena, &top, &err), err);
	return top;
}

/* "a.b[1].c" as text, for what must be there. */
static const struct node *find(const struct node *top, const char *path)
{
	struct slice rest = slice_str(path), part;

	while (slice_cut(&rest, '.', &part)) {
		const uint8_t *bracket = memchr(part.data, '[', part.len);
		size_t n = bracket ? (size_t)(bracket - part.data) : part.len;
		cleanup_free char *key = xasprintf("%.*s", (int)n, (const char *)part.data);

		top = node_get(top, key);
		assert_non_null(top);
		if (bracket) {
			size_t index = (size_t)(bracket[1] - '0');

			assert_int_equal(top->type, NODE_LIST);
			assert_true(index < top->count);
			top = &top->items[index];
		}
	}
	return top;
}

static void test_tables_and_lists_of_tables_nest(void **state)
{
	static const char text[] = "top = 1\n"
				   "[a.b]\n"
				   "c.d = \"x\"\n"
				   "c.e = [ [1, 2], [\"y\"] , ] # the comma may stand\n"
				   "[[p]]\n"
				   "name = 'one'\n"
				   "[p.q]\n"
				   "z = { k = true, \"l m\".n = 2 }\n"
				   "[[p]]\n"
				   "name = 'two'\n"
				   "[a]\n"
				   "late = 3\n";
	static const struct {
		const char *path, *value;
	} want[] = {
		{ "top", "1" },         { "a.b.c.d", "x" },        { "a.b.c.e[0]", "" },
		{ "a.b.c.e[1]", "" },   { "p[0].name", "one" },    { "p[0].q.z.k", "true" },
		{ "p[0].q.z.l m", "" }, { "p[0].q.z.l m.n", "2" }, { "p[1].name", "two" },
		{ "a.late", "3" },
	};
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, text);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(find(&top, want[i].path)->text, want[i].value);
	assert_int_equal(find(&top, "p")->count, 2);
	assert_int_equal(top.count, 3);
}

static void test_texts_of_all_four_kinds(void **state)
{
	static const struct {
		const char *written, *value;
	} cases[] = {
		{ "\"a\\tb\\u00e9\\U0001F600\\\"\"", "a\tb\xc3\xa9\xf0\x9f\x98\x80\"" },
		{ "'C:\\new'", "C:\\new" },
		{ "\"\"\"\nfirst\r\nsecond \\\n\n   third\"\"\"", "first\nsecond third" },
		{ "\"\"\"two quotes: \"\"\"\"\"", "two quotes: \"\"" },
		{ "'''\n'it\\'s'\n'''", "'it\\'s'\n" },
		{ "\"\"", "" },
		{ "''''''", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_free char *text = xasprintf("a = %s\n", cases[i].written);
		struct node top = parse(&arena, text);

		assert_string_equal(find(&top, "a")->text, cases[i].value);
		assert_true(find(&top, "a")->quoted);
	}
}

static void test_numbers_bools_and_times_are_plain(void **state)
{
	static const struct {
		const char *written, *value;
	} cases[] = {
		{ "1_000", "1000" },
		{ "+7", "7" },
		{ "-0", "-0" },
		{ "0xdead_BEEF", "3735928559" },
		{ "0o755", "493" },
		{ "0b1101", "13" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "-9223372036854775808", "-9223372036854775808" },
		{ "6.626e-34", "6.626e-34" },
		{ "1_0.0_1", "10.01" },
		{ "-inf", "-inf" },
		{ "nan", "nan" },
		{ "false", "false" },
		{ "1979-05-27T07:32:00-08:00", "1979-05-27T07:32:00-08:00" },
		{ "1979-05-27 07:32:00.999Z", "1979-05-27 07:32:00.999Z" },
		{ "2024-02-29", "2024-02-29" },
		{ "07:32:00", "07:32:00" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_free char *text = xasprintf("a = %s # b\n", cases[i].written);
		struct node top = parse(&arena, text);

		assert_string_equal(find(&top, "a")->text, cases[i].value);
		assert_false(find(&top, "a")->quoted);
	}
}

static void test_values_know_their_line_and_column(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct node top = parse(&arena, "\xef\xbb\xbf# é\r\n\r\n\"é\" = { b = [ 1,\n  2 ] }\n");
	const struct node *list = find(&top, "é.b");

	(void)state;
	assert_int_equal(top.pairs[0].key.line, 3);
	assert_int_equal(top.pairs[0].key.column, 1);
	assert_int_equal(list->column, 13); /* characters, not bytes */
	assert_int_equal(list->items[1].line, 4);
	assert_int_equal(list->items[1].column, 3);
	assert_string_equal(list->items[1].file, "t.toml");
}

static void check_refused(struct slice text, enum error_code code, const char *want)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct node top;

	if (toml_parse(text, "t.toml", &arena, &top, &err) == 0)
		print_message("accepted: %.*s\n", (int)MIN(text.len, (size_t)80),
			      (const char *)text.data);
	assert_int_equal(err.code, code);
	assert_contains(err.text, want);
}

static void test_what_is_not_toml_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "a = 1\na = 2\n",
		  "t.toml:2:1: not valid TOML: 'a' is defined already, in line 1" },
		{ "[t]\n[t]\n", "t.toml:2:2: not valid TOML: 't' is defined already" },
		{ "a = 1\n[a.b]\n", "'a' is defined already" },
		{ "a.b = 1\n[a]\n", "'a' is defined already" },
		{ "a = { b = 1 }\na.c = 2\n", "'a' is defined already" },
		{ "a = { b = 1 }\n[a.c]\n", "'a' is defined already" },
		{ "[a]\n[[a]]\n", "'a' is defined already" },
		{ "a = []\n[[a]]\n", "'a' is defined already" },
		{ "[[a]]\n[a]\n", "'a' is defined already" },
		{ "[a.b]\nc = 1\n[a]\nb.d = 2\n", "'b' is defined already" },
		{ "a = { b = 1, b = 2 }\n", "'b' is defined already" },
		{ "a = \n", "t.toml:1:5: not valid TOML: a value is missing" },
		{ "a 1\n", "\"=\" must follow the key 'a'" },
		{ "a = 1 b = 2\n", "t.toml:1:7: not valid TOML: the line should have ended" },
		{ "= 1\n", "a key is missing" },
		{ "[a\n", "must end with \"]\"" },
		{ "[[a]\n", "must end with \"]]\"" },
		{ "a = [1 2]\n", "\",\" or \"]\" must follow" },
		{ "a = { b = 1,\n c = 2 }\n", "a key is missing" },
		{ "a = { b = 1, }\n", "a key is missing" },
		{ "a = word\n", "'word' is no number, date, true or false" },
		{ "a = 01\n", "'01' is no number" },
		{ "a = 1__0\n", "is no number" },
		{ "a = 1.\n", "is no number" },
		{ "a = .5\n", "is no number" },
		{ "a = 9223372036854775808\n", "is no number" },
		{ "a = 0x\n", "is no number" },
		{ "a = True\n", "is no number" },
		{ "a = 2023-02-29\n", "is no number" },
		{ "a = 25:00:00\n", "is no number" },
		{ "a = \"b\n", "t.toml:1:5: not valid TOML: the text that begins here has no end" },
		{ "a = '''b\n", "has no end" },
		{ "a = \"\\q\"\n", "no such escape" },
		{ "a = \"\\ud800\"\n", "U+D800 is no character" },
		{ "a = \"\\u12\"\n", "needs 4 hexadecimal digits" },
		{ "a = \"\\u0000\"\n", "a NUL character" },
		{ "a = \"\x01\"\n", "a control character (0x01)" },
		{ "# \x02\n", "a control character (0x02) in a comment" },
		{ "\"\"\"k\"\"\" = 1\n", "a key cannot be a text of several lines" },
		{ "a = 1\rb = 2\n", "the line should have ended" },
		{ "a = \"\xc3\x28\"\n", "t.toml:1:6: not valid TOML: the byte 0xc3 is not UTF-8" },
		{ "a = '\xed\xa0\x80'\n", "is not UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(slice_str(cases[i].text), ERROR_FORMAT, cases[i].want);
}

static char *repeat(const char *before, const char *part, size_t count, const char *after)
{
	struct strbuf b = { 0 };

	strbuf_adds(&b, before);
	for (size_t i = 0; i < count; i++)
		strbuf_adds(&b, part);
	strbuf_adds(&b, after);
	return strbuf_steal(&b);
}

static void test_depth_count_and_size_have_limits(void **state)
{
	cleanup_free char *arrays = repeat("a = ", "[", 100000, "");
	cleanup_free char *braces = repeat("a = ", "{ b = ", 1000, "");
	cleanup_free char *header = repeat("[a", ".a", 1000, "]\n");
	cleanup_free char *dotted = repeat("a", ".a", 63, " = [[1]]\n");
	cleanup_free char *values = repeat("a = [", "1,", 200001, "]\n");
	cleanup_free char *large = repeat("# ", "xxxxxxxxxxxxxxxx", MIB + 1, "\n");

	(void)state;
	check_refused(slice_str(arrays), ERROR_LIMIT, "more than 64 levels");
	check_refused(slice_str(braces), ERROR_LIMIT, "more than 64 levels");
	check_refused(slice_str(header), ERROR_LIMIT, "more than 64 levels");
	check_refused(slice_str(dotted), ERROR_LIMIT, "more than 64 levels");
	check_refused(slice_str(values), ERROR_LIMIT, "more than 200000 values");
	check_refused(slice_str(large), ERROR_LIMIT, "the limit is");
}

static void test_every_truncation_ends_in_an_answer(void **state)
{
	static const char text[] = "[[p]]\nn = \"a\\u00e9\"\nw = [ { h = { s = '''x''' }, d = "
				   "1979-05-27T07:32:00Z } ]\n";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_free char *copy = xcalloc(len, 1);
		struct error err = { 0 };
		struct node top;

		memcpy(copy, text, len);
		if (toml_parse(slice_of(copy, len), "t.toml", &arena, &top, &err) < 0)
			assert_true(str_starts(err.text, "t.toml:"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_and_lists_of_tables_nest),
		cmocka_unit_test(test_texts_of_all_four_kinds),
		cmocka_unit_test(test_numbers_bools_and_times_are_plain),
		cmocka_unit_test(test_values_know_their_line_and_column),
		cmocka_unit_test(test_what_is_not_toml_is_refused_with_its_place),
		cmocka_unit_test(test_depth_count_and_size_have_limits),
		cmocka_unit_test(test_every_truncation_ends_in_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
