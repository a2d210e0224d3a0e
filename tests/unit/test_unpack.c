#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "formats/tar_write.h"
#include "testkernels/unpack.h"

/* A tree being unpacked, and a file beside it that nothing may touch. */
struct fixture {
	char *dir;
	int rootfd;
	struct unpack u;
	struct error err;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	cleanup_free char *root = NULL;

	f->dir = test_dir();
	root = fs_join(f->dir, "root");
	assert_int_equal(mkdir(root, 0755), 0);
	f->rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unpack_init(&f->u, f->rootfd, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	unpack_release(&f->u);
	close(f->rootfd);
	test_dir_free(f->dir);
	free(f);
	return 0;
}

struct layer {
	struct strbuf tar;
	struct sink *sink;
};

static struct layer layer_begin(void)
{
	return (struct layer){ 0 };
}

static void add(struct layer *l, enum tar_type type, const char *path, const char *text)
{
	struct tar_entry e = { .type = type,
			       .path = path,
			       .mode = type == TAR_DIR ? 0755 : 0644,
			       .link = type == TAR_FILE || type == TAR_DIR ? "" : text,
			       .size = type == TAR_FILE ? strlen(text) : 0 };
	cleanup_stream struct stream *content = stream_memory(slice_str(text));
	cleanup_sink struct sink *sink = sink_memory(&l->tar);
	struct error err = { 0 };

	assert_ok(tar_write_entry(sink, &e, type == TAR_FILE ? content : NULL, &err), err);
}

static int apply(struct fixture *f, struct layer *l)
{
	cleanup_sink struct sink *sink = sink_memory(&l->tar);
	struct error err = { 0 };
	struct stream *tar;
	int rc;

	assert_ok(tar_write_end(sink, &err), err);
	tar = stream_memory(strbuf_slice(&l->tar));
	rc = unpack_layer(&f->u, tar, &f->err);
	stream_close(tar);
	strbuf_release(&l->tar);
	return rc;
}

static void applies(struct fixture *f, struct layer *l)
{
	assert_ok(apply(f, l), f->err);
}

static bool exists(const struct fixture *f, const char *path)
{
	struct stat st;

	return fstatat(f->rootfd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static void assert_holds(const struct fixture *f, const char *path, const char *text)
{
	cleanup_strbuf struct strbuf got = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(f->rootfd, path, MIB, &got, &err), err);
	assert_string_equal(strbuf_text(&got), text);
}

static void assert_nothing_beside_the_root(const struct fixture *f)
{
	struct fs_names names = { 0 };
	struct error err = { 0 };

	assert_ok(fs_list(AT_FDCWD, f->dir, &names, &err), err);
	assert_int_equal(names.len, 1);
	fs_names_release(&names);
}

static void test_a_later_layer_wins(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin(), b = layer_begin();

	add(&a, TAR_FILE, "d/x", "one");
	add(&a, TAR_FILE, "d/y", "stays");
	add(&b, TAR_FILE, "d/x", "two");
	applies(f, &a);
	applies(f, &b);
	assert_holds(f, "d/x", "two");
	assert_holds(f, "d/y", "stays");
}

static void test_a_whiteout_hides_a_tree_of_lower_layers(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin(), b = layer_begin();

	add(&a, TAR_FILE, "d/e/x", "one");
	add(&b, TAR_FILE, "d/.wh.e", "");
	applies(f, &a);
	applies(f, &b);
	assert_true(exists(f, "d"));
	assert_false(exists(f, "d/e"));
	assert_false(exists(f, "d/.wh.e"));
}

static void test_a_whiteout_keeps_what_its_own_layer_adds(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_FILE, "x", "new");
	add(&a, TAR_FILE, ".wh.x", "");
	applies(f, &a);
	assert_holds(f, "x", "new");
}

static void test_an_opaque_directory_keeps_only_its_own_layer(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin(), b = layer_begin();

	add(&a, TAR_FILE, "d/old", "1");
	add(&a, TAR_FILE, "d/sub/old", "1");
	add(&b, TAR_FILE, "d/sub/new", "2");
	add(&b, TAR_FILE, "d/.wh..wh..opq", "");
	applies(f, &a);
	applies(f, &b);
	assert_false(exists(f, "d/old"));
	assert_false(exists(f, "d/sub/old"));
	assert_holds(f, "d/sub/new", "2");
}

static void test_a_whiteout_of_the_parent_is_refused(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_FILE, "d/.wh...", "");
	assert_int_equal(apply(f, &a), -1);
	assert_int_equal(f->err.code, ERROR_FORMAT);
}

static void test_a_path_through_a_link_stays_inside(void **state)
{
	static const char *const targets[] = { "/tmp", "../../../../tmp", "/", ".." };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
		struct layer a = layer_begin();

		add(&a, TAR_SYMLINK, "d/link", targets[i]);
		add(&a, TAR_FILE, "d/link/escaped", "x");
		applies(f, &a);
	}
	assert_holds(f, "tmp/escaped", "x");
	assert_holds(f, "escaped", "x");
	assert_nothing_beside_the_root(f);
}

static void test_a_file_over_a_link_replaces_the_link(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin(), b = layer_begin();

	add(&a, TAR_FILE, "target", "kept");
	add(&a, TAR_SYMLINK, "x", "target");
	add(&b, TAR_FILE, "x", "new");
	applies(f, &a);
	applies(f, &b);
	assert_holds(f, "target", "kept");
	assert_holds(f, "x", "new");
}

