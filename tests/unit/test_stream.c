#include "tests/support/test.h"

#include "base/sink.h"
#include "base/stream.h"

/* Gives its bytes one at a time, or an error after the last. */
struct slow_stream {
	struct stream base;
	struct slice left;
	bool breaks;
};

static ssize_t slow_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct slow_stream *s = (struct slow_stream *)base;

	assert_true(len > 0);
	if (!s->left.len)
		return s->breaks ? error_set(err, ERROR_NETWORK, "broke") : 0;
	*(uint8_t *)buf = s->left.data[0];
	s->left = slice_of(s->left.data + 1, s->left.len - 1);
	return 1;
}

static struct stream *slow(const char *text, bool breaks)
{
	static const struct stream_ops ops = { .read = slow_read };
	struct slow_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->left = slice_str(text);
	s->breaks = breaks;
	return &s->base;
}

static void check_refused(struct stream *s, enum error_code code, const char *want)
{
	cleanup_strbuf struct strbuf out = { 0 };

	/* Asked again, it does not change its mind. */
	for (int i = 0; i < 3; i++) {
		struct error err = { 0 };

		assert_int_equal(stream_read_all(s, UINT64_MAX, &out, &err), -1);
		assert_int_equal(err.code, code);
		assert_string_equal(err.text, want);
	}
}

static void test_memory_is_read_to_its_end(void **state)
{
	cleanup_stream struct stream *s = stream_memory(slice_str("abc"));
	struct error err = { 0 };
	char buf[8];

	(void)state;
	assert_int_equal(stream_read(s, buf, 2, &err), 2);
	assert_int_equal(stream_read(s, buf + 2, 2, &err), 1);
	assert_memory_equal(buf, "abc", 3);
	assert_int_equal(stream_read(s, buf, 2, &err), 0);
	assert_int_equal(stream_read(s, buf, 2, &err), 0);
}

static void test_an_empty_stream_ends_at_once(void **state)
{
	cleanup_stream struct stream *s = stream_memory((struct slice){ 0 });
	struct error err = { 0 };
	uint64_t bytes = 7;
	char c;

	(void)state;
	assert_int_equal(stream_read(s, &c, 1, &err), 0);
	assert_ok(stream_drain(s, &bytes, &err), err);
	assert_int_equal(bytes, 0);
	stream_close(NULL);
}

static void test_an_exact_read_gathers_short_ones(void **state)
{
	cleanup_stream struct stream *s = slow("abcdef", false);
	struct error err = { 0 };
	char buf[5] = "";

	(void)state;
	assert_ok(stream_read_exact(s, buf, 4, &err), err);
	assert_string_equal(buf, "abcd");
	assert_int_equal(stream_read_exact(s, buf, 4, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_string_equal(err.text, "ends early, 2 bytes are missing");
}

static void test_reading_all_holds_to_the_limit(void **state)
{
	cleanup_stream struct stream *fits = slow("abcd", false);
	cleanup_stream struct stream *over = slow("abcde", false);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(stream_read_all(fits, 4, &out, &err), err);
	assert_string_equal(out.data, "abcd");
	assert_int_equal(stream_read_all(over, 4, &out, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_string_equal(err.text, "holds more than 4 bytes");
}

static void test_a_limit_refuses_one_byte_more(void **state)
{
	cleanup_stream struct stream *inner = slow("abcde", false);
	cleanup_stream struct stream *s = stream_limit(inner, 4);

	(void)state;
	check_refused(s, ERROR_LIMIT, "holds more than 4 bytes");
}

static void test_a_limit_lets_pass_what_fits(void **state)
{
	cleanup_stream struct stream *inner = stream_memory(slice_str("abcd"));
	cleanup_stream struct stream *s = stream_limit(inner, 4);
	struct error err = { 0 };
	uint64_t bytes = 0;

	(void)state;
	assert_ok(stream_drain(s, &bytes, &err), err);
	assert_int_equal(bytes, 4);
}

static void test_proven_bytes_pass(void **state)
{
	struct digest want = digest_of(slice_str("abcd"));
	cleanup_stream struct stream *inner = slow("abcd", false);
	cleanup_stream struct stream *s = stream_verify(inner, &want, 4);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };
	char c;

	(void)state;
	assert_ok(stream_read_all(s, 10, &out, &err), err);
	assert_string_equal(out.data, "abcd");
	assert_int_equal(stream_read(s, &c, 1, &err), 0);
}

static void test_a_wrong_digest_is_refused_for_ever(void **state)
{
	struct digest want = digest_of(slice_str("abcd"));
	cleanup_stream struct stream *inner = stream_memory(slice_str("abce"));
	cleanup_stream struct stream *s = stream_verify(inner, &want, 4);

	(void)state;
	check_refused(s, ERROR_INTEGRITY,
		      "has digest "
		      "sha256:84e73dc50f2be9000ab2a87f8026c1f45e1fec954af502e9904031645b190d4f "
		      "instead of "
		      "sha256:88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589");
}

static void test_a_short_or_long_read_is_refused_for_ever(void **state)
{
	struct digest want = digest_of(slice_str("abcd"));
	cleanup_stream struct stream *few = stream_memory(slice_str("abc"));
	cleanup_stream struct stream *many = stream_memory(slice_str("abcde"));
	cleanup_stream struct stream *less = stream_verify(few, &want, 4);
	cleanup_stream struct stream *more = stream_verify(many, &want, 4);

	(void)state;
	check_refused(less, ERROR_INTEGRITY, "holds less than the 4 bytes expected");
	check_refused(more, ERROR_INTEGRITY, "holds more than the 4 bytes expected");
}

static void test_an_error_within_passes_through(void **state)
{
	struct digest want = digest_of(slice_str("abcd"));
	cleanup_stream struct stream *inner = slow("abcd", true);
	cleanup_stream struct stream *counted = stream_digest(inner, NULL, NULL);
	cleanup_stream struct stream *limited = stream_limit(counted, 10);
	cleanup_stream struct stream *s = stream_verify(limited, &want, 4);

	(void)state;
	check_refused(s, ERROR_NETWORK, "broke");
}

static void test_what_passes_is_counted_and_digested(void **state)
{
	cleanup_digest struct digest_state sum = { 0 };
	cleanup_stream struct stream *inner = slow("abcd", false);
	cleanup_stream struct stream *s = NULL;
	struct digest want = digest_of(slice_str("abcd")), got;
	struct error err = { 0 };
	uint64_t bytes = 0;

	(void)state;
	digest_init(&sum, DIGEST_SHA256);
	s = stream_digest(inner, &sum, &bytes);
	assert_ok(stream_drain(s, NULL, &err), err);
	got = digest_finish(&sum);
	assert_int_equal(bytes, 4);
	assert_true(digest_equal(&got, &want));
}

static void test_files_and_parts_of_them_are_read(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "f");
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };
	cleanup_fd int fd = -1;

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str("abcdef"), 0644, &err), err);
	fd = fs_open(AT_FDCWD, file, &err);
	assert_ok(fd, err);
	{
		cleanup_stream struct stream *part = stream_fd_range(fd, 2, 3, "f");

		assert_ok(stream_read_all(part, 10, &out, &err), err);
		assert_string_equal(out.data, "cde");
	}
	strbuf_truncate(&out, 0);
	{
		cleanup_stream struct stream *whole = stream_fd(steal_fd(&fd), "f");

		assert_ok(stream_read_all(whole, 10, &out, &err), err);
		assert_string_equal(out.data, "abcdef");
	}
}

