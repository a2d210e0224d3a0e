#include "tests/support/test.h"

#include "lint/image_diff.h"
#include "tests/support/image.h"

/* Two images of text, and what differs. */
struct pair {
	char *dir;
	struct image a, b;
	struct image_diff diff;
};

static void open_image(const char *dir, const char *tag, struct image *out)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *name = xasprintf("oci:%s:%s", dir, tag);
	struct platform platform = { .os = "linux", .architecture = "amd64" };
	struct image_name parsed;
	struct error err = { 0 };

	assert_ok(image_name_parse(name, &arena, &parsed, &err), err);
	assert_ok(image_open(&parsed, &platform, out, &err), err);
}

static void compare(struct pair *p, const char *a, const char *b)
{
	struct lint_options options = { 0 };
	struct error err = { 0 };

	*p = (struct pair){ .dir = test_dir() };
	test_image(p->dir, "a", a);
	test_image(p->dir, "b", b);
	open_image(p->dir, "a", &p->a);
	open_image(p->dir, "b", &p->b);
	assert_ok(image_diff_make(&p->a, &p->b, &options, &p->diff, &err), err);
}

static void release(struct pair *p)
{
	image_diff_release(&p->diff);
	image_release(&p->a);
	image_release(&p->b);
	test_dir_free(p->dir);
}

static const struct diff_row *row(const struct diff_rows *rows, const char *what)
{
	for (size_t i = 0; i < rows->len; i++) {
		if (str_equal(rows->items[i].what, what))
			return &rows->items[i];
	}
	fail_msg("%s does not differ", what);
	return NULL;
}

static void test_how_layers_are_stored_is_no_difference(void **state)
{
	struct pair p;

	(void)state;
	compare(&p, "env A=1\nlayer gzip\nfile x =y\n", "env A=1\nlayer zstd\nfile x =y\n");
	assert_false(p.diff.different);
	assert_int_equal(p.diff.files.len, 0);
	release(&p);
}

static void test_files_of_one_size_differ_by_their_content(void **state)
{
	struct pair p;

	(void)state;
	compare(&p, "layer\nfile x =aaaa\nfile y =1\nlink l -> x\n",
		"layer\nfile x =bbbb\nfile z =1\nlink l -> y\n");
	assert_true(p.diff.different);
	assert_string_not_equal(row(&p.diff.files, "/x")->before, row(&p.diff.files, "/x")->after);
	assert_null(row(&p.diff.files, "/y")->after);
	assert_null(row(&p.diff.files, "/z")->before);
	assert_string_equal(row(&p.diff.files, "/l")->after, "-> y");
	release(&p);
}

static void test_configuration_is_compared_and_secrets_are_masked(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct pair p;

	(void)state;
	compare(&p, "env A=1\nenv DB_PASSWORD=q9Zr4tVw81Lm\nuser a\nlayer\n",
		"env A=2\nenv DB_PASSWORD=x8Tr4tVw81LmZZ\nuser b\nlayer\n");
	assert_string_equal(row(&p.diff.config, "Env A")->after, "2");
	assert_string_equal(row(&p.diff.config, "User")->before, "a");
	image_diff_text(&p.diff, 30, &text);
	assert_null(strstr(strbuf_text(&text), "q9Zr"));
	assert_contains(strbuf_text(&text),
			"Env DB_PASSWORD: (12 characters)  =>  (14 characters)");
	release(&p);
}

static void test_findings_and_packages_that_appear_are_told(void **state)
{
	struct pair p;

	(void)state;
	compare(&p,
		"layer\nfile var/lib/dpkg/status =Package: x\\nVersion: 1\\nArchitecture: all\\n\n",
		"layer\nfile var/lib/dpkg/status =Package: x\\nVersion: 2\\nArchitecture: all\\n\n"
		"layer\nfile a =b\nlayer\nwhiteout a\n");
	assert_string_equal(row(&p.diff.packages, "x:all (dpkg)")->after, "2");
	assert_int_equal(p.diff.findings.len, 1);
	assert_true(str_starts(p.diff.findings.items[0].what, "SIZ001"));
	assert_null(p.diff.findings.items[0].before);
	release(&p);
}

static void test_rows_beyond_the_limit_are_counted(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct pair p;

	(void)state;
	compare(&p, "layer\nfile a =1\nfile b =1\nfile c =1\n", "layer\n");
	image_diff_text(&p.diff, 2, &text);
	assert_contains(strbuf_text(&text), "and 1 more");
	release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_how_layers_are_stored_is_no_difference),
		cmocka_unit_test(test_files_of_one_size_differ_by_their_content),
		cmocka_unit_test(test_configuration_is_compared_and_secrets_are_masked),
		cmocka_unit_test(test_findings_and_packages_that_appear_are_told),
		cmocka_unit_test(test_rows_beyond_the_limit_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
