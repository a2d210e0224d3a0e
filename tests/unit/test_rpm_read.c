#include "tests/support/test.h"

#include <sys/stat.h>

#include "formats/rpm_read.h"
#include "tests/support/bytes.h"
#include "tests/support/rpm.h"

static const struct test_rpm_file plain[] = {
	{ .path = "/", .mode = S_IFDIR | 0555 },
	{ .path = "/etc/demo.conf", .content = "a=1\n", .flags = RPMFILE_CONFIG },
	{ .path = "/usr/bin/demo",
	  .content = "one\n",
	  .mode = S_IFREG | 04755,
	  .inode = 7,
	  .caps = "cap_net_raw=ep" },
	{ .path = "/usr/bin/demo-again", .content = "one\n", .mode = S_IFREG | 0755, .inode = 7 },
	{ .path = "/usr/bin/link", .link = "demo", .mode = S_IFLNK | 0777 },
	{ .path = "/var/lib/demo", .mode = S_IFDIR | 0750, .user = "demo", .group = "demo" },
	{ .path = "/var/lib/demo/state", .content = "", .flags = RPMFILE_GHOST },
};

static const struct test_rpm demo = { .files = plain, .file_count = ARRAY_LEN(plain) };

/* Reads all of it; texts of contents appended to `content`, a line each with the path. */
static int read_all(struct slice rpm, struct strbuf *content, struct error *err)
{
	cleanup_stream struct stream *file = test_dribble(rpm, 333);
	cleanup_rpm_reader struct rpm_reader *r = rpm_read_open(file, err);
	uint32_t i = 0;
	int rc;

	if (!r)
		return -1;
	while ((rc = rpm_read_next(r, &i, err)) > 0) {
		strbuf_addf(content, "%s:", rpm_read_package(r)->files[i].path);
		if (stream_read_all(rpm_read_content(r), MIB, content, err) < 0)
			return -1;
		strbuf_adds(content, "|");
	}
	return rc;
}

static void assert_refused(const struct test_rpm *rpm, enum error_code code, const char *words)
{
	cleanup_strbuf struct strbuf bytes = { 0 }, content = { 0 };
	struct error err = { 0 };

	test_rpm_make(rpm, &bytes);
	assert_int_equal(read_all(strbuf_slice(&bytes), &content, &err), -1);
	assert_contains(err.text, words);
	assert_int_equal(err.code, code);
}

static void test_the_header_tells_what_files_are(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	cleanup_stream struct stream *file = NULL;
	cleanup_rpm_reader struct rpm_reader *r = NULL;
	const struct rpm_package *p;
	struct error err = { 0 };

	(void)state;
	test_rpm_make(&demo, &bytes);
	file = stream_memory(strbuf_slice(&bytes));
	r = rpm_read_open(file, &err);
	assert_ok(r ? 0 : -1, err);
	p = rpm_read_package(r);
	assert_string_equal(p->name, "demo");
	assert_string_equal(p->version, "2:1.0-3");
	assert_string_equal(p->arch, "x86_64");
	assert_string_equal(p->license, "MIT");
	assert_int_equal(p->file_count, 7);
	assert_string_equal(p->files[0].path, "");
	assert_string_equal(p->files[2].path, "usr/bin/demo");
	assert_string_equal(p->files[2].caps, "cap_net_raw=ep");
	assert_int_equal(p->files[2].mode, S_IFREG | 04755);
	assert_int_equal(p->files[2].next_twin, 3);
	assert_int_equal(p->files[2].last_twin, 3);
	assert_int_equal(p->files[3].first_twin, 2);
	assert_string_equal(p->files[4].link, "demo");
	assert_string_equal(p->files[5].user, "demo");
	assert_true(p->files[1].has_digest);
}

