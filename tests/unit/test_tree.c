#include "tests/support/test.h"

#include "oci/tree.h"

static struct tree_node *add(struct tree *t, size_t layer, enum tar_type type, const char *path,
			     const char *link)
{
	struct tar_entry e = { .type = type, .path = path, .link = link, .mode = 0755 };

	return tree_add(t, layer, &e);
}

static struct tree_node *file(struct tree *t, size_t layer, const char *path)
{
	return add(t, layer, TAR_FILE, path, "");
}

static struct tree_node *dir(struct tree *t, size_t layer, const char *path)
{
	return add(t, layer, TAR_DIR, path, "");
}

static void assert_path(const struct tree *t, const struct tree_node *node, const char *want)
{
	cleanup_strbuf struct strbuf path = { 0 };
	const char *name = strrchr(want, '/');

	assert_string_equal(tree_path(t, node, &path), want);
	assert_string_equal(tree_name(t, node), name ? name + 1 : want);
}

static void assert_fate(const struct tree_node *n, enum tree_fate fate, size_t layer)
{
	assert_int_equal(n->fate, fate);
	assert_int_equal(n->fate_layer, layer);
}

static void test_a_later_layer_overwrites_a_file(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *a = file(&t, 0, "a"), *b = file(&t, 1, "a");

	(void)state;
	assert_fate(a, TREE_OVERWRITTEN, 1);
	assert_ptr_equal(tree_lookup(&t, "a"), b);
	assert_int_equal(t.count, 2);
}

static void test_a_whiteout_deletes_a_tree_of_lower_layers(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *d = dir(&t, 0, "d"), *x = file(&t, 0, "d/e/x"), *y = file(&t, 0, "dy");

	(void)state;
	assert_null(file(&t, 1, ".wh.d"));
	assert_fate(d, TREE_DELETED, 1);
	assert_fate(x, TREE_DELETED, 1);
	assert_fate(y, TREE_EFFECTIVE, 0);
	assert_null(tree_lookup(&t, "d/e/x"));
	assert_false(tree_is_dir(&t, "d"));
	assert_false(tree_is_dir(&t, "d/e"));
}

static void test_a_whiteout_spares_its_own_layer_in_either_order(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *low = file(&t, 0, "d/low"), *before, *after;

	(void)state;
	before = file(&t, 1, "d/before");
	file(&t, 1, ".wh.d");
	after = file(&t, 1, "d/after");
	file(&t, 1, ".wh.d");
	assert_fate(low, TREE_DELETED, 1);
	assert_fate(before, TREE_EFFECTIVE, 0);
	assert_fate(after, TREE_EFFECTIVE, 0);
	file(&t, 2, ".wh.d");
	assert_fate(before, TREE_DELETED, 2);
	assert_fate(after, TREE_DELETED, 2);
}

static void test_opaque_hides_only_lower_layers_and_not_the_directory(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *d = dir(&t, 0, "d"), *low = file(&t, 0, "d/s/low");
	struct tree_node *new = file(&t, 1, "d/s/new");

	(void)state;
	assert_null(file(&t, 1, "d/.wh..wh..opq"));
	assert_fate(low, TREE_OPAQUE, 1);
	assert_fate(new, TREE_EFFECTIVE, 0);
	assert_fate(d, TREE_EFFECTIVE, 0);
	assert_null(file(&t, 2, ".wh..wh..opq"));
	assert_fate(new, TREE_OPAQUE, 2);
	assert_fate(d, TREE_OPAQUE, 2);
}

static void test_a_file_over_a_directory_kills_all_below(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *d = dir(&t, 0, "d"), *x = file(&t, 0, "d/e/x");
	struct tree_node *f = file(&t, 1, "d");

	(void)state;
	assert_fate(d, TREE_OVERWRITTEN, 1);
	assert_fate(x, TREE_OVERWRITTEN, 1);
	assert_ptr_equal(tree_lookup(&t, "d"), f);
	assert_false(tree_is_dir(&t, "d"));
}

static void test_a_directory_over_a_directory_keeps_what_is_in_it(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *d = dir(&t, 0, "d"), *x = file(&t, 0, "d/x"), *e = dir(&t, 1, "d");

	(void)state;
	assert_fate(d, TREE_OVERWRITTEN, 1);
	assert_fate(x, TREE_EFFECTIVE, 0);
	assert_ptr_equal(tree_lookup(&t, "d"), e);
}