static void test_a_replaced_link_no_longer_leads(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_SYMLINK, "l", ".");
	add(&a, TAR_FILE, "l/a", "1");
	add(&a, TAR_DIR, "l/l", "");
	add(&a, TAR_FILE, "l/b", "2");
	applies(f, &a);
	assert_holds(f, "a", "1");
	assert_holds(f, "l/b", "2");
}

static void test_a_loop_of_links_is_refused(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_SYMLINK, "a", "b");
	add(&a, TAR_SYMLINK, "b", "a");
	add(&a, TAR_FILE, "a/x", "1");
	assert_int_equal(apply(f, &a), -1);
	assert_contains(f->err.text, "/a/x");
	assert_contains(f->err.text, "40 links");
}

static void test_a_hard_link_shares_its_file(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_FILE, "d/x", "same");
	add(&a, TAR_HARDLINK, "y", "d/x");
	applies(f, &a);
	assert_holds(f, "y", "same");
}

static void test_a_hard_link_to_a_missing_file_is_refused(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_HARDLINK, "y", "nowhere");
	assert_int_equal(apply(f, &a), -1);
	assert_contains(f->err.text, "/y: ");
}

static void test_a_hard_link_through_a_link_stays_inside(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_SYMLINK, "etc", "/../../etc");
	add(&a, TAR_HARDLINK, "stolen", "etc/passwd");
	assert_int_equal(apply(f, &a), -1);
	assert_false(exists(f, "stolen"));
}

static void test_absolute_links_become_relative(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	add(&a, TAR_FILE, "etc/alternatives/lib", "content");
	add(&a, TAR_SYMLINK, "usr/lib/lib", "/etc/alternatives/lib");
	applies(f, &a);
	assert_holds(f, "usr/lib/lib", "content");
}

static void test_link_targets_are_kept_inside(void **state)
{
	static const struct {
		const char *dir, *target, *want;
	} cases[] = {
		{ "usr/lib", "/etc/x", "../../etc/x" },
		{ "", "/etc/x", "etc/x" },
		{ "a", "../../../etc", "../etc" },
		{ "a/b", "../c", "../c" },
		{ "", "..", "." },
		{ "a", "/", ".." },
		{ "a", "/../../x", "../x" },
		{ "a", "b/./c", "b/c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_free char *got = unpack_link_target(cases[i].dir, cases[i].target);

		assert_string_equal(got, cases[i].want);
	}
}

static void test_devices_and_set_id_bits_are_left_out(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();
	struct tar_entry e = { .type = TAR_FILE, .path = "su", .link = "", .mode = 04500 };
	cleanup_sink struct sink *sink = sink_memory(&a.tar);
	struct stat st;

	assert_ok(tar_write_entry(sink, &e, NULL, &f->err), f->err);
	add(&a, TAR_FIFO, "fifo", "");
	applies(f, &a);
	assert_int_equal(fstatat(f->rootfd, "su", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_false(exists(f, "fifo"));
}

static void test_too_many_bytes_are_refused(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	f->u.left.bytes = 3;
	add(&a, TAR_FILE, "a", "12");
	add(&a, TAR_FILE, "b", "34");
	assert_int_equal(apply(f, &a), -1);
	assert_int_equal(f->err.code, ERROR_LIMIT);
}

static void test_too_many_entries_are_refused(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin();

	f->u.left.entries = 1;
	add(&a, TAR_FILE, "a", "");
	add(&a, TAR_FILE, "b", "");
	assert_int_equal(apply(f, &a), -1);
	assert_int_equal(f->err.code, ERROR_LIMIT);
}

static void test_a_directory_replaces_a_file_and_back(void **state)
{
	struct fixture *f = *state;
	struct layer a = layer_begin(), b = layer_begin(), c = layer_begin();

	add(&a, TAR_FILE, "x", "file");
	add(&b, TAR_FILE, "x/y", "in a directory");
	add(&c, TAR_FILE, "x", "file again");
	applies(f, &a);
	applies(f, &b);
	assert_holds(f, "x/y", "in a directory");
	applies(f, &c);
	assert_holds(f, "x", "file again");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_later_layer_wins),
		CASE(test_a_whiteout_hides_a_tree_of_lower_layers),
		CASE(test_a_whiteout_keeps_what_its_own_layer_adds),
		CASE(test_an_opaque_directory_keeps_only_its_own_layer),
		CASE(test_a_whiteout_of_the_parent_is_refused),
		CASE(test_a_path_through_a_link_stays_inside),
		CASE(test_a_file_over_a_link_replaces_the_link),
		CASE(test_a_replaced_link_no_longer_leads),
		CASE(test_a_loop_of_links_is_refused),
		CASE(test_a_hard_link_shares_its_file),
		CASE(test_a_hard_link_to_a_missing_file_is_refused),
		CASE(test_a_hard_link_through_a_link_stays_inside),
		CASE(test_absolute_links_become_relative),
		CASE(test_link_targets_are_kept_inside),
		CASE(test_devices_and_set_id_bits_are_left_out),
		CASE(test_too_many_bytes_are_refused),
		CASE(test_too_many_entries_are_refused),
		CASE(test_a_directory_replaces_a_file_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