static void test_a_part_beyond_the_end_of_a_file_is_refused(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "f");
	struct error err = { 0 };
	cleanup_fd int fd = -1;
	cleanup_stream struct stream *part = NULL;

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str("abcdef"), 0644, &err), err);
	fd = fs_open(AT_FDCWD, file, &err);
	assert_ok(fd, err);
	part = stream_fd_range(fd, 4, 5, "f");
	check_refused(part, ERROR_FORMAT, "f: ends early, 3 bytes are missing");
}

static void test_a_directory_cannot_be_read(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct error err = { 0 };
	cleanup_stream struct stream *s = stream_fd(fs_open(AT_FDCWD, dir, &err), "d");

	(void)state;
	check_refused(s, ERROR_SYSTEM, "read d: Is a directory");
}

static void test_sinks_pass_on_count_and_digest(void **state)
{
	cleanup_strbuf struct strbuf out = { 0 };
	cleanup_digest struct digest_state sum = { 0 };
	cleanup_stream struct stream *src = slow("abcd", false);
	cleanup_sink struct sink *memory = sink_memory(&out);
	cleanup_sink struct sink *s = NULL;
	struct digest want = digest_of(slice_str("abcd")), got;
	uint64_t counted = 0, copied = 0;
	struct error err = { 0 };

	(void)state;
	digest_init(&sum, DIGEST_SHA256);
	s = sink_digest(memory, &sum, &counted);
	assert_ok(sink_copy(s, src, &copied, &err), err);
	assert_ok(sink_write(s, NULL, 0, &err), err);
	assert_ok(sink_finish(s, &err), err);
	got = digest_finish(&sum);
	assert_string_equal(out.data, "abcd");
	assert_int_equal(counted, 4);
	assert_int_equal(copied, 4);
	assert_true(digest_equal(&got, &want));
	sink_close(NULL);
}

static void test_a_copy_ends_with_what_its_source_says(void **state)
{
	cleanup_stream struct stream *src = slow("abcd", true);
	cleanup_sink struct sink *nowhere = sink_digest(NULL, NULL, NULL);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(sink_copy(nowhere, src, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_NETWORK);
}

static void test_a_full_disk_is_told(void **state)
{
	cleanup_fd int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	cleanup_sink struct sink *s = sink_fd(fd, "out");
	struct error err = { 0 };

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(sink_write(s, "x", 1, &err), -1);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_string_equal(err.text, "write out: No space left on device");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_is_read_to_its_end),
		cmocka_unit_test(test_an_empty_stream_ends_at_once),
		cmocka_unit_test(test_an_exact_read_gathers_short_ones),
		cmocka_unit_test(test_reading_all_holds_to_the_limit),
		cmocka_unit_test(test_a_limit_refuses_one_byte_more),
		cmocka_unit_test(test_a_limit_lets_pass_what_fits),
		cmocka_unit_test(test_proven_bytes_pass),
		cmocka_unit_test(test_a_wrong_digest_is_refused_for_ever),
		cmocka_unit_test(test_a_short_or_long_read_is_refused_for_ever),
		cmocka_unit_test(test_an_error_within_passes_through),
		cmocka_unit_test(test_what_passes_is_counted_and_digested),
		cmocka_unit_test(test_files_and_parts_of_them_are_read),
		cmocka_unit_test(test_a_part_beyond_the_end_of_a_file_is_refused),
		cmocka_unit_test(test_a_directory_cannot_be_read),
		cmocka_unit_test(test_sinks_pass_on_count_and_digest),
		cmocka_unit_test(test_a_copy_ends_with_what_its_source_says),
		cmocka_unit_test(test_a_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