static void test_an_entry_below_a_file_replaces_the_file(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *f = file(&t, 0, "d"), *x = file(&t, 1, "d/x");

	(void)state;
	assert_fate(f, TREE_OVERWRITTEN, 1);
	assert_ptr_equal(tree_lookup(&t, "d/x"), x);
	assert_true(tree_is_dir(&t, "d"));
}

static void test_a_path_through_a_directory_link_counts_where_it_ends(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *low = file(&t, 0, "usr/lib/x"), *x;

	(void)state;
	add(&t, 0, TAR_SYMLINK, "lib", "usr/lib");
	x = file(&t, 1, "lib/x");
	assert_path(&t, x, "usr/lib/x");
	assert_int_equal(t.detours.len, 1);
	assert_ptr_equal(t.detours.items[0].node, x);
	assert_string_equal(t.detours.items[0].written, "lib/x");
	assert_fate(low, TREE_OVERWRITTEN, 1);
	assert_null(tree_lookup(&t, "lib/x"));
	file(&t, 2, "lib/.wh.x");
	assert_fate(x, TREE_DELETED, 2);
}

static void test_a_dangling_or_absolute_link_makes_its_directory(void **state)
{
	cleanup_tree struct tree t = { 0 };

	(void)state;
	add(&t, 0, TAR_SYMLINK, "run", "/var/../var/run");
	assert_path(&t, file(&t, 1, "run/pid"), "var/run/pid");
	assert_true(tree_is_dir(&t, "var/run"));
	assert_true(tree_is_dir(&t, "run"));
	add(&t, 1, TAR_SYMLINK, "up", "../../../..");
	assert_path(&t, file(&t, 1, "up/top"), "top");
}

static void test_a_link_to_a_file_or_itself_gives_way_to_a_directory(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *f = file(&t, 0, "f"), *l = add(&t, 0, TAR_SYMLINK, "l", "f");
	struct tree_node *self = add(&t, 0, TAR_SYMLINK, "self", "self");

	(void)state;
	assert_path(&t, file(&t, 1, "l/x"), "l/x");
	assert_fate(l, TREE_OVERWRITTEN, 1);
	assert_fate(f, TREE_EFFECTIVE, 0);
	assert_path(&t, file(&t, 1, "self/x"), "self/x");
	assert_fate(self, TREE_OVERWRITTEN, 1);
}

static void test_a_file_over_a_link_replaces_the_link(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *f = file(&t, 0, "f"), *l = add(&t, 0, TAR_SYMLINK, "l", "f");
	struct tree_node *n = file(&t, 1, "l");

	(void)state;
	assert_fate(l, TREE_OVERWRITTEN, 1);
	assert_fate(f, TREE_EFFECTIVE, 0);
	assert_ptr_equal(tree_lookup(&t, "l"), n);
}

static void test_hard_links_know_their_file_also_through_each_other(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_node *f = file(&t, 0, "d/f"), *a, *b;

	(void)state;
	a = add(&t, 0, TAR_HARDLINK, "a", "d/f");
	b = add(&t, 0, TAR_HARDLINK, "b", "./a");
	assert_ptr_equal(tree_target(a), f);
	assert_ptr_equal(tree_target(b), f);
	assert_null(tree_target(add(&t, 0, TAR_HARDLINK, "c", "missing")));
	assert_null(tree_target(add(&t, 0, TAR_HARDLINK, "e", "d")));
	file(&t, 1, "d/.wh.f");
	assert_ptr_equal(tree_target(a), f);
	assert_fate(a, TREE_EFFECTIVE, 0);
}

static void test_malformed_whiteouts_are_dropped(void **state)
{
	static const char *const paths[] = { ".wh.",      "d/.wh.",          "d/.wh..",
					     "d/.wh...",  ".wh..wh.plnk",    "nowhere/.wh.x",
					     "d/f/.wh.x", "d/f/.wh..wh..opq" };
	cleanup_tree struct tree t = { 0 };
	struct tree_node *f = file(&t, 0, "d/f");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_null(file(&t, 1, paths[i]));
	assert_fate(f, TREE_EFFECTIVE, 0);
	assert_int_equal(t.count, 1);
}

