#include "tests/support/test.h"

#include "builder/rootfs.h"

static struct component *deb(const char *name, const char *control)
{
	struct component *c = component_new(COMPONENT_DEB, name, "1.0");

	c->control = slice_str(arena_strdup(&c->arena, control));
	c->arch = "amd64";
	return c;
}

static struct component *with_file(const char *name, const char *path, const char *text)
{
	struct component *c = deb(name, "Package: x\n");

	component_add_text(c, path, 0644, slice_str(text));
	return c;
}

static void add(struct rootfs *r, struct component *c)
{
	struct error err = { 0 };

	assert_ok(rootfs_add(r, c, &err), err);
}

static void assert_text(struct rootfs *r, const char *path, const char *text)
{
	cleanup_strbuf struct strbuf b = { 0 };
	struct error err = { 0 };

	assert_ok(rootfs_read(r, path, 1000, &b, &err), err);
	assert_string_equal(strbuf_text(&b), text);
}

static void test_a_path_goes_through_the_links_of_a_merged_root(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct component *links = component_new(COMPONENT_FINISH, "filesystem", "");
	struct component *c = deb("libc6", "");

	(void)state;
	component_add_symlink(links, "lib", "usr/lib");
	component_add_dir(c, "lib", 0755);
	component_add_text(c, "lib/libc.so.6", 0755, slice_str("c"));
	add(&r, links);
	add(&r, c);
	assert_int_equal(rootfs_lookup(&r, "lib")->tar->type, TAR_SYMLINK);
	assert_null(rootfs_lookup(&r, "lib/libc.so.6"));
	assert_non_null(rootfs_lookup(&r, "usr/lib/libc.so.6"));
	assert_text(&r, "/lib/libc.so.6", "c");
}

static void test_links_never_lead_out_of_the_root(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct component *c = deb("evil", "");

	(void)state;
	component_add_symlink(c, "up", "../../../etc");
	component_add_text(c, "up/passwd", 0644, slice_str("x"));
	add(&r, c);
	assert_text(&r, "etc/passwd", "x");
}

