#include "tests/support/test.h"

#include "formats/tar_write.h"
#include "oci/tar_index.h"

/* A file with these bytes; closed by the caller. */
static int file_with(const char *dir, struct slice bytes)
{
	cleanup_free char *path = fs_join(dir, "x.tar");
	struct error err = { 0 };
	int fd;

	assert_ok(fs_write(AT_FDCWD, path, bytes, 0644, &err), err);
	fd = fs_open(AT_FDCWD, path, &err);
	assert_ok(fd, err);
	return fd;
}

static void put(struct strbuf *tar, enum tar_type type, const char *path, const char *text)
{
	struct tar_entry e = { .type = type, .path = path, .link = "", .mode = 0644 };
	cleanup_sink struct sink *out = sink_memory(tar);
	cleanup_stream struct stream *in = stream_memory(slice_str(text));
	struct error err = { 0 };

	if (type == TAR_FILE)
		e.size = strlen(text);
	else
		e.link = text;
	assert_ok(tar_write_entry(out, &e, type == TAR_FILE ? in : NULL, &err), err);
}

static int get(const struct tar_index *index, const char *name, struct strbuf *out,
	       struct error *err)
{
	strbuf_truncate(out, 0);
	return tar_index_get(index, name, 1000, out, err);
}

static void test_members_are_found_under_plain_and_long_names(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_strbuf struct strbuf tar = { 0 }, out = { 0 };
	cleanup_tar_index struct tar_index index = { 0 };
	char name[300];
	cleanup_fd int fd = -1;
	struct error err = { 0 };

	(void)state;
	memset(name, 'n', sizeof(name));
	name[299] = '\0';
	put(&tar, TAR_DIR, "d", "");
	put(&tar, TAR_FILE, "d/a", "first");
	put(&tar, TAR_FILE, name, "long");
	put(&tar, TAR_FILE, "d/b", "second");
	strbuf_add_zeros(&tar, 1024);
	fd = file_with(dir, strbuf_slice(&tar));
	assert_ok(tar_index_read(fd, "x.tar", &index, &err), err);
	assert_ok(get(&index, "d/a", &out, &err), err);
	assert_string_equal(out.data, "first");
	assert_ok(get(&index, "./d/b", &out, &err), err);
	assert_string_equal(out.data, "second");
	assert_ok(get(&index, name, &out, &err), err);
	assert_string_equal(out.data, "long");
	assert_int_equal(get(&index, "d", &out, &err), -1);
	assert_contains(err.text, "is not a file");
	assert_int_equal(get(&index, "nothing", &out, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "x.tar: member 'nothing' is missing");
}

static void test_links_are_followed_inside_the_archive_only(void **state)
{
	static const struct {
		const char *name, *says;
	} bad[] = {
		{ "out", "out of the archive" },
		{ "absolute", "out of the archive" },
		{ "loop", "loop" },
		{ "dangling", "missing" },
	};
	cleanup_test_dir char *dir = test_dir();
	cleanup_strbuf struct strbuf tar = { 0 }, out = { 0 };
	cleanup_tar_index struct tar_index index = { 0 };
	cleanup_fd int fd = -1;
	struct error err = { 0 };

	(void)state;
	put(&tar, TAR_FILE, "one/layer.tar", "bytes");
	put(&tar, TAR_SYMLINK, "two/layer.tar", "../one/layer.tar");
	put(&tar, TAR_HARDLINK, "three/layer.tar", "two/layer.tar");
	put(&tar, TAR_SYMLINK, "out", "../../etc/passwd");
	put(&tar, TAR_SYMLINK, "absolute", "/etc/passwd");
	put(&tar, TAR_SYMLINK, "loop", "loop");
	put(&tar, TAR_SYMLINK, "dangling", "nowhere");
	strbuf_add_zeros(&tar, 1024);
	fd = file_with(dir, strbuf_slice(&tar));
	assert_ok(tar_index_read(fd, "x.tar", &index, &err), err);
	assert_ok(get(&index, "two/layer.tar", &out, &err), err);
	assert_string_equal(out.data, "bytes");
	assert_ok(get(&index, "three/layer.tar", &out, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(get(&index, bad[i].name, &out, &err), -1);
		assert_contains(err.text, bad[i].says);
		assert_contains(err.text, bad[i].name);
	}
}

static void test_a_name_that_is_there_twice_is_refused_when_used(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_strbuf struct strbuf tar = { 0 }, out = { 0 };
	cleanup_tar_index struct tar_index index = { 0 };
	cleanup_fd int fd = -1;
	struct error err = { 0 };

	(void)state;
	put(&tar, TAR_FILE, "a", "1");
	put(&tar, TAR_FILE, "b", "2");
	put(&tar, TAR_FILE, "./a", "3");
	strbuf_add_zeros(&tar, 1024);
	fd = file_with(dir, strbuf_slice(&tar));
	assert_ok(tar_index_read(fd, "x.tar", &index, &err), err);
	assert_ok(get(&index, "b", &out, &err), err);
	assert_int_equal(get(&index, "a", &out, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, "more than once");
}

static void test_a_member_over_the_limit_is_not_read(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_strbuf struct strbuf tar = { 0 }, out = { 0 };
	cleanup_tar_index struct tar_index index = { 0 };
	cleanup_fd int fd = -1;
	struct error err = { 0 };

	(void)state;
	put(&tar, TAR_FILE, "a", "12345");
	fd = file_with(dir, strbuf_slice(&tar));
	assert_ok(tar_index_read(fd, "x.tar", &index, &err), err);
	assert_int_equal(tar_index_get(&index, "a", 4, &out, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

static void test_every_cut_inside_a_member_is_told(void **state)
{
	cleanup_strbuf struct strbuf tar = { 0 };

	(void)state;
	put(&tar, TAR_FILE, "a", "12345");
	for (size_t len = 0; len < 517; len += len < 500 ? 50 : 1) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_fd int fd = file_with(dir, slice_of(tar.data, len));
		struct tar_index index = { 0 };
		struct error err = { 0 };

		assert_int_equal(tar_index_read(fd, "x.tar", &index, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, "x.tar");
	}
}

static void set_checksum(uint8_t *block)
{
	unsigned sum = 0;

	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += block[i];
	snprintf((char *)block + 148, 8, "%06o", sum);
}

static void test_headers_that_lie_are_refused(void **state)
{
	static const struct {
		size_t at;
		const char *bytes;
		size_t len;
		bool fix;
	} cases[] = {
		{ 0, "z", 1, false },                                            /* checksum */
		{ 124, "77777777777", 12, true },                                /* 8 GiB */
		{ 124, "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12, true }, /* 2^64 - 1 */
		{ 124, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12, true }, /* -1 */
		{ 124, "00000 xx001", 12, true },
		{ 156, "S", 1, true },
		{ 156, "x", 1, true }, /* the content is no pax record */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_strbuf struct strbuf tar = { 0 };
		struct tar_index index = { 0 };
		struct error err = { 0 };
		cleanup_fd int fd = -1;

		put(&tar, TAR_FILE, "a", "12345");
		strbuf_add_zeros(&tar, 1024);
		memcpy(tar.data + cases[i].at, cases[i].bytes, cases[i].len);
		if (cases[i].fix)
			set_checksum((uint8_t *)tar.data);
		fd = file_with(dir, strbuf_slice(&tar));
		assert_int_equal(tar_index_read(fd, "x.tar", &index, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_are_found_under_plain_and_long_names),
		cmocka_unit_test(test_links_are_followed_inside_the_archive_only),
		cmocka_unit_test(test_a_name_that_is_there_twice_is_refused_when_used),
		cmocka_unit_test(test_a_member_over_the_limit_is_not_read),
		cmocka_unit_test(test_every_cut_inside_a_member_is_told),
		cmocka_unit_test(test_headers_that_lie_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