struct resolution {
	const char *path, *ends; /* ends NULL: a loop */
	bool found;
};

static void test_paths_resolve_inside_the_root(void **state)
{
	static const struct resolution cases[] = {
		{ "usr/lib/x", "usr/lib/x", true },
		{ "/lib/x", "usr/lib/x", true },
		{ "lib/link", "usr/lib/x", true },
		{ "lib/../lib/./x", "usr/lib/x", true },
		{ "out", "usr/lib/x", true },
		{ "../../usr/lib/x", "usr/lib/x", true },
		{ "lib/missing/y", "usr/lib/missing/y", false },
		{ "dangling", "nowhere/z", false },
		{ "usr/lib", "usr/lib", false },
		{ "usr/lib/x/y", "usr/lib/x/y", false },
		{ "loop/x", NULL, false },
		{ "a", NULL, false },
		{ "hard", "usr/lib/x", true },
	};
	cleanup_tree struct tree t = { 0 };
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	file(&t, 0, "usr/lib/x");
	add(&t, 0, TAR_SYMLINK, "lib", "usr/lib");
	add(&t, 0, TAR_SYMLINK, "usr/lib/link", "x");
	add(&t, 0, TAR_SYMLINK, "out", "/../../lib/x");
	add(&t, 0, TAR_SYMLINK, "dangling", "nowhere/z");
	add(&t, 0, TAR_SYMLINK, "loop", "loop");
	add(&t, 0, TAR_SYMLINK, "a", "b");
	add(&t, 0, TAR_SYMLINK, "b", "a");
	add(&t, 0, TAR_HARDLINK, "hard", "out");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *ends = "unset";
		struct tree_node *n = tree_resolve(&t, cases[i].path, &arena, &ends);

		assert_int_equal(n != NULL, cases[i].found);
		if (!cases[i].ends)
			assert_null(ends);
		else
			assert_string_equal(ends, cases[i].ends);
	}
}

static void test_sorted_and_listed_nodes_are_the_effective_ones(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tree_nodes list = { 0 };
	struct tree_node **nodes;
	size_t count;

	(void)state;
	file(&t, 0, "d/b");
	file(&t, 0, "d/a");
	file(&t, 0, "d/sub/c");
	file(&t, 0, "gone");
	add(&t, 0, TAR_SYMLINK, "link", "d");
	file(&t, 1, ".wh.gone");
	nodes = tree_sorted(&t, &count);
	assert_int_equal(count, 4);
	assert_path(&t, nodes[0], "d/a");
	assert_path(&t, nodes[3], "link");
	tree_list(&t, "link", &list);
	assert_int_equal(list.len, 2);
	assert_path(&t, list.items[0], "d/a");
	assert_path(&t, list.items[1], "d/b");
	vec_release(&list);
}

static void test_an_empty_tree_answers(void **state)
{
	cleanup_tree struct tree t = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct tree_nodes list = { 0 };
	const char *path;
	size_t count;

	(void)state;
	assert_null(tree_lookup(&t, "x"));
	assert_null(tree_resolve(&t, "x/../y", &arena, &path));
	assert_string_equal(path, "y");
	assert_true(tree_is_dir(&t, "/"));
	tree_sorted(&t, &count);
	assert_int_equal(count, 0);
	tree_list(&t, "", &list);
	assert_int_equal(list.len, 0);
	file(&t, 0, ".wh.x");
	file(&t, 0, ".wh..wh..opq");
}

static void test_the_root_is_an_entry_as_any_other(void **state)
{
	cleanup_tree struct tree t = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct tree_node *root = dir(&t, 0, ".");

	(void)state;
	file(&t, 0, "x");
	assert_path(&t, root, "");
	assert_ptr_equal(tree_resolve(&t, "/", &arena, NULL), root);
	assert_non_null(tree_lookup(&t, "x"));
}

static void test_paths_sort_as_bytes_also_where_a_name_is_part_of_another(void **state)
{
	static const char *const sorted[] = { "a", "a-b", "a-b/y", "a.c", "a/c", "a/c-d", "a/c/x" };
	cleanup_tree struct tree t = { 0 };
	struct tree_node **nodes;
	size_t count;

	(void)state;
	file(&t, 0, "a/c/x");
	file(&t, 0, "a/c-d");
	dir(&t, 0, "a/c");
	file(&t, 0, "a.c");
	file(&t, 0, "a-b/y");
	dir(&t, 0, "a-b");
	dir(&t, 0, "a");
	nodes = tree_sorted(&t, &count);
	assert_int_equal(count, ARRAY_LEN(sorted));
	for (size_t i = 0; i < count; i++)
		assert_path(&t, nodes[i], sorted[i]);
}

