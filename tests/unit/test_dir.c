#include "tests/support/test.h"

#include <sys/stat.h>

#include "builder/sources/dir.h"

static char *make_tree(const char *dir)
{
	cleanup_free char *sub = fs_join(dir, "t/sub"), *file = fs_join(dir, "t/sub/run"),
			  *link = fs_join(dir, "t/link");
	struct error err = { 0 };

	assert_ok(fs_mkdirs(AT_FDCWD, sub, &err), err);
	assert_ok(fs_write(AT_FDCWD, file, slice_str("text"), 0700, &err), err);
	assert_int_equal(symlink("../../outside", link), 0);
	return fs_join(dir, "t");
}

static const char listing[] =
	"gpuimg folder 1\n"
	"l 13 ../../outside x/link\n"
	"d 755 x/sub\n"
	"f 755 4 982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1 x/sub/run\n";

static void test_a_folder_is_listed_with_modes_and_digests(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *from = make_tree(dir);
	cleanup_component struct component *c = component_new(COMPONENT_TREE, "t", "");
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(dir_append(c, from, "x", NULL, NULL, &err), err);
	dir_listing_write(c, &text);
	assert_contains(strbuf_text(&text), "l 13 ../../outside x/link\n");
	assert_contains(strbuf_text(&text), "d 755 x/sub\n");
	assert_contains(strbuf_text(&text), "f 755 4 982d9e3e");
}

static void test_a_listing_reads_back_as_it_was(void **state)
{
	cleanup_component struct component *c = component_new(COMPONENT_TREE, "t", "");
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = NULL;
	struct error err = { 0 };

	(void)state;
	assert_ok(dir_listing_read(c, slice_str(listing), "/from", &err), err);
	dir_listing_write(c, &text);
	assert_string_equal(strbuf_text(&text), listing);
	path = content_host_path(&c->entries.items[2].content);
	assert_string_equal(path, "/from/x/sub/run");
}

static void test_every_truncated_line_is_refused_or_whole(void **state)
{
	(void)state;
	for (size_t len = 0; len < strlen(listing); len++) {
		cleanup_component struct component *c = component_new(COMPONENT_TREE, "t", "");
		cleanup_free uint8_t *copy = xcalloc(len + 1, 1);
		struct error err = { 0 };

		memcpy(copy, listing, len);
		if (dir_listing_read(c, slice_of(copy, len), NULL, &err) < 0)
			assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_a_pipe_is_refused_and_named(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *from = make_tree(dir), *pipe = fs_join(from, "pipe");
	cleanup_component struct component *c = component_new(COMPONENT_TREE, "t", "");
	struct error err = { 0 };

	(void)state;
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(dir_append(c, from, "x", NULL, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "pipe");
}

static void test_a_place_in_the_image_never_leaves_it(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	const char *out;

	(void)state;
	assert_ok(dir_image_path("//opt/./app/", &arena, &out, &err), err);
	assert_string_equal(out, "opt/app");
	assert_int_equal(dir_image_path("/opt/../../etc", &arena, &out, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_folder_is_listed_with_modes_and_digests),
		cmocka_unit_test(test_a_listing_reads_back_as_it_was),
		cmocka_unit_test(test_every_truncated_line_is_refused_or_whole),
		cmocka_unit_test(test_a_pipe_is_refused_and_named),
		cmocka_unit_test(test_a_place_in_the_image_never_leaves_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