static void test_content_comes_with_every_packing_and_both_kinds_of_headers(void **state)
{
	static const enum compression packings[] = { COMPRESSION_NONE, COMPRESSION_GZIP,
						     COMPRESSION_ZSTD };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(packings); i++) {
		cleanup_strbuf struct strbuf bytes = { 0 }, content = { 0 };
		struct test_rpm rpm = demo;
		struct error err = { 0 };

		rpm.compression = packings[i / 2];
		rpm.stripped = i % 2;
		test_rpm_make(&rpm, &bytes);
		assert_ok(read_all(strbuf_slice(&bytes), &content, &err), err);
		assert_string_equal(strbuf_text(&content),
				    ":|etc/demo.conf:a=1\n|usr/bin/demo:|usr/bin/demo-again:one\n|"
				    "usr/bin/link:demo|var/lib/demo:|");
	}
}

static void test_content_that_nobody_reads_is_skipped_and_proven(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	cleanup_stream struct stream *file = NULL;
	cleanup_rpm_reader struct rpm_reader *r = NULL;
	struct error err = { 0 };
	uint32_t i;
	int rc, count = 0;

	(void)state;
	test_rpm_make(&demo, &bytes);
	file = stream_memory(strbuf_slice(&bytes));
	r = rpm_read_open(file, &err);
	assert_ok(r ? 0 : -1, err);
	while ((rc = rpm_read_next(r, &i, &err)) > 0)
		count++;
	assert_ok(rc, err);
	assert_int_equal(count, 6);
	assert_int_equal(rpm_read_next(r, &i, &err), 0);
}

static void test_every_truncation_is_refused(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };

	(void)state;
	test_rpm_make(&demo, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		cleanup_strbuf struct strbuf content = { 0 };
		cleanup_free uint8_t *copy = xcalloc(len + !len, 1);
		struct error err = { 0 };

		memcpy(copy, bytes.data, len);
		assert_int_equal(read_all(slice_of(copy, len), &content, &err), -1);
		assert_true(*err.text);
	}
}

static void test_every_flipped_byte_of_header_and_payload_is_noticed(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	size_t signature = 96 + 16, header;

	(void)state;
	test_rpm_make(&demo, &bytes);
	header = (size_t)((char *)memmem(bytes.data + signature, bytes.len - signature,
					 "\x8e\xad\xe8\x01", 4) -
			  bytes.data);
	for (size_t at = header; at < bytes.len; at++) {
		cleanup_strbuf struct strbuf content = { 0 };
		struct error err = { 0 };

		bytes.data[at] ^= 0x41;
		assert_int_equal(read_all(strbuf_slice(&bytes), &content, &err), -1);
		bytes.data[at] ^= 0x41;
	}
}

static void test_digests_that_do_not_agree_are_told(void **state)
{
	struct test_rpm rpm = demo;
	struct test_rpm_file one[] = { { .path = "/a",
					 .content = "a",
					 .digest = "00000000000000000000000000000000000000000000000"
						   "00000000000000000" } };

	(void)state;
	rpm.wrong_header_digest = true;
	assert_refused(&rpm, ERROR_INTEGRITY, "header: has digest");
	rpm = demo;
	rpm.wrong_payload_digest = true;
	assert_refused(&rpm, ERROR_INTEGRITY, "payload: has digest");
	rpm.files = one;
	rpm.file_count = 1;
	assert_refused(&rpm, ERROR_INTEGRITY, "a: has digest");
}

static void test_paths_that_leave_the_root_are_refused(void **state)
{
	static const char *const paths[] = { "/../x",  "/a/../x", "/a//x", "/./x",
					     "/a/./x", "/a/..",   "/a/.",  "//x" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct test_rpm_file file = { .path = paths[i], .content = "" };
		struct test_rpm rpm = { .files = &file, .file_count = 1 };

		assert_refused(&rpm, ERROR_FORMAT, "is no proper path");
	}
}

static void test_a_path_twice_is_refused(void **state)
{
	static const struct test_rpm_file files[] = { { .path = "/a", .content = "1" },
						      { .path = "/a", .content = "2" } };
	const struct test_rpm rpm = { .files = files, .file_count = 2 };

	(void)state;
	assert_refused(&rpm, ERROR_FORMAT, "a stands there twice");
}

