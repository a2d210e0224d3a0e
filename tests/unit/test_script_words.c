#include "tests/support/test.h"

#include "base/strbuf.h"
#include "builder/finish/script_words.h"

/* The active commands as "a b|c": what a script does, in one line. */
static char *commands_of(const char *script)
{
	struct script_commands commands = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf b = { 0 };

	script_words(slice_str(script), &arena, &commands);
	for (size_t i = 0; i < commands.len; i++) {
		const struct script_command *c = &commands.items[i];

		if (!c->active || c->condition)
			continue;
		strbuf_adds(&b, b.len ? "|" : "");
		for (size_t k = 0; k < c->count; k++)
			strbuf_addf(&b, "%s%s", k ? " " : "", c->words[k]);
		strbuf_adds(&b, c->dynamic ? "?" : "");
	}
	vec_release(&commands);
	return strbuf_text(&b)[0] ? strbuf_steal(&b) : xstrdup("");
}

static void assert_commands(const char *script, const char *want)
{
	cleanup_free char *got = commands_of(script);

	assert_string_equal(got, want);
}

static void test_words_are_those_of_the_shell(void **state)
{
	static const char *const cases[][2] = {
		{ "a b  c # no\nd\n", "a b c|d" },
		{ "a 'b c' \"d e\" f\\ g", "a b c d e f g" },
		{ "a \\\n b", "a b" },
		{ "a; b && c || d | e & f", "a|b|c|d|e|f" },
		{ "a >/dev/null 2>&1 <x b", "a b" },
		{ "a <<EOF\nrm -rf /\nEOF\nb", "a|b" },
		{ "x=1 a", "a" },
		{ "dir=/opt; a $dir ${dir}/x \"$dir\"", "a /opt /opt/x /opt" },
		{ "a $DPKG_ROOT/etc", "a /etc" },
		{ "a $(b c) d", "a $(b c) d?" },
		{ "a `b` ${c:-d} $1", "a `b` ${c:-d} $1?" },
		{ "dir=$(pwd); a $dir", "a $dir?" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_commands(cases[i][0], cases[i][1]);
}

static void test_only_the_branches_of_an_installation_count(void **state)
{
	static const char *const cases[][2] = {
		{ "case \"$1\" "
		  "in\nconfigure)\na\n;;\nabort-upgrade|purge)\nb\n;;\n*)\nc\n;;\nesac\nd",
		  "a|d" },
		{ "case \"$1\" in configure|reconfigure) a;; esac", "a" },
		{ "case \"$arch\" in x) a;; *) b;; esac", "a|b" },
		{ "if [ \"$1\" = configure ]; then a; else b; fi", "a|b" },
		{ "if [ \"$1\" = upgrade ]; then a; fi; b", "b" },
		{ "if [ \"$1\" != upgrade ]; then a; fi", "a" },
		{ "if [ \"$1\" = configure ] || [ \"$1\" = abort-remove ]; then a; fi", "a" },
		{ "if [ \"$1\" = abort-remove ] || [ \"$1\" = configure ]; then a; fi", "a" },
		{ "if [ \"$1\" = configure ] && [ -n \"$2\" ]; then a; fi", "" },
		{ "if [ \"$1\" = configure ] && [ -z \"$2\" ]; then a; fi", "a" },
		{ "if dpkg --compare-versions \"$2\" lt 7; then a; else b; fi", "a" },
		{ "if dpkg --compare-versions \"$2\" lt-nl 7; then a; else b; fi", "b" },
		{ "if dpkg --compare-versions \"$2\" gt 7; then a; else b; fi", "b" },
		{ "if [ x = \"$2\" ]; then a; elif true; then b; fi", "a|b" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_commands(cases[i][0], cases[i][1]);
}

static void test_functions_count_where_they_are_defined(void **state)
{
	(void)state;
	assert_commands("f() {\n a\n}\nf\nb", "a|b");
	assert_commands("for x in 1 2; do a $x; done; while read y; do b; done", "a 1|a 2|b");
}

static int only_etc(void *user, char option, const char *path)
{
	(void)user;
	(void)option;
	return str_starts(path, "/etc/");
}

static void assert_certain(const char *script, const char *want)
{
	const struct script_place place = { "tool", "amd64", "configure", only_etc, NULL };
	struct script_commands commands = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf b = { 0 };

	script_words_in(slice_str(script), &place, &arena, &commands);
	for (size_t i = 0; i < commands.len; i++) {
		const struct script_command *c = &commands.items[i];

		if (!c->certain || c->condition || str_equal(c->words[0], "["))
			continue;
		strbuf_adds(&b, b.len ? "|" : "");
		for (size_t k = 0; k < c->count; k++)
			strbuf_addf(&b, "%s%s", k ? " " : "", c->words[k]);
		if (c->output)
			strbuf_addf(&b, ">%s", c->output);
	}
	assert_string_equal(strbuf_text(&b), want);
	vec_release(&commands);
}

static void test_what_is_reached_for_sure_is_told_from_what_may_be(void **state)
{
	static const char *const cases[][2] = {
		{ "[ -e /etc/x ] || a; [ -e /usr/x ] || b; [ -e /usr/x ] && c", "b" },
		{ "if [ ! -d /usr/x ] &&\n [ -z $2 ]\nthen a; else b; fi", "a" },
		{ "if unknown; then a; else b; fi; c", "c" },
		{ "f() { a \"$1\"; }; f x; f y", "a x|a y" },
		{ "run() { \"$@\"; }; run a b 'c d'", "a b c d" },
		{ "v=1; if unknown; then v=2; fi; a $v", "a $v" },
		{ "l='a b'; for i in $l; do x $i; done", "x a|x b" },
		{ "case \"$1\" in configure) a;; *) b;; esac", "a" },
		{ "case x in y|z) a;; x*) b;; *) c;; esac", "b" },
		{ "a=$(dpkg --print-architecture); x $a `dirname /usr/lib/z`", "x amd64 /usr/lib" },
		{ "x ${DPKG_ROOT:+--root=\"$DPKG_ROOT\"} y", "x y" },
		{ "cat >/f <<E\nabc\nE\necho 2>/dev/null", "cat>/f|echo" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_certain(cases[i][0], cases[i][1]);
}

static void test_lines_are_counted_over_continuations(void **state)
{
	struct script_commands commands = { 0 };
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	script_words(slice_str("#!/bin/sh\n\na \\\n b\nc '\n'\nd\n"), &arena, &commands);
	assert_int_equal(commands.len, 3);
	assert_int_equal(commands.items[0].line, 3);
	assert_int_equal(commands.items[1].line, 5);
	assert_int_equal(commands.items[2].line, 7);
	vec_release(&commands);
}

static void test_the_file_of_an_output_is_told(void **state)
{
	static const struct {
		const char *script, *file, *output;
	} cases[] = {
		{ "a >/x", "/x", "/x" },
		{ "a 1>/x", "/x", "/x" },
		{ "a >>/x", "/x", NULL },
		{ "a >$name", "$name", NULL },
		{ "{ a >/x; }", "/x", "/x" },
		{ "{ :; } >/x", "/x", "/x" },
		{ "a 2>/x", NULL, NULL },
		{ "a >&2", NULL, NULL },
		{ "a >/dev/null", NULL, "/dev/null" },
		{ "a </x", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct script_commands commands = { 0 };
		cleanup_arena struct arena arena = { 0 };
		const struct script_command *last;

		script_words(slice_str(cases[i].script), &arena, &commands);
		assert_true(commands.len > 0);
		last = &commands.items[commands.len - 1];
		assert_int_equal(last->file != NULL, cases[i].file != NULL);
		assert_int_equal(last->output != NULL, cases[i].output != NULL);
		assert_true(!last->file || str_equal(last->file, cases[i].file));
		assert_true(!last->output || str_equal(last->output, cases[i].output));
		vec_release(&commands);
	}
}

static void test_text_that_never_closes_ends_all_the_same(void **state)
{
	static const char *const texts[] = {
		"'",  "\"",   "`",    "$(",   "${",  "a <<E\nb",      "case x in",
		"if", "((((", "))))", "<<<<", "a\\", "esac fi done }"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_free char *got = commands_of(texts[i]);

		assert_non_null(got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_those_of_the_shell),
		cmocka_unit_test(test_only_the_branches_of_an_installation_count),
		cmocka_unit_test(test_functions_count_where_they_are_defined),
		cmocka_unit_test(test_what_is_reached_for_sure_is_told_from_what_may_be),
		cmocka_unit_test(test_lines_are_counted_over_continuations),
		cmocka_unit_test(test_the_file_of_an_output_is_told),
		cmocka_unit_test(test_text_that_never_closes_ends_all_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
