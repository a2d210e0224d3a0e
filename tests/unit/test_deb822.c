#include "tests/support/test.h"

#include "formats/deb822.h"

/* The first stanza of a text that has one; the caller releases it. */
static struct deb822 first(struct slice text)
{
	struct deb822 stanza = { 0 };
	struct error err = { 0 };
	size_t line = 1;

	assert_ok(deb822_next(&text, "t", &line, &stanza, &err), err);
	return stanza;
}

static void check_value(struct slice value, const char *want)
{
	cleanup_free char *text = NULL;

	assert_non_null(value.data);
	text = xstrndup((const char *)value.data, value.len);
	assert_string_equal(text, want);
}

static void check_refused(struct slice text, enum error_code code, const char *want)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct error err = { 0 };
	size_t line = 1;
	int rc;

	do
		rc = deb822_next(&text, "Packages", &line, &stanza, &err);
	while (rc == 1);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, code);
	assert_string_equal(err.text, want);
}

static void test_stanzas_come_one_by_one(void **state)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice rest = slice_str("\n\nPackage: a\nVersion: 1\n\n\nPackage: b\n");
	struct error err = { 0 };
	size_t line = 1;

	(void)state;
	assert_int_equal(deb822_next(&rest, "t", &line, &stanza, &err), 1);
	assert_int_equal(stanza.len, 2);
	check_value(deb822_get(&stanza, "Package"), "a");
	assert_int_equal(line, 6);
	assert_int_equal(deb822_next(&rest, "t", &line, &stanza, &err), 1);
	assert_int_equal(stanza.len, 1);
	check_value(deb822_get(&stanza, "Package"), "b");
	assert_int_equal(deb822_next(&rest, "t", &line, &stanza, &err), 0);
	assert_int_equal(line, 8);
}

static void test_an_empty_text_has_no_stanza(void **state)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice rest = { 0 }, blank = slice_str("\n \n# only\n");
	struct error err = { 0 };
	size_t line = 1;

	(void)state;
	assert_int_equal(deb822_next(&rest, "t", &line, &stanza, &err), 0);
	assert_int_equal(deb822_next(&blank, "t", &line, &stanza, &err), 0);
}

static void test_field_names_compare_without_case(void **state)
{
	cleanup_deb822 struct deb822 stanza = first(slice_str("SHA256: x\npackage: y\n"));

	(void)state;
	check_value(deb822_get(&stanza, "sha256"), "x");
	check_value(deb822_get(&stanza, "Package"), "y");
	assert_null(deb822_get(&stanza, "SHA25").data);
}

static void test_an_empty_value_is_not_a_missing_field(void **state)
{
	cleanup_deb822 struct deb822 stanza = first(slice_str("A:\nB:  \n"));

	(void)state;
	check_value(deb822_get(&stanza, "A"), "");
	check_value(deb822_get(&stanza, "B"), "");
	assert_null(deb822_get(&stanza, "C").data);
}

static void test_continuation_lines_belong_to_the_value(void **state)
{
	cleanup_deb822 struct deb822 stanza =
		first(slice_str("Description: short\n long\n .\n\tmore \nNext: 1"));

	(void)state;
	check_value(deb822_get(&stanza, "Description"), "short\n long\n .\n\tmore");
	check_value(deb822_get(&stanza, "Next"), "1");
}

static void test_a_line_of_blanks_continues_the_value(void **state)
{
	cleanup_deb822 struct deb822 stanza = first(slice_str("A: 1\n \n 2\nB: 3\n"));

	(void)state;
	assert_int_equal(stanza.len, 2);
	check_value(deb822_get(&stanza, "A"), "1\n \n 2");
}

static void test_lines_may_end_in_carriage_return(void **state)
{
	cleanup_deb822 struct deb822 stanza = first(slice_str("A: 1\r\nB: 2\r\n\r\nA: 3\r\n"));

	(void)state;
	assert_int_equal(stanza.len, 2);
	check_value(deb822_get(&stanza, "A"), "1");
	check_value(deb822_get(&stanza, "B"), "2");
}

static void test_comments_are_skipped(void **state)
{
	cleanup_deb822 struct deb822 stanza = first(
		slice_str("# one\nA: 1\n# two: 2\nB:\n# before\n x\n# inside\n y\n# after\n"));
	struct slice value = deb822_get(&stanza, "B"), line;

	(void)state;
	assert_int_equal(stanza.len, 2);
	assert_true(deb822_line(&value, &line));
	check_value(line, "x");
	assert_true(deb822_line(&value, &line));
	check_value(line, "y");
	assert_false(deb822_line(&value, &line));
}

