#include "tests/support/test.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "builder/store.h"

static struct store *open_store(const char *dir)
{
	struct error err = { 0 };
	struct store *s = store_open(dir, &err);

	if (!s)
		fail_msg("unexpected: %s", err.text);
	return s;
}

static struct digest put(struct store *s, const char *text)
{
	struct error err = { 0 };
	struct digest digest;
	uint64_t size;
	cleanup_store_put struct store_pending p = { 0 };

	assert_ok(store_put_open(s, &p, &err), err);
	assert_ok(sink_write(p.sink, text, strlen(text), &err), err);
	assert_ok(store_put_commit(&p, NULL, 0, &digest, &size, &err), err);
	assert_int_equal(size, strlen(text));
	return digest;
}

static char *object_path(const struct store *s, const struct digest *d)
{
	char hex[DIGEST_HEX_MAX];

	digest_hex(d, hex);
	return xasprintf("%s/objects/sha256/%.2s/%s", store_path(s), hex, hex);
}

/* Replace an object's file behind the store's back. */
static void overwrite(const struct store *s, const struct digest *d, const char *text)
{
	struct error err = { 0 };
	cleanup_free char *path = object_path(s, d);

	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), 0444, &err), err);
}

static size_t temporaries(const struct store *s)
{
	struct error err = { 0 };
	struct fs_names names = { 0 };
	cleanup_free char *tmp = fs_join(store_path(s), "tmp");
	size_t n;

	assert_ok(fs_list(AT_FDCWD, tmp, &names, &err), err);
	n = names.len;
	fs_names_release(&names);
	return n;
}

static int read_object(struct store *s, const struct digest *d, uint64_t size, struct strbuf *out,
		       struct error *err)
{
	cleanup_stream struct stream *stream = store_read(s, d, size, err);

	return stream ? stream_read_all(stream, MIB, out, err) : -1;
}

static void test_what_was_put_is_read_by_its_digest(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = put(s, "hello"), want = digest_of(slice_str("hello"));
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	assert_true(digest_equal(&d, &want));
	assert_true(store_has(s, &d, 5));
	assert_false(store_has(s, &d, 6));
	assert_ok(read_object(s, &d, 5, &out, &err), err);
	assert_string_equal(strbuf_text(&out), "hello");
	assert_int_equal(temporaries(s), 0);
}

static void test_an_object_is_read_only_whatever_the_umask(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	mode_t old = umask(0);
	struct digest d = put(s, "x");
	cleanup_free char *path = object_path(s, &d);
	struct stat st;

	(void)state;
	umask(old);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0444);
}

