#include "tests/support/test.h"

#include "base/fs.h"
#include "testkernels/link_tree.h"

struct fixture {
	char *dir, *from, *to, *over;
	struct error err;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = test_dir();
	f->from = fs_join(f->dir, "from");
	f->to = fs_join(f->dir, "to");
	f->over = fs_join(f->dir, "over");
	assert_ok(fs_mkdirs(AT_FDCWD, f->from, &f->err), f->err);
	assert_ok(fs_mkdirs(AT_FDCWD, f->to, &f->err), f->err);
	assert_ok(fs_mkdirs(AT_FDCWD, f->over, &f->err), f->err);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	test_dir_free(f->dir);
	free(f->from);
	free(f->to);
	free(f->over);
	free(f);
	return 0;
}

static void put(struct fixture *f, const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = fs_join(dir, name);
	cleanup_free char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	assert_ok(fs_mkdirs(AT_FDCWD, parent, &f->err), f->err);
	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), 0644, &f->err), f->err);
}

static void expect(struct fixture *f, const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = fs_join(dir, name);
	cleanup_strbuf struct strbuf got = { 0 };

	assert_ok(fs_read(AT_FDCWD, path, MIB, &got, &f->err), f->err);
	assert_string_equal(strbuf_text(&got), text);
}

static void test_files_are_the_same_and_links_stay_links(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *link = fs_join(f->from, "usr/b"), *copied = fs_join(f->to, "usr/b");
	cleanup_free char *proc = fs_join(f->to, "proc/1");
	char target[64] = "";

	put(f, f->from, "usr/a", "text");
	put(f, f->from, "proc/1", "not entered");
	assert_int_equal(symlink("a", link), 0);
	assert_ok(link_tree(f->from, f->to, &f->err), f->err);
	expect(f, f->to, "usr/a", "text");
	assert_int_equal(readlink(copied, target, sizeof(target)), 1);
	assert_false(fs_exists(AT_FDCWD, proc));
}

static void test_what_is_laid_over_replaces_and_the_original_stays(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *link = fs_join(f->from, "lib/libcuda.so.1");

	put(f, f->from, "etc/cache", "old");
	put(f, f->from, "lib/x", "x");
	assert_int_equal(symlink("/etc/cache", link), 0);
	put(f, f->over, "etc/cache", "new");
	put(f, f->over, "lib/libcuda.so.1", "");
	assert_ok(link_tree(f->from, f->to, &f->err), f->err);
	assert_ok(link_tree_over(f->over, f->to, &f->err), f->err);
	expect(f, f->to, "etc/cache", "new");
	expect(f, f->to, "lib/libcuda.so.1", "");
	expect(f, f->to, "lib/x", "x");
	expect(f, f->from, "etc/cache", "old");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_files_are_the_same_and_links_stay_links, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			test_what_is_laid_over_replaces_and_the_original_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