static void test_comments_around_a_value_are_cut(void **state)
{
	cleanup_deb822 struct deb822 stanza =
		first(slice_str("A:\n \n# c\n\t\n x\n y\n# c\n \nB:\n# c\n \n"));

	(void)state;
	check_value(deb822_get(&stanza, "A"), "x\n y");
	check_value(deb822_get(&stanza, "B"), "");
}

static void test_a_value_may_begin_with_a_hash(void **state)
{
	cleanup_deb822 struct deb822 stanza = first(slice_str("A: #1 tool\nB:\n #x\n"));
	struct slice value = deb822_get(&stanza, "A"), line;

	(void)state;
	assert_true(deb822_line(&value, &line));
	check_value(line, "#1 tool");
	check_value(deb822_get(&stanza, "B"), "#x");
}

static void test_bad_lines_are_refused_with_their_number(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "A: 1\nnonsense\n",
		  "Packages:2: neither \"Field: value\" nor a continuation line: 'nonsense'" },
		{ "A: 1\n\nB : 2\n",
		  "Packages:3: neither \"Field: value\" nor a continuation line: 'B : 2'" },
		{ ": 1\n", "Packages:1: neither \"Field: value\" nor a continuation line: ': 1'" },
		{ "-A: 1\n",
		  "Packages:1: neither \"Field: value\" nor a continuation line: '-A: 1'" },
		{ "<html>\x1b\n",
		  "Packages:1: neither \"Field: value\" nor a continuation line: '<html>\\x1b'" },
		{ " x\n", "Packages:1: a continuation line before any field: ' x'" },
		{ "A: 1\n\n x\n", "Packages:3: a continuation line before any field: ' x'" },
		{ "A: 1\na: 2\n", "Packages:2: a field stands twice in one stanza: 'a'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		check_refused(slice_str(cases[i].text), ERROR_FORMAT, cases[i].want);
}

static void test_a_nul_byte_is_refused(void **state)
{
	(void)state;
	check_refused(slice_of("A: x\0y\nB: 1\n", 12), ERROR_FORMAT,
		      "Packages:2: a NUL byte in the value of a field: 'A'");
}

static void test_limits_hold(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };

	(void)state;
	for (int i = 0; i < 201; i++)
		strbuf_addf(&text, "F%d: x\n", i);
	check_refused(strbuf_slice(&text), ERROR_LIMIT,
		      "Packages:201: a stanza of more than 200 fields");
	strbuf_truncate(&text, 0);
	for (int i = 0; i < 64 * 1024 + 1; i++)
		strbuf_addc(&text, 'n');
	strbuf_adds(&text, ": x\n");
	check_refused(strbuf_slice(&text), ERROR_LIMIT,
		      "Packages:1: a field name of 65537 bytes; 65536 are allowed");
	strbuf_truncate(&text, 0);
	strbuf_adds(&text, "A:");
	for (int i = 0; i < 4 * 1024 * 1024 + 1; i++)
		strbuf_addc(&text, 'v');
	check_refused(strbuf_slice(&text), ERROR_LIMIT,
		      "Packages:2: a field value of 4194305 bytes; 4194304 are allowed");
}

static void test_no_truncation_is_read_beyond_its_end(void **state)
{
	static const char text[] = "# c\nPackage: a\nD: s\n l\n .\r\n\nB:\n";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		cleanup_free uint8_t *copy = xmemdup(text, len);
		cleanup_deb822 struct deb822 stanza = { 0 };
		struct slice rest = slice_of(copy, len);
		struct error err = { 0 };
		size_t line = 1;

		while (deb822_next(&rest, "t", &line, &stanza, &err) == 1)
			assert_true(stanza.len > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stanzas_come_one_by_one),
		cmocka_unit_test(test_an_empty_text_has_no_stanza),
		cmocka_unit_test(test_field_names_compare_without_case),
		cmocka_unit_test(test_an_empty_value_is_not_a_missing_field),
		cmocka_unit_test(test_continuation_lines_belong_to_the_value),
		cmocka_unit_test(test_a_line_of_blanks_continues_the_value),
		cmocka_unit_test(test_lines_may_end_in_carriage_return),
		cmocka_unit_test(test_comments_are_skipped),
		cmocka_unit_test(test_comments_around_a_value_are_cut),
		cmocka_unit_test(test_a_value_may_begin_with_a_hash),
		cmocka_unit_test(test_bad_lines_are_refused_with_their_number),
		cmocka_unit_test(test_a_nul_byte_is_refused),
		cmocka_unit_test(test_limits_hold),
		cmocka_unit_test(test_no_truncation_is_read_beyond_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