static void test_a_number_of_a_user_that_does_not_fit_is_the_largest(void **state)
{
	cleanup_tree struct tree t = { 0 };
	struct tar_entry e = { .path = "f", .link = "", .uid = UINT64_C(1) << 40, .gid = 7 };
	struct tree_node *n = tree_add(&t, 0, &e);

	(void)state;
	assert_int_equal(n->entry.uid, UINT32_MAX);
	assert_int_equal(n->entry.gid, 7);
}

static void test_a_node_takes_64_bytes(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct tree_node), 64);
}

/* Each of these is quadratic for a tree that looks at what is already gone; then it takes minutes.
 */
static void test_hostile_orders_take_no_quadratic_time(void **state)
{
	enum { COUNT = 100000 };
	cleanup_tree struct tree t = { 0 };
	char path[64];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		snprintf(path, sizeof(path), "d/%d", i);
		file(&t, 0, path);
	}
	for (int i = 0; i < COUNT; i++) {
		snprintf(path, sizeof(path), "d/new%d", i);
		file(&t, 1, path);
		file(&t, 1, "d/.wh..wh..opq");
		file(&t, 1, ".wh.d");
	}
	for (int i = 0; i < COUNT; i++) {
		file(&t, 2, "d");
		file(&t, 2, "d/x");
	}
	for (size_t i = 3; i < COUNT; i++)
		file(&t, i, "d/.wh..wh..opq");
	assert_null(tree_lookup(&t, "d/x"));
}

static void test_deep_paths_through_links_stay_bounded(void **state)
{
	cleanup_tree struct tree t = { 0 };
	cleanup_strbuf struct strbuf deep = { 0 }, through = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		strbuf_adds(&deep, "a/");
	strbuf_adds(&deep, "l");
	for (int i = 0; i < 200; i++)
		strbuf_adds(&through, "l/");
	strbuf_adds(&through, "x");
	add(&t, 0, TAR_SYMLINK, "l", deep.data);
	add(&t, 0, TAR_SYMLINK, deep.data, deep.data);
	assert_non_null(file(&t, 0, through.data));
	assert_non_null(file(&t, 1, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_later_layer_overwrites_a_file),
		cmocka_unit_test(test_a_whiteout_deletes_a_tree_of_lower_layers),
		cmocka_unit_test(test_a_whiteout_spares_its_own_layer_in_either_order),
		cmocka_unit_test(test_opaque_hides_only_lower_layers_and_not_the_directory),
		cmocka_unit_test(test_a_file_over_a_directory_kills_all_below),
		cmocka_unit_test(test_a_directory_over_a_directory_keeps_what_is_in_it),
		cmocka_unit_test(test_an_entry_below_a_file_replaces_the_file),
		cmocka_unit_test(test_a_path_through_a_directory_link_counts_where_it_ends),
		cmocka_unit_test(test_a_dangling_or_absolute_link_makes_its_directory),
		cmocka_unit_test(test_a_link_to_a_file_or_itself_gives_way_to_a_directory),
		cmocka_unit_test(test_a_file_over_a_link_replaces_the_link),
		cmocka_unit_test(test_hard_links_know_their_file_also_through_each_other),
		cmocka_unit_test(test_malformed_whiteouts_are_dropped),
		cmocka_unit_test(test_paths_resolve_inside_the_root),
		cmocka_unit_test(test_sorted_and_listed_nodes_are_the_effective_ones),
		cmocka_unit_test(test_an_empty_tree_answers),
		cmocka_unit_test(test_the_root_is_an_entry_as_any_other),
		cmocka_unit_test(test_paths_sort_as_bytes_also_where_a_name_is_part_of_another),
		cmocka_unit_test(test_a_number_of_a_user_that_does_not_fit_is_the_largest),
		cmocka_unit_test(test_a_node_takes_64_bytes),
		cmocka_unit_test(test_hostile_orders_take_no_quadratic_time),
		cmocka_unit_test(test_deep_paths_through_links_stay_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