static void test_links_that_go_in_circles_are_refused(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct component *c = deb("evil", "");
	struct error err = { 0 };

	(void)state;
	component_add_symlink(c, "a", "b");
	component_add_symlink(c, "b", "a");
	component_add_text(c, "a/x", 0644, slice_str("x"));
	assert_int_equal(rootfs_add(&r, c, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, "a/x");
}

static void refuse_name(const char *path, const char *part)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct error err = { 0 };

	assert_int_equal(rootfs_add(&r, with_file("evil", path, "x"), &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, part);
}

static void test_whiteouts_in_packages_are_refused(void **state)
{
	(void)state;
	refuse_name("etc/.wh.passwd", "etc/.wh.passwd");
	refuse_name("etc/.wh..wh..opq", "deleted");
	refuse_name(".wh.etc/x", "deleted");
}

static void test_names_that_no_file_has_are_refused(void **state)
{
	(void)state;
	refuse_name("etc/..", "etc/..: has a part '.' or '..'");
	refuse_name("etc/.", "no name of a file");
}

static void test_names_that_fit_in_no_file_system_are_refused(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	char name[257] = { 0 };

	(void)state;
	memset(name, 'n', 256);
	refuse_name(name, "256 bytes");
	name[255] = 0;
	add(&r, with_file("good", name, "x"));
	assert_non_null(rootfs_lookup(&r, name));
}

static void test_two_owners_of_different_content_are_named_with_the_path(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct error err = { 0 };

	(void)state;
	add(&r, with_file("one", "etc/conf", "1"));
	assert_int_equal(rootfs_add(&r, with_file("two", "etc/conf", "2"), &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "one 1.0");
	assert_contains(err.text, "two 1.0");
	assert_contains(err.text, "/etc/conf");
}

static void test_the_same_content_is_shared(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };

	(void)state;
	add(&r, with_file("one", "etc/conf", "same"));
	add(&r, with_file("two", "etc/conf", "same"));
	assert_string_equal(rootfs_lookup(&r, "etc/conf")->owner->name, "one");
}

static void test_replaces_decides_in_either_order(void **state)
{
	cleanup_rootfs struct rootfs a = { 0 }, b = { 0 };

	(void)state;
	for (int order = 0; order < 2; order++) {
		struct rootfs *r = order ? &a : &b;
		struct component *old = with_file("old", "bin/tool", "old");
		struct component *new = deb("new", "Package: new\nReplaces: x, old (<< 2.0)\n");

		component_add_text(new, "bin/tool", 0755, slice_str("new"));
		add(r, order ? old : new);
		add(r, order ? new : old);
		assert_text(r, "bin/tool", "new");
	}
}

static void test_replaces_of_another_version_does_not_count(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct component *new = deb("new", "Package: new\nReplaces: old (<< 0.5)\n");
	struct error err = { 0 };

	(void)state;
	component_add_text(new, "bin/tool", 0755, slice_str("new"));
	add(&r, with_file("old", "bin/tool", "old"));
	assert_int_equal(rootfs_add(&r, new, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
}

static void test_files_of_the_manifest_win_over_packages(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct component *files = component_new(COMPONENT_TREE, "files", "");

	(void)state;
	component_add_text(files, "etc/conf", 0600, slice_str("mine"));
	add(&r, with_file("one", "etc/conf", "1"));
	add(&r, files);
	assert_text(&r, "etc/conf", "mine");
	assert_int_equal(rootfs_lookup(&r, "etc/conf")->tar->mode, 0600);
}

static void test_a_folder_stays_one_when_a_link_comes_later(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct component *c = deb("two", "");

	(void)state;
	component_add_symlink(c, "usr/share/doc/x", "y");
	add(&r, with_file("one", "usr/share/doc/x/copyright", "c"));
	add(&r, c);
	assert_int_equal(rootfs_lookup(&r, "usr/share/doc/x")->tar->type, TAR_DIR);
}

static void test_a_file_in_the_way_of_a_folder_is_refused(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct error err = { 0 };

	(void)state;
	add(&r, with_file("one", "opt", "a file"));
	assert_int_equal(rootfs_add(&r, with_file("two", "opt/x", "x"), &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "one");
}

static void test_folders_that_nobody_brings_have_their_own_modes(void **state)
{
	cleanup_rootfs struct rootfs r = { 0 };

	(void)state;
	add(&r, with_file("one", "var/tmp/x", "x"));
	assert_int_equal(rootfs_lookup(&r, "var/tmp")->tar->mode, 01777);
	assert_int_equal(rootfs_lookup(&r, "var")->tar->mode, 0755);
	assert_int_equal(rootfs_lookup(&r, "var")->tar->mtime, FIXED_MTIME);
}

static void test_a_folder_precedes_what_it_holds_in_the_order(void **state)
{
	(void)state;
	assert_true(rootfs_compare("a", "a/b") < 0);
	assert_true(rootfs_compare("a/b", "a.b") < 0);
	assert_true(rootfs_compare("a/b", "a-b") < 0);
	assert_true(rootfs_compare("b", "a/z") > 0);
	assert_int_equal(rootfs_compare("a/b", "a/b"), 0);
}

static void assert_folder_defends_itself(struct component *first, struct component *second)
{
	cleanup_rootfs struct rootfs r = { 0 };
	struct error err = { 0 };

	add(&r, first);
	assert_int_equal(rootfs_add(&r, second, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "opt/app");
	assert_contains(err.text, second->name);
}

static void test_a_file_of_the_user_never_replaces_a_folder(void **state)
{
	struct component *files = component_new(COMPONENT_TREE, "files", "");

	(void)state;
	component_add_text(files, "opt/app", 0644, slice_str("x"));
	assert_folder_defends_itself(with_file("one", "opt/app/x", "1"), files);
}

static void test_a_component_cannot_replace_its_own_folder_by_a_file(void **state)
{
	struct component *folder = component_new(COMPONENT_TREE, "files", "");
	struct component *both = component_new(COMPONENT_TREE, "both", "");

	(void)state;
	component_add_dir(folder, "opt", 0755);
	component_add_dir(both, "opt/app", 0755);
	component_add_text(both, "opt/app/x", 0644, slice_str("x"));
	component_add_text(both, "opt/app", 0644, slice_str("x"));
	assert_folder_defends_itself(folder, both);
}

static void test_a_link_of_the_user_is_not_lost_to_a_folder_in_silence(void **state)
{
	struct component *files = component_new(COMPONENT_TREE, "files", "");

	(void)state;
	component_add_symlink(files, "opt/app", "/srv/app");
	assert_folder_defends_itself(with_file("one", "opt/app/x", "1"), files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_path_goes_through_the_links_of_a_merged_root),
		cmocka_unit_test(test_links_never_lead_out_of_the_root),
		cmocka_unit_test(test_links_that_go_in_circles_are_refused),
		cmocka_unit_test(test_whiteouts_in_packages_are_refused),
		cmocka_unit_test(test_names_that_no_file_has_are_refused),
		cmocka_unit_test(test_names_that_fit_in_no_file_system_are_refused),
		cmocka_unit_test(test_two_owners_of_different_content_are_named_with_the_path),
		cmocka_unit_test(test_the_same_content_is_shared),
		cmocka_unit_test(test_replaces_decides_in_either_order),
		cmocka_unit_test(test_replaces_of_another_version_does_not_count),
		cmocka_unit_test(test_files_of_the_manifest_win_over_packages),
		cmocka_unit_test(test_a_folder_stays_one_when_a_link_comes_later),
		cmocka_unit_test(test_a_file_in_the_way_of_a_folder_is_refused),
		cmocka_unit_test(test_a_file_of_the_user_never_replaces_a_folder),
		cmocka_unit_test(test_a_component_cannot_replace_its_own_folder_by_a_file),
		cmocka_unit_test(test_a_link_of_the_user_is_not_lost_to_a_folder_in_silence),
		cmocka_unit_test(test_folders_that_nobody_brings_have_their_own_modes),
		cmocka_unit_test(test_a_folder_precedes_what_it_holds_in_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
