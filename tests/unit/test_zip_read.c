#include "tests/support/test.h"

#include <sys/mman.h>

#include "base/sink.h"
#include "formats/compress.h"
#include "formats/zip_read.h"
#include "tests/support/bytes.h"
#include "tests/support/zip.h"

static int file_of(struct slice s)
{
	int fd = memfd_create("test.zip", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, s.data, s.len), (ssize_t)s.len);
	return fd;
}

static int read_bytes(struct slice s, struct arena *arena, struct zip *out, struct error *err)
{
	cleanup_fd int fd = file_of(s);

	return zip_read(fd, "test.zip", arena, out, err);
}

/* Entries are read, or refused with ERROR_FORMAT, whose text then is in `err`. */
static bool accepted(const struct zip_spec *specs, size_t count, struct error *err)
{
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct zip zip;

	for (size_t i = 0; i < count; i++)
		zip_add(&m, &specs[i]);
	zip_end(&m, false, "");
	if (read_bytes(strbuf_slice(&m.file), &arena, &zip, err) == 0)
		return true;
	assert_int_equal(err->code, ERROR_FORMAT);
	assert_contains(err->text, "test.zip");
	return false;
}

static void test_entries_come_sorted_with_their_facts(void **state)
{
	struct error err = { 0 };
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct zip zip;

	(void)state;
	zip_add(&m, &(struct zip_spec){
			    .name = "z/b.py", .text = "bbbb", .mode = 0100755, .deflated = true });
	zip_add(&m, &(struct zip_spec){ .name = "a.py", .text = "a" });
	zip_add(&m, &(struct zip_spec){ .name = "z/", .mode = 040755 });
	zip_end(&m, false, "a comment");
	assert_ok(read_bytes(strbuf_slice(&m.file), &arena, &zip, &err), err);
	assert_int_equal(zip.count, 3);
	assert_string_equal(zip.entries[0].path, "a.py");
	assert_string_equal(zip.entries[1].path, "z");
	assert_true(zip.entries[1].is_dir);
	assert_string_equal(zip.entries[2].path, "z/b.py");
	assert_true(zip.entries[2].deflated);
	assert_int_equal(zip.entries[2].size, 4);
	assert_int_equal(zip.entries[2].unix_mode, 0100755);
	assert_int_equal(zip.entries[2].mtime, 1720186100); /* 2024-07-05T13:28:20Z */
	assert_ptr_equal(zip_find(&zip, "z/b.py"), &zip.entries[2]);
	assert_null(zip_find(&zip, "z/c.py"));
}

static int read_entry(const struct zip_spec *spec, struct strbuf *out, struct error *err)
{
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int fd = -1;
	cleanup_stream struct stream *s = NULL;
	struct zip zip;

	zip_add(&m, spec);
	zip_end(&m, false, "");
	fd = file_of(strbuf_slice(&m.file));
	assert_ok(zip_read(fd, "test.zip", &arena, &zip, err), *err);
	s = zip_open(fd, &zip.entries[0]);
	return stream_read_all(s, MIB, out, err);
}

static void test_content_is_read_stored_and_deflated(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct error err = { 0 };
		struct zip_spec spec = { .name = "f",
					 .text = i & 2 ? "hello hello hello" : "",
					 .deflated = i & 1 };
		cleanup_strbuf struct strbuf out = { 0 };

		assert_ok(read_entry(&spec, &out, &err), err);
		assert_string_equal(strbuf_text(&out), spec.text);
	}
}