static void test_a_missing_object_is_not_found(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = digest_of(slice_str("nothing"));

	(void)state;
	assert_false(store_has(s, &d, 7));
	assert_null(store_read(s, &d, 7, &err));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(store_open_verified(s, &d, 7, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void test_a_damaged_object_is_named_and_removed(void **state)
{
	static const char *const bad[] = { "hellO", "hell", "hello!", "" };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	char text[DIGEST_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct error err = { 0 };
		struct digest d = put(s, "hello");
		cleanup_strbuf struct strbuf out = { 0 };

		overwrite(s, &d, bad[i]);
		assert_int_equal(read_object(s, &d, 5, &out, &err), -1);
		assert_int_equal(err.code, ERROR_INTEGRITY);
		assert_contains(err.text, digest_text(&d, text));
		assert_contains(err.text, "removed");
		assert_null(store_read(s, &d, 5, &err));
		assert_int_equal(err.code, ERROR_NOT_FOUND);
	}
}

static void test_a_damaged_object_is_never_opened_for_random_access(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = put(s, "hello");

	(void)state;
	overwrite(s, &d, "hellO");
	assert_int_equal(store_open_verified(s, &d, 5, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_false(store_has(s, &d, 5));
}

static void test_a_verified_descriptor_starts_at_the_first_byte(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = put(s, "hello");
	cleanup_fd int fd = store_open_verified(s, &d, 5, &err);
	char buf[8];

	(void)state;
	assert_ok(fd, err);
	assert_int_equal(read(fd, buf, sizeof(buf)), 5);
}

static void test_a_mended_object_survives_the_reader_of_the_damaged_one(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = put(s, "hello");
	cleanup_strbuf struct strbuf out = { 0 };
	cleanup_stream struct stream *stream = NULL;

	(void)state;
	overwrite(s, &d, "hellO");
	stream = store_read(s, &d, 5, &err);
	assert_non_null(stream);
	put(s, "hello");
	assert_int_equal(stream_read_all(stream, MIB, &out, &err), -1);
	assert_true(store_has(s, &d, 5));
	assert_ok(read_object(s, &d, 5, &out, &err), err);
}

static void test_bytes_that_are_not_the_wanted_ones_leave_nothing(void **state)
{
	struct digest want = digest_of(slice_str("hello"));
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	static const char *const bad[] = { "hellO", "hell", "hello!" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct error err = { 0 };
		struct digest got, own = digest_of(slice_str(bad[i]));
		uint64_t size;
		struct store_pending p = { 0 };

		assert_ok(store_put_open(s, &p, &err), err);
		assert_ok(sink_write(p.sink, bad[i], strlen(bad[i]), &err), err);
		assert_int_equal(store_put_commit(&p, &want, 5, &got, &size, &err), -1);
		assert_int_equal(err.code, ERROR_INTEGRITY);
		store_put_release(&p);
		assert_false(store_has(s, &want, 5));
		assert_false(store_has(s, &own, strlen(bad[i])));
		assert_int_equal(temporaries(s), 0);
	}
}

static void test_a_known_digest_may_have_any_size(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = store_open(dir, &err);
	cleanup_store_put struct store_pending p = { 0 };
	struct digest got, want = digest_of(slice_str("abc"));
	uint64_t size;

	(void)state;
	assert_non_null(s);
	assert_ok(store_put_open(s, &p, &err), err);
	assert_ok(sink_write(p.sink, "abc", 3, &err), err);
	assert_ok(store_put_commit(&p, &want, UINT64_MAX, &got, &size, &err), err);
	assert_int_equal(size, 3);
}

static void test_two_may_put_the_same_object_at_once(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir), *other = open_store(dir);
	cleanup_store_put struct store_pending a = { 0 }, b = { 0 };
	struct digest da, db;
	uint64_t size;
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	assert_ok(store_put_open(s, &a, &err), err);
	assert_ok(store_put_open(other, &b, &err), err);
	assert_ok(sink_write(a.sink, "same", 4, &err), err);
	assert_ok(sink_write(b.sink, "same", 4, &err), err);
	assert_ok(store_put_commit(&a, NULL, 0, &da, &size, &err), err);
	assert_ok(store_put_commit(&b, NULL, 0, &db, &size, &err), err);
	assert_true(digest_equal(&da, &db));
	assert_ok(read_object(s, &da, 4, &out, &err), err);
	assert_string_equal(strbuf_text(&out), "same");
}

static void test_a_whole_object_comes_back_and_a_damaged_one_does_not(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	cleanup_strbuf struct strbuf out = { 0 }, none = { 0 };
	cleanup_free char *name = NULL;
	struct digest d;
	int dirfd;

	(void)state;
	assert_ok(store_put_bytes(s, slice_str("whole"), &d, &err), err);
	assert_ok(store_get_bytes(s, &d, 5, &out, &err), err);
	assert_string_equal(strbuf_text(&out), "whole");
	assert_int_equal(store_get_bytes(s, &d, 4, &none, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_ok(store_locate(s, &d, &dirfd, &name, &err), err);
	assert_ok(fs_write(dirfd, name, slice_str("whale"), 0444, &err), err);
	assert_int_equal(store_get_bytes(s, &d, 5, &none, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_int_equal(store_get_bytes(s, &d, 5, &none, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void test_a_put_that_is_given_up_leaves_nothing(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct store_pending p = { 0 };

	(void)state;
	assert_ok(store_put_open(s, &p, &err), err);
	assert_ok(sink_write(p.sink, "half", 4, &err), err);
	assert_true(temporaries(s) <= 1); /* none where the file system can write without a name */
	store_put_release(&p);
	assert_int_equal(temporaries(s), 0);
	store_put_release(&p);
}

static void test_files_of_killed_processes_are_swept_and_living_ones_kept(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir), *again = NULL;
	cleanup_store_put struct store_pending own = { 0 };
	cleanup_pending struct fs_pending living = { .fd = -1 };
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct store_pending p = { 0 };
		struct fs_pending named;

		if (store_put_open(s, &p, &err) < 0 || sink_write(p.sink, "half", 4, &err) < 0 ||
		    fs_pending_open_named(p.file.dirfd, &named, &err) < 0)
			_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_ok(store_put_open(s, &own, &err), err);
	assert_ok(fs_pending_open_named(own.file.dirfd, &living, &err), err);
	assert_true(temporaries(s) >= 2);
	again = open_store(dir);
	assert_true(temporaries(s) <= 2); /* of two or four */
	assert_true(fs_exists(own.file.dirfd, living.temporary));
}

/* A file size limit stands in for a full disk: write fails with EFBIG instead of ENOSPC. */
static void test_no_room_is_a_system_error_and_leaves_nothing(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct store_pending p = { 0 };
	struct rlimit old, small;
	char block[8192] = "";
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	int rc;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	small = old;
	small.rlim_cur = 4096;
	assert_ok(store_put_open(s, &p, &err), err);
	setrlimit(RLIMIT_FSIZE, &small);
	rc = sink_write(p.sink, block, sizeof(block), &err);
	setrlimit(RLIMIT_FSIZE, &old);
	signal(SIGXFSZ, handler);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(err.sys_errno, EFBIG);
	store_put_release(&p);
	assert_int_equal(temporaries(s), 0);
}

static void test_records_are_kept_by_kind_and_key(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest key = digest_of(slice_str("recipe"));
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	assert_int_equal(store_get_record(s, "layer", &key, &out, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_ok(store_put_record(s, "layer", &key, slice_str("{\"a\":1}"), &err), err);
	assert_ok(store_put_record(s, "layer", &key, slice_str("{\"a\":\n2}"), &err), err);
	assert_ok(store_get_record(s, "layer", &key, &out, &err), err);
	assert_string_equal(strbuf_text(&out), "{\"a\":\n2}");
	assert_int_equal(store_get_record(s, "stage", &key, &out, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_int_equal(temporaries(s), 0);
}

static void test_an_empty_record_is_a_record(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest key = digest_of(slice_str("recipe"));
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	assert_ok(store_put_record(s, "layer", &key, slice_str(""), &err), err);
	assert_ok(store_get_record(s, "layer", &key, &out, &err), err);
	assert_int_equal(out.len, 0);
}

static void test_a_damaged_record_is_not_found(void **state)
{
	struct digest key = digest_of(slice_str("recipe"));
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *path = xasprintf("%s/keys/layer/%s", dir, digest_hex(&key, hex));
	cleanup_strbuf struct strbuf file = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(store_put_record(s, "layer", &key, slice_str("value"), &err), err);
	assert_ok(fs_read(AT_FDCWD, path, MIB, &file, &err), err);
	for (size_t len = 0; len < file.len; len++) {
		cleanup_strbuf struct strbuf out = { 0 };
		struct error why = { 0 };

		assert_ok(fs_write(AT_FDCWD, path, slice_of(file.data, len), 0444, &why), why);
		assert_int_equal(store_get_record(s, "layer", &key, &out, &why), -1);
		assert_int_equal(why.code, ERROR_NOT_FOUND);
		assert_false(fs_exists(AT_FDCWD, path));
	}
}

static void test_scratch_files_have_no_name(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	cleanup_fd int fd = store_scratch(s, &err);

	(void)state;
	assert_ok(fd, err);
	assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(temporaries(s), 0);
}

static void test_a_located_object_can_be_linked(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = put(s, "hello");
	cleanup_free char *name = NULL, *to = fs_join(dir, "linked");
	int dirfd;

	(void)state;
	assert_ok(store_locate(s, &d, &dirfd, &name, &err), err);
	assert_int_equal(linkat(dirfd, name, AT_FDCWD, to, 0), 0);
	store_discard(s, &d);
	assert_false(store_has(s, &d, 5));
	free(steal_ptr(&name));
	assert_int_equal(store_locate(s, &d, &dirfd, &name, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void test_the_environment_says_where_the_store_lies(void **state)
{
	struct error err = { 0 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *own = fs_join(dir, "own"), *cache = fs_join(dir, "cache/gpuimg");
	cleanup_free char *home = fs_join(dir, ".cache/gpuimg"), *xdg = fs_join(dir, "cache");
	cleanup_store struct store *a = NULL, *b = NULL, *c = NULL;

	(void)state;
	setenv("GPUIMG_STORE", own, 1);
	setenv("XDG_CACHE_HOME", xdg, 1);
	setenv("HOME", dir, 1);
	a = open_store(NULL);
	assert_string_equal(store_path(a), own);
	unsetenv("GPUIMG_STORE");
	b = open_store(NULL);
	assert_string_equal(store_path(b), cache);
	setenv("XDG_CACHE_HOME", "relative", 1);
	c = open_store(NULL);
	assert_string_equal(store_path(c), home);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_null(store_open(NULL, &err));
	assert_int_equal(err.code, ERROR_USAGE);
}

static void test_a_write_to_an_object_breaks_its_seal(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = put(s, "hello");
	cleanup_free char *path = object_path(s, &d);
	cleanup_fd int fd = -1;

	(void)state;
	assert_true(store_intact(s, &d, 5));
	assert_int_equal(chmod(path, 0644), 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "J", 1, 0), 1);
	assert_int_equal(chmod(path, 0444), 0);
	assert_false(store_intact(s, &d, 5));
	assert_false(store_has(s, &d, 5));
}

static void test_an_object_with_another_time_is_read_and_sealed_again(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_store struct store *s = open_store(dir);
	struct digest d = put(s, "hello");
	cleanup_free char *path = object_path(s, &d);
	const struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	struct stat sealed, after;

	(void)state;
	assert_int_equal(stat(path, &sealed), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, now, 0), 0);
	assert_true(store_intact(s, &d, 5));
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_mtim.tv_sec, sealed.st_mtim.tv_sec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_put_is_read_by_its_digest),
		cmocka_unit_test(test_an_object_is_read_only_whatever_the_umask),
		cmocka_unit_test(test_a_missing_object_is_not_found),
		cmocka_unit_test(test_a_damaged_object_is_named_and_removed),
		cmocka_unit_test(test_a_damaged_object_is_never_opened_for_random_access),
		cmocka_unit_test(test_a_verified_descriptor_starts_at_the_first_byte),
		cmocka_unit_test(test_a_mended_object_survives_the_reader_of_the_damaged_one),
		cmocka_unit_test(test_bytes_that_are_not_the_wanted_ones_leave_nothing),
		cmocka_unit_test(test_a_known_digest_may_have_any_size),
		cmocka_unit_test(test_two_may_put_the_same_object_at_once),
		cmocka_unit_test(test_a_whole_object_comes_back_and_a_damaged_one_does_not),
		cmocka_unit_test(test_a_put_that_is_given_up_leaves_nothing),
		cmocka_unit_test(test_files_of_killed_processes_are_swept_and_living_ones_kept),
		cmocka_unit_test(test_no_room_is_a_system_error_and_leaves_nothing),
		cmocka_unit_test(test_records_are_kept_by_kind_and_key),
		cmocka_unit_test(test_an_empty_record_is_a_record),
		cmocka_unit_test(test_a_damaged_record_is_not_found),
		cmocka_unit_test(test_scratch_files_have_no_name),
		cmocka_unit_test(test_a_located_object_can_be_linked),
		cmocka_unit_test(test_the_environment_says_where_the_store_lies),
		cmocka_unit_test(test_a_write_to_an_object_breaks_its_seal),
		cmocka_unit_test(test_an_object_with_another_time_is_read_and_sealed_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
