#include "tests/support/test.h"

#include "formats/ar_read.h"
#include "tests/support/bytes.h"

static void member(struct strbuf *out, const char *name, const char *size, const char *content)
{
	strbuf_addf(out, "%-16s%-12s%-6s%-6s%-8s%-10s`\n", name, "0", "0", "0", "100644", size);
	strbuf_adds(out, content);
	if (strlen(content) & 1)
		strbuf_addc(out, '\n');
}

/* "name=content;" of every member. */
static int list(struct slice ar, size_t step, struct strbuf *out, struct error *err)
{
	cleanup_stream struct stream *s = test_dribble(ar, step);
	cleanup_ar_reader struct ar_reader *r = ar_read_open(s);
	struct ar_member m;
	int rc;

	while ((rc = ar_read_next(r, &m, err)) > 0) {
		size_t before;

		strbuf_addf(out, "%s=", m.name);
		before = out->len;
		if (stream_read_all(ar_read_content(r), MIB, out, err) < 0)
			return -1;
		assert_int_equal(out->len - before, m.size);
		strbuf_addc(out, ';');
	}
	return rc;
}

static void sample(struct strbuf *out)
{
	strbuf_adds(out, "!<arch>\n");
	member(out, "debian-binary", "4", "2.0\n");
	member(out, "control.tar.xz/", "3", "abc");
	member(out, "data.tar.xz", "0", "");
	member(out, "last", "1", "x");
}

static void test_members_come_in_order_with_their_content(void **state)
{
	(void)state;
	for (size_t step = 1; step < 80; step++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf ar = { 0 }, out = { 0 };

		sample(&ar);
		assert_ok(list(strbuf_slice(&ar), step, &out, &err), err);
		assert_string_equal(strbuf_text(&out),
				    "debian-binary=2.0\n;control.tar.xz=abc;data.tar.xz=;last=x;");
	}
}

static void test_content_that_was_not_read_is_skipped(void **state)
{
	struct error err = { 0 };
	struct ar_member m;
	cleanup_strbuf struct strbuf ar = { 0 };
	cleanup_stream struct stream *s = NULL;
	cleanup_ar_reader struct ar_reader *r = NULL;
	char byte;

	(void)state;
	sample(&ar);
	s = stream_memory(strbuf_slice(&ar));
	r = ar_read_open(s);
	assert_int_equal(ar_read_next(r, &m, &err), 1);
	assert_int_equal(stream_read(ar_read_content(r), &byte, 1, &err), 1);
	assert_int_equal(ar_read_next(r, &m, &err), 1);
	assert_string_equal(m.name, "control.tar.xz");
	assert_int_equal(ar_read_next(r, &m, &err), 1);
	assert_int_equal(ar_read_next(r, &m, &err), 1);
	assert_string_equal(m.name, "last");
	assert_int_equal(ar_read_next(r, &m, &err), 0);
	assert_int_equal(ar_read_next(r, &m, &err), 0);
}

static void test_long_names_of_gnu_and_bsd_are_read(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf ar = { 0 }, out = { 0 };

	(void)state;
	strbuf_adds(&ar, "!<arch>\n");
	member(&ar, "/", "4", "\1\2\3\4");
	member(&ar, "//", "44", "first-long-name.o/\nsecond-very-long-name.o/\n");
	member(&ar, "/19", "1", "b");
	member(&ar, "/0", "1", "a");
	member(&ar, "#1/20", "22", "bsd-name-with-dots.ocd");
	assert_ok(list(strbuf_slice(&ar), SIZE_MAX, &out, &err), err);
	assert_string_equal(strbuf_text(&out), "second-very-long-name.o=b;first-long-name.o=a;"
					       "bsd-name-with-dots.o=cd;");
}

static void test_every_truncation_within_a_member_is_refused(void **state)
{
	cleanup_strbuf struct strbuf ar = { 0 };

	(void)state;
	sample(&ar);
	for (size_t len = 0; len < ar.len; len++) {
		/* where a member ends, with or without its padding, the archive may end */
		bool boundary = len == 8 || len == 72 || len == 135 || len == 136 || len == 196 ||
				len == 257;
		struct error err = { 0 };
		cleanup_strbuf struct strbuf out = { 0 };
		cleanup_free uint8_t *copy = xmemdup(ar.data, len);
		int rc = list(slice_of(copy, len), SIZE_MAX, &out, &err);

		if (rc != (boundary ? 0 : -1))
			fail_msg("cut at %zu: %d %s", len, rc, err.text);
		if (rc < 0)
			assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_damaged_headers_are_refused(void **state)
{
	static const struct {
		const char *name, *size;
	} cases[] = {
		{ "f", "" },      { "f", "-1" },
		{ "f", "1x" },    { "f", "0x1" },
		{ "f", " 1" },    { "", "1" },
		{ "/9", "1" },    { "/x", "1" },
		{ "#1/", "1" },   { "#1/2", "1" },
		{ "#1/-1", "1" }, { "#1/1", "1" /* an empty name: its byte is NUL below */ },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf ar = { 0 }, out = { 0 };

		strbuf_adds(&ar, "!<arch>\n");
		member(&ar, cases[i].name, cases[i].size, "x");
		ar.data[8 + 60] = '\0';
		assert_int_equal(list(strbuf_slice(&ar), SIZE_MAX, &out, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_what_is_no_archive_is_refused(void **state)
{
	static const char *const cases[] = { "", "!<arch>", "!<arch>x", "not an archive at all" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf out = { 0 };

		assert_int_equal(list(slice_str(cases[i]), SIZE_MAX, &out, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_a_huge_table_of_names_is_a_limit(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf ar = { 0 }, out = { 0 };

	(void)state;
	strbuf_adds(&ar, "!<arch>\n");
	member(&ar, "//", "9999999999", "");
	strbuf_add_zeros(&ar, 2 << 20);
	assert_int_equal(list(strbuf_slice(&ar), SIZE_MAX, &out, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

static void test_errors_of_the_inner_stream_come_out_as_they_are(void **state)
{
	cleanup_strbuf struct strbuf ar = { 0 };

	(void)state;
	sample(&ar);
	for (size_t len = 0; len <= ar.len; len += 17) {
		struct error err = { 0 };
		struct ar_member m;
		cleanup_stream struct stream *s = test_cut(slice_of(ar.data, len));
		cleanup_ar_reader struct ar_reader *r = ar_read_open(s);
		int rc;

		while ((rc = ar_read_next(r, &m, &err)) > 0)
			;
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, ERROR_NETWORK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_come_in_order_with_their_content),
		cmocka_unit_test(test_content_that_was_not_read_is_skipped),
		cmocka_unit_test(test_long_names_of_gnu_and_bsd_are_read),
		cmocka_unit_test(test_every_truncation_within_a_member_is_refused),
		cmocka_unit_test(test_damaged_headers_are_refused),
		cmocka_unit_test(test_what_is_no_archive_is_refused),
		cmocka_unit_test(test_a_huge_table_of_names_is_a_limit),
		cmocka_unit_test(test_errors_of_the_inner_stream_come_out_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
