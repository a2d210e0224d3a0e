#include "tests/support/test.h"

#include "builder/component.h"

static int read_content(const struct content *c, uint64_t size, struct strbuf *out,
			struct error *err)
{
	cleanup_stream struct stream *s = content_open(c, size, err);

	return s ? stream_read_all(s, MIB, out, err) : -1;
}

static void test_what_is_added_is_copied(void **state)
{
	char path[] = "usr/bin/x", name[] = "user.a", value[] = "v";
	struct tar_xattr xattr = { name, (uint8_t *)value, 1 };
	struct tar_entry tar = { .type = TAR_FILE,
				 .path = path,
				 .mode = 0755,
				 .extras = &(struct tar_extras){ .xattrs = &xattr,
								 .xattr_count = 1 } };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "x", "1.0");
	const struct component_entry *e = component_add(c, &tar);

	(void)state;
	path[0] = name[0] = value[0] = '!';
	assert_string_equal(e->tar.path, "usr/bin/x");
	assert_string_equal(e->tar.link, "");
	assert_string_equal(e->tar.extras->xattrs[0].name, "user.a");
	assert_int_equal(e->tar.extras->xattrs[0].value[0], 'v');
	assert_int_equal(e->content.fd, -1);
	assert_int_equal(c->entries.len, 1);
	assert_int_equal(c->fd, -1);
}

static void test_what_we_make_belongs_to_root_at_the_fixed_time(void **state)
{
	cleanup_component struct component *c = component_new(COMPONENT_FINISH, "x", "");
	struct error err = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	component_add_dir(c, "etc", 0755);
	component_add_symlink(c, "etc/mtab", "/proc/mounts");
	component_add_text(c, "etc/x", 0640, slice_str("text"));
	assert_int_equal(c->entries.len, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct tar_entry *e = &c->entries.items[i].tar;

		assert_int_equal(e->mtime, FIXED_MTIME);
		assert_int_equal(e->uid | e->gid, 0);
	}
	assert_int_equal(c->entries.items[0].tar.type, TAR_DIR);
	assert_string_equal(c->entries.items[1].tar.link, "/proc/mounts");
	assert_int_equal(c->entries.items[2].tar.mode, 0640);
	assert_ok(read_content(&c->entries.items[2].content, 4, &out, &err), err);
	assert_string_equal(strbuf_text(&out), "text");
}

static void test_content_is_opened_any_number_of_times(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "f");
	cleanup_fd int fd = -1;

	(void)state;
	assert_ok(fs_write(AT_FDCWD, path, slice_str("0123456789"), 0644, &err), err);
	fd = fs_open(AT_FDCWD, path, &err);
	for (int i = 0; i < 3; i++) {
		struct content range = { .kind = CONTENT_RANGE, .fd = fd, .offset = 3 };
		struct content whole = { .kind = CONTENT_PATH, .fd = -1, .path = path };
		cleanup_strbuf struct strbuf out = { 0 };

		assert_ok(read_content(&range, 4, &out, &err), err);
		assert_ok(read_content(&whole, 10, &out, &err), err);
		assert_string_equal(strbuf_text(&out), "34560123456789");
	}
}

static void test_a_file_that_changed_is_an_integrity_error_that_names_it(void **state)
{
	static const char *const changed[] = { "01234567x9", "012345678", "0123456789x" };
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "f");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changed); i++) {
		struct error err = { 0 };
		struct content c = { .kind = CONTENT_PATH, .fd = -1, .path = path };
		struct digest digest = digest_of(slice_str("0123456789"));
		cleanup_strbuf struct strbuf out = { 0 };

		content_set_digest(&c, &digest);
		assert_ok(fs_write(AT_FDCWD, path, slice_str("0123456789"), 0644, &err), err);
		assert_ok(read_content(&c, 10, &out, &err), err);
		assert_ok(fs_write(AT_FDCWD, path, slice_str(changed[i]), 0644, &err), err);
		assert_int_equal(read_content(&c, 10, &out, &err), -1);
		assert_int_equal(err.code, ERROR_INTEGRITY);
		assert_contains(err.text, path);
	}
}

static void test_a_file_that_is_gone_or_became_a_pipe_is_told(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "f");
	struct content c = { .kind = CONTENT_PATH, .fd = -1, .path = path };

	(void)state;
	assert_null(content_open(&c, 1, &err));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(content_open(&c, 1, &err));
	assert_int_equal(err.code, ERROR_INTEGRITY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_added_is_copied),
		cmocka_unit_test(test_what_we_make_belongs_to_root_at_the_fixed_time),
		cmocka_unit_test(test_content_is_opened_any_number_of_times),
		cmocka_unit_test(test_a_file_that_changed_is_an_integrity_error_that_names_it),
		cmocka_unit_test(test_a_file_that_is_gone_or_became_a_pipe_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