static void test_content_that_is_not_what_the_directory_says_is_refused(void **state)
{
	static const struct zip_spec specs[] = {
		{ .name = "f", .text = "hello", .crc_xor = 1 },
		{ .name = "f", .text = "hello", .deflated = true, .crc_xor = 1 },
		{ .name = "f", .text = "hello", .deflated = true, .size_plus = 1 },
		{ .name = "f", .text = "hello", .deflated = true, .size_plus = -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct error err = { 0 };
		cleanup_strbuf struct strbuf out = { 0 };

		assert_int_equal(read_entry(&specs[i], &out, &err), -1);
		assert_int_equal(err.code, ERROR_INTEGRITY);
		assert_contains(err.text, "\"f\"");
	}
}

static void test_descriptors_of_all_four_lengths_are_read(void **state)
{
	static const int lengths[] = { 12, 16, 20, 24 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct error err = { 0 };
		struct zip_spec specs[] = {
			{ .name = "f",
			  .text = "hello",
			  .deflated = true,
			  .descriptor = lengths[i] },
			{ .name = "g", .text = "hello", .descriptor = lengths[i] },
		};

		if (!accepted(specs, 2, &err))
			fail_msg("%d: %s", lengths[i], err.text);
	}
}

static void test_zip64_is_read(void **state)
{
	struct error err = { 0 };
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct zip zip;

	(void)state;
	zip_add(&m, &(struct zip_spec){ .name = "f", .text = "hello", .zip64 = true });
	zip_add(&m, &(struct zip_spec){ .name = "g", .text = "hello", .deflated = true });
	zip_end(&m, true, "");
	assert_ok(read_bytes(strbuf_slice(&m.file), &arena, &zip, &err), err);
	assert_int_equal(zip.count, 2);
	assert_int_equal(zip.entries[0].size, 5);
	assert_int_equal(zip.entries[0].data_offset, 30 + 1 + 20);
}

static void test_unsafe_names_are_refused(void **state)
{
	static const struct zip_spec specs[] = {
		{ .name = "/etc/passwd" },
		{ .name = "../x" },
		{ .name = "a/../../x" },
		{ .name = "a/.." },
		{ .name = "../" },
		{ .name = "./x" },
		{ .name = "a//x" },
		{ .name = "a\\x" },
		{ .name = "/" },
		{ .name = "a\0b", .name_len = 3 },
		{ .name = "caf\xc3\xa9" },               /* not marked as UTF-8 */
		{ .name = "caf\xe9", .flags = 1 << 11 }, /* marked, and is not */
		{ .name = "x\xed\xa0\x80", .flags = 1 << 11 },
		{ .name = "x\xc0\xaf", .flags = 1 << 11 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct error err = { 0 };

		if (accepted(&specs[i], 1, &err))
			fail_msg("\"%s\" was taken", specs[i].name);
	}
}

static void test_names_in_utf8_are_taken(void **state)
{
	struct error err = { 0 };
	struct zip_spec spec = { .name = "caf\xc3\xa9/\xe2\x82\xac/\xf0\x9f\x98\x80",
				 .flags = 1 << 11 };

	(void)state;
	if (!accepted(&spec, 1, &err))
		fail_msg("%s", err.text);
}

static void test_names_of_more_than_4096_bytes_are_refused(void **state)
{
	struct error err = { 0 };
	cleanup_free char *name = xmalloc(4098);
	struct zip_spec spec = { .name = name };

	(void)state;
	memset(name, 'x', 4097);
	name[4097] = '\0';
	assert_false(accepted(&spec, 1, &err));
	name[4096] = '\0';
	assert_true(accepted(&spec, 1, &err));
}

static void test_a_path_twice_or_below_a_file_is_refused(void **state)
{
	static const struct zip_spec pairs[][2] = {
		{ { .name = "a" }, { .name = "a" } },
		{ { .name = "a/" }, { .name = "a" } },
		{ { .name = "a" }, { .name = "a/b" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct error err = { 0 };

		assert_false(accepted(pairs[i], 2, &err));
	}
}

static void test_what_we_do_not_take_is_refused(void **state)
{
	static const struct zip_spec specs[] = {
		{ .name = "link", .text = "/etc/passwd", .mode = 0120777 },
		{ .name = "fifo", .mode = 010644 },
		{ .name = "secret", .flags = 1 },
		{ .name = "secret", .flags = 1 << 6 },
		{ .name = "masked", .flags = 1 << 13 },
		{ .name = "bzip2", .method = 12 },
		{ .name = "dir", .mode = 040755 },
		{ .name = "dir/", .text = "content" },
		{ .name = "stored", .text = "x", .size_plus = 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct error err = { 0 };

		if (accepted(&specs[i], 1, &err))
			fail_msg("\"%s\" was taken", specs[i].name);
	}
}

static void test_local_headers_that_disagree_are_refused(void **state)
{
	static const struct zip_spec specs[] = {
		{ .name = "name", .local_name = "nama" },
		{ .name = "flags", .local_flags = 1 << 11 },
		{ .name = "place", .text = "x", .offset_plus = 1 },
		{ .name = "far", .text = "x", .offset_plus = 1 << 30 },
		{ .name = "descriptor", .text = "x", .descriptor = 8 },
		{ .name = "behind", .text = "x", .gap = "gap" },
		{ .name = "behind", .text = "x", .descriptor = 12, .gap = "1234" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		struct error err = { 0 };

		if (accepted(&specs[i], 1, &err))
			fail_msg("\"%s\" was taken", specs[i].name);
	}
}

static void test_overlapping_entries_are_refused(void **state)
{
	struct error err = { 0 };
	struct zip_spec specs[] = {
		{ .name = "a", .text = "x" },
		{ .name = "a", .text = "x", .offset_plus = -32 },
	};

	(void)state;
	assert_false(accepted(specs, 2, &err));
	assert_contains(err.text, "overlap");
}

static void test_bytes_before_the_first_entry_are_refused(void **state)
{
	struct error err = { 0 };
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct zip zip;

	(void)state;
	strbuf_adds(&m.file, "#!/bin/sh\n");
	zip_add(&m, &(struct zip_spec){ .name = "f", .text = "x" });
	zip_end(&m, false, "");
	assert_int_equal(read_bytes(strbuf_slice(&m.file), &arena, &zip, &err), -1);
	assert_contains(err.text, "belong to no entry");
}

static void test_every_truncation_is_refused(void **state)
{
	(void)state;
	for (int zip64 = 0; zip64 < 2; zip64++) {
		cleanup_zip_maker struct zip_maker m = { 0 };

		zip_add(&m, &(struct zip_spec){ .name = "a/f", .text = "hello", .deflated = true });
		zip_add(&m, &(struct zip_spec){ .name = "a/g", .text = "x", .zip64 = true });
		zip_end(&m, zip64, "comment");
		for (size_t len = 0; len < m.file.len; len++) {
			struct error err = { 0 };
			struct zip zip;
			cleanup_arena struct arena arena = { 0 };

			assert_int_equal(read_bytes(slice_of(m.file.data, len), &arena, &zip, &err),
					 -1);
			assert_int_equal(err.code, ERROR_FORMAT);
		}
	}
}

/* Whatever one byte says: no crash, and what is read keeps its promises. */
static void test_a_changed_byte_never_breaks_the_promises(void **state)
{
	cleanup_zip_maker struct zip_maker m = { 0 };

	(void)state;
	zip_add(&m, &(struct zip_spec){ .name = "a/f", .text = "hello", .deflated = true });
	zip_add(&m, &(struct zip_spec){ .name = "a/g", .text = "x", .zip64 = true });
	zip_end(&m, true, "");
	for (size_t i = 0; i < m.file.len * 8; i++) {
		struct error err = { 0 };
		struct zip zip = { 0 };
		cleanup_arena struct arena arena = { 0 };

		m.file.data[i / 8] ^= (char)(1 << i % 8);
		if (read_bytes(strbuf_slice(&m.file), &arena, &zip, &err) == 0) {
			for (size_t k = 0; k < zip.count; k++)
				assert_true(zip.entries[k].data_offset +
						    zip.entries[k].compressed_size <=
					    m.file.len);
		}
		m.file.data[i / 8] ^= (char)(1 << i % 8);
	}
}

static void test_too_many_entries_are_a_limit(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf file = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct zip zip;

	(void)state;
	zip_le(&file, 0x06064b50, 4);
	zip_le(&file, 44, 8);
	zip_le(&file, 0, 4);
	zip_le(&file, 0, 8);
	zip_le(&file, 500001, 8);
	zip_le(&file, 500001, 8);
	zip_le(&file, 0, 8);
	zip_le(&file, 0, 8);
	zip_le(&file, 0x07064b50, 4);
	zip_le(&file, 0, 4);
	zip_le(&file, 0, 8);
	zip_le(&file, 1, 4);
	zip_le(&file, 0x06054b50, 4);
	zip_le(&file, 0, 4);
	zip_le(&file, UINT64_MAX, 4);
	zip_le(&file, UINT64_MAX, 8);
	zip_le(&file, 0, 2);
	assert_int_equal(read_bytes(strbuf_slice(&file), &arena, &zip, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

static void test_an_entry_that_grows_beyond_its_size_is_cut_off(void **state)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf big = { 0 }, out = { 0 };
	struct zip_spec spec = { .name = "bomb", .deflated = true };

	(void)state;
	for (size_t i = 0; i < 1000000; i++)
		strbuf_addc(&big, 'a');
	spec.text = strbuf_text(&big);
	spec.size_plus = -999000;
	assert_int_equal(read_entry(&spec, &out, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_true(out.len <= 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries_come_sorted_with_their_facts),
		cmocka_unit_test(test_content_is_read_stored_and_deflated),
		cmocka_unit_test(test_content_that_is_not_what_the_directory_says_is_refused),
		cmocka_unit_test(test_descriptors_of_all_four_lengths_are_read),
		cmocka_unit_test(test_zip64_is_read),
		cmocka_unit_test(test_unsafe_names_are_refused),
		cmocka_unit_test(test_names_in_utf8_are_taken),
		cmocka_unit_test(test_names_of_more_than_4096_bytes_are_refused),
		cmocka_unit_test(test_a_path_twice_or_below_a_file_is_refused),
		cmocka_unit_test(test_what_we_do_not_take_is_refused),
		cmocka_unit_test(test_local_headers_that_disagree_are_refused),
		cmocka_unit_test(test_overlapping_entries_are_refused),
		cmocka_unit_test(test_bytes_before_the_first_entry_are_refused),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_a_changed_byte_never_breaks_the_promises),
		cmocka_unit_test(test_too_many_entries_are_a_limit),
		cmocka_unit_test(test_an_entry_that_grows_beyond_its_size_is_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