static void test_a_payload_must_hold_what_the_header_lists_and_nothing_else(void **state)
{
	struct test_rpm_file file = { .path = "/a", .content = "1", .missing = true };
	struct test_rpm rpm = { .files = &file, .file_count = 1 };

	(void)state;
	assert_refused(&rpm, ERROR_FORMAT, "payload: a is missing");
	file.missing = false;
	rpm.extra_member = "./b";
	assert_refused(&rpm, ERROR_FORMAT, "'./b' is no file of the header");
	rpm.extra_member = NULL;
	rpm.behind = "more";
	assert_refused(&rpm, ERROR_INTEGRITY, "payload: has digest");
}

static void test_a_source_package_is_refused(void **state)
{
	struct test_rpm rpm = demo;

	(void)state;
	rpm.source = "";
	assert_refused(&rpm, ERROR_FORMAT, "a source package");
}

static void test_scripts_come_with_their_interpreters(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	cleanup_stream struct stream *file = NULL;
	cleanup_rpm_reader struct rpm_reader *r = NULL;
	struct test_rpm rpm = demo;
	struct error err = { 0 };

	(void)state;
	rpm.post_interpreter = "/sbin/ldconfig";
	test_rpm_make(&rpm, &bytes);
	file = stream_memory(strbuf_slice(&bytes));
	r = rpm_read_open(file, &err);
	assert_ok(r ? 0 : -1, err);
	assert_int_equal(rpm_read_package(r)->script_count, 1);
	assert_string_equal(rpm_read_package(r)->scripts[0].name, "post");
	assert_string_equal(rpm_read_package(r)->scripts[0].interpreter, "/sbin/ldconfig");
	assert_string_equal(rpm_read_package(r)->scripts[0].text, "");
}

static void test_a_package_without_files_is_read(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 }, content = { 0 };
	const struct test_rpm rpm = { .compression = COMPRESSION_ZSTD };
	struct error err = { 0 };

	(void)state;
	test_rpm_make(&rpm, &bytes);
	assert_ok(read_all(strbuf_slice(&bytes), &content, &err), err);
	assert_int_equal(content.len, 0);
}

/* One content is stored and proven, under the last name. */
static void test_files_that_are_one_have_one_content(void **state)
{
	static const struct test_rpm_file
		sizes[] = { { .path = "/usr/bin/a", .content = "longer", .inode = 7 },
			    { .path = "/usr/bin/b", .content = "one", .inode = 7 } },
		digests[] = { { .path = "/usr/bin/a", .content = "two", .inode = 7 },
			      { .path = "/usr/bin/b", .content = "one", .inode = 7 } },
		unproven[] = {
			{ .path = "/usr/bin/a", .content = "one", .inode = 7 },
			{ .path = "/usr/bin/b", .content = "one", .inode = 7, .digest = "" }
		};
	static const struct test_rpm rpms[] = { { .files = sizes, .file_count = 2 },
						{ .files = digests, .file_count = 2 },
						{ .files = unproven, .file_count = 2 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rpms); i++)
		assert_refused(&rpms[i], ERROR_FORMAT,
			       "usr/bin/a and usr/bin/b are one file, but not of one content");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_header_tells_what_files_are),
		cmocka_unit_test(test_content_comes_with_every_packing_and_both_kinds_of_headers),
		cmocka_unit_test(test_content_that_nobody_reads_is_skipped_and_proven),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_every_flipped_byte_of_header_and_payload_is_noticed),
		cmocka_unit_test(test_digests_that_do_not_agree_are_told),
		cmocka_unit_test(test_paths_that_leave_the_root_are_refused),
		cmocka_unit_test(test_a_path_twice_is_refused),
		cmocka_unit_test(test_a_payload_must_hold_what_the_header_lists_and_nothing_else),
		cmocka_unit_test(test_a_source_package_is_refused),
		cmocka_unit_test(test_scripts_come_with_their_interpreters),
		cmocka_unit_test(test_a_package_without_files_is_read),
		cmocka_unit_test(test_files_that_are_one_have_one_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
