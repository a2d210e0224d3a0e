#include <sys/wait.h>

#include "tests/support/test.h"

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void write_file(int dirfd, const char *path)
{
	struct error err = { 0 };

	assert_ok(fs_write(dirfd, path, slice_str(path), 0644, &err), err);
}

static void make_dirs(int dirfd, const char *path)
{
	struct error err = { 0 };

	assert_ok(fs_mkdirs(dirfd, path, &err), err);
}

static void test_what_is_written_reads_back(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	write_file(fd, "f");
	assert_ok(fs_read(fd, "f", 10, &out, &err), err);
	assert_string_equal(out.data, "f");
}

static void test_a_file_over_the_limit_is_refused(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	write_file(fd, "four");
	assert_ok(fs_read(fd, "four", 4, &out, &err), err);
	assert_int_equal(fs_read(fd, "four", 3, &out, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_string_equal(err.text, "four: holds more than 3 bytes");
}

static void test_a_missing_file_is_not_found(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };
	struct fs_names names = { 0 };

	(void)state;
	assert_int_equal(fs_read(fd, "none", 10, &out, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_string_equal(err.text, "none: no such file");
	assert_int_equal(fs_list(fd, "none", &names, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_false(fs_exists(fd, "none"));
}

static void test_modes_are_exact_whatever_the_umask(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	mode_t before = umask(0077);
	struct error err = { 0 };
	struct stat st;
	int rc = fs_write(fd, "f", slice_str("x"), 0755, &err);

	(void)state;
	umask(before);
	assert_ok(rc, err);
	assert_int_equal(fstatat(fd, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
}

static void test_a_file_is_replaced_and_nothing_else_is_left(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_strbuf struct strbuf out = { 0 };
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	write_file(fd, "f");
	assert_ok(fs_write(fd, "f", slice_str("new"), 0644, &err), err);
	assert_ok(fs_read(fd, "f", 10, &out, &err), err);
	assert_string_equal(out.data, "new");
	assert_ok(fs_list(fd, ".", &names, &err), err);
	assert_int_equal(names.len, 1);
	fs_names_release(&names);
}

static void test_a_failed_write_leaves_nothing(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	make_dirs(fd, "d");
	assert_int_equal(fs_write(fd, "d", slice_str("x"), 0644, &err), -1);
	assert_int_equal(fs_write(fd, "none/f", slice_str("x"), 0644, &err), -1);
	assert_ok(fs_list(fd, ".", &names, &err), err);
	assert_int_equal(names.len, 1);
	fs_names_release(&names);
}

static void test_directories_are_made_once_and_again(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_free char *absolute = fs_join(dir, "x/y");

	(void)state;
	make_dirs(fd, "a/b//c/");
	make_dirs(fd, "a/b/c");
	make_dirs(AT_FDCWD, absolute);
	make_dirs(fd, "");
	assert_true(fs_exists(fd, "a/b/c"));
	assert_true(fs_exists(fd, "x/y"));
}

static void test_a_file_in_the_way_of_a_directory_is_told(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	struct error err = { 0 };

	(void)state;
	write_file(fd, "f");
	assert_int_equal(fs_mkdirs(fd, "f", &err), -1);
	assert_string_equal(err.text, "create directory f: Not a directory");
	assert_int_equal(fs_mkdirs(fd, "f/g", &err), -1);
	assert_int_equal(err.sys_errno, ENOTDIR);
}

static void test_names_come_sorted_by_their_bytes(void **state)
{
	static const char *const want[] = { ".x", "B", "a", "a-", "b" };
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	for (size_t i = ARRAY_LEN(want); i > 0; i--)
		write_file(fd, want[i - 1]);
	assert_ok(fs_list(AT_FDCWD, dir, &names, &err), err);
	assert_int_equal(names.len, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(names.items[i], want[i]);
	fs_names_release(&names);
}

static int note(void *user, const struct fs_entry *e, struct error *err)
{
	struct strbuf *seen = user;

	(void)err;
	strbuf_addf(seen, "%s%s ", e->path,
		    S_ISDIR(e->st.st_mode)   ? "/"
		    : S_ISLNK(e->st.st_mode) ? "@"
					     : "");
	assert_true(fs_exists(e->dirfd, e->name));
	return 0;
}

static void test_a_walk_is_sorted_and_follows_no_link(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_strbuf struct strbuf seen = { 0 };
	struct error err = { 0 };

	(void)state;
	make_dirs(fd, "b/c");
	make_dirs(fd, "a");
	write_file(fd, "b/c/f");
	write_file(fd, "b-");
	assert_int_equal(symlinkat("/", fd, "b/root"), 0);
	assert_ok(fs_walk(AT_FDCWD, dir, note, &seen, &err), err);
	assert_string_equal(seen.data, "a/ b/ b/c/ b/c/f b/root@ b- ");
}

static int stop_at_b(void *user, const struct fs_entry *e, struct error *err)
{
	strbuf_adds(user, e->path);
	return str_equal(e->path, "b") ? error_set(err, ERROR_LIMIT, "enough") : 0;
}

static void test_a_walk_ends_when_the_visitor_says_so(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_strbuf struct strbuf seen = { 0 };
	struct error err = { 0 };

	(void)state;
	make_dirs(fd, "a");
	make_dirs(fd, "b/x");
	make_dirs(fd, "c");
	assert_int_equal(fs_walk(fd, ".", stop_at_b, &seen, &err), -1);
	assert_string_equal(err.text, "enough");
	assert_string_equal(seen.data, "ab");
}

static void test_a_tree_is_removed_and_nothing_beyond_its_links(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	struct error err = { 0 };

	(void)state;
	make_dirs(fd, "keep");
	write_file(fd, "keep/f");
	make_dirs(fd, "t/a/b");
	write_file(fd, "t/a/b/f");
	assert_int_equal(symlinkat("../keep", fd, "t/link"), 0);
	assert_int_equal(fchmodat(fd, "t/a/b", 0, 0), 0);
	assert_int_equal(fchmodat(fd, "t/a", 0500, 0), 0);
	assert_ok(fs_remove_tree(fd, "t", &err), err);
	assert_false(fs_exists(fd, "t"));
	assert_true(fs_exists(fd, "keep/f"));
	assert_ok(fs_remove_tree(fd, "t", &err), err);
}

static void test_a_link_to_a_tree_is_removed_alone(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	struct error err = { 0 };

	(void)state;
	make_dirs(fd, "keep");
	assert_int_equal(symlinkat("keep", fd, "link"), 0);
	assert_ok(fs_remove_tree(fd, "link", &err), err);
	assert_false(fs_exists(fd, "link"));
	assert_true(fs_exists(fd, "keep"));
}

static void test_a_pending_file_appears_when_committed(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_pending struct fs_pending p = { .fd = -1 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_pending_open(fd, &p, &err), err);
	assert_int_equal(write(p.fd, "x", 1), 1);
	assert_false(fs_exists(fd, "f"));
	assert_ok(fs_pending_commit(&p, "f", 0600, &err), err);
	assert_true(fs_exists(fd, "f"));
	assert_int_equal(p.fd, -1);
}

static void test_a_pending_file_that_is_given_up_is_gone(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	struct fs_pending p = { .fd = -1 };
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_pending_open(fd, &p, &err), err);
	fs_pending_release(&p);
	fs_pending_release(&p);
	fs_pending_release(NULL);
	assert_ok(fs_list(fd, ".", &names, &err), err);
	assert_int_equal(names.len, 0);
}

static void test_a_sweep_takes_what_the_dead_left(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_pending struct fs_pending ours = { .fd = -1 };
	struct fs_names names = { 0 };
	struct error err = { 0 };
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct fs_pending left = { .fd = -1 };

		_exit(fs_pending_open_named(fd, &left, &err) < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_ok(fs_pending_open_named(fd, &ours, &err), err);
	write_file(fd, "other");
	fs_pending_sweep(fd);
	assert_ok(fs_list(fd, ".", &names, &err), err);
	assert_int_equal(names.len, 2);
	assert_string_equal(names.items[0], ours.temporary);
	assert_string_equal(names.items[1], "other");
	fs_names_release(&names);
}

static void test_a_sweep_spares_what_another_pid_namespace_may_be_writing(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	const struct timespec long_ago[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	(void)state;
	write_file(fd, ".gpuimg-tmp-999999999-00000000-0123456789abcdef");
	write_file(fd, ".gpuimg-tmp-999999999-00000000-fedcba9876543210");
	assert_int_equal(
		utimensat(fd, ".gpuimg-tmp-999999999-00000000-fedcba9876543210", long_ago, 0), 0);
	fs_pending_sweep(fd);
	assert_true(fs_exists(fd, ".gpuimg-tmp-999999999-00000000-0123456789abcdef"));
	assert_false(fs_exists(fd, ".gpuimg-tmp-999999999-00000000-fedcba9876543210"));
}

static void assert_replaces(struct fs_pending *p, int fd)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct fs_names names = { 0 };
	struct error err = { 0 };

	write_file(fd, "f");
	assert_int_equal(write(p->fd, "new", 3), 3);
	assert_ok(fs_pending_commit(p, "f", 0600, &err), err);
	assert_ok(fs_read(fd, "f", 10, &text, &err), err);
	assert_string_equal(strbuf_text(&text), "new");
	assert_ok(fs_list(fd, ".", &names, &err), err);
	assert_int_equal(names.len, 1);
	fs_names_release(&names);
}

static void test_a_pending_file_replaces_what_has_its_name(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	cleanup_pending struct fs_pending p = { .fd = -1 }, named = { .fd = -1 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_pending_open(fd, &p, &err), err);
	assert_replaces(&p, fd);
	assert_ok(fs_pending_open_named(fd, &named, &err), err);
	assert_replaces(&named, fd);
}

static void test_a_pending_file_that_cannot_get_its_name_is_gone(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int fd = open_dir(dir);
	struct fs_pending p = { .fd = -1 };
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	make_dirs(fd, "taken");
	assert_ok(fs_pending_open(fd, &p, &err), err);
	assert_int_equal(fs_pending_commit(&p, "taken", 0600, &err), -1);
	assert_contains(err.text, "taken");
	fs_pending_release(&p);
	assert_ok(fs_list(fd, ".", &names, &err), err);
	assert_int_equal(names.len, 1);
	fs_names_release(&names);
}

static void test_a_lock_is_ours_anothers_or_cannot_be_had(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int dirfd = open_dir(dir), unlockable = open(dir, O_PATH | O_CLOEXEC);
	struct error err = { 0 };
	int first = -1, second = -1;

	(void)state;
	assert_int_equal(fs_lock_file(dirfd, "l", LOCK_EX | LOCK_NB, &first, &err), 1);
	assert_int_equal(fs_lock_file(dirfd, "l", LOCK_EX | LOCK_NB, &second, &err), 0);
	assert_int_equal(second, -1);
	close(first);
	assert_int_equal(fs_lock_file(dirfd, "l", LOCK_EX | LOCK_NB, &second, &err), 1);
	close(second);

	assert_int_equal(fs_lock(unlockable, LOCK_EX | LOCK_NB, "that", &err), -1);
	assert_int_equal(err.sys_errno, EBADF);
	assert_contains(err.text, "that");
	make_dirs(dirfd, "taken");
	assert_int_equal(fs_lock_file(dirfd, "taken", LOCK_EX, &second, &err), -1);
	assert_int_equal(err.sys_errno, EISDIR);
}

/* The file that was waited for is gone by then: a lock on it would keep nobody out. */
static void test_a_lock_that_was_waited_for_bears_its_name(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_fd int dirfd = open_dir(dir);
	struct error err = { 0 };
	int held, fd, status;
	pid_t waiter;

	(void)state;
	assert_int_equal(fs_lock_file(dirfd, "l", LOCK_EX, &held, &err), 1);
	waiter = fork();
	assert_true(waiter >= 0);
	if (!waiter) {
		struct stat ours, named;

		close(held);
		_exit(fs_lock_file(dirfd, "l", LOCK_EX, &fd, &err) == 1 && fstat(fd, &ours) == 0 &&
				      fstatat(dirfd, "l", &named, 0) == 0 &&
				      ours.st_ino == named.st_ino && named.st_nlink == 1
			      ? 0
			      : 1);
	}
	usleep(20000); /* it waits by now, most often; it has the name whether or not */
	assert_int_equal(unlinkat(dirfd, "l", 0), 0);
	close(held);
	assert_int_equal(waitpid(waiter, &status, 0), waiter);
	assert_int_equal(status, 0);
}

static void test_joined_paths_have_one_slash(void **state)
{
	cleanup_free char *plain = fs_join("a", "b");
	cleanup_free char *slash = fs_join("a/", "b");

	(void)state;
	assert_string_equal(plain, "a/b");
	assert_string_equal(slash, "a/b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_reads_back),
		cmocka_unit_test(test_a_file_over_the_limit_is_refused),
		cmocka_unit_test(test_a_missing_file_is_not_found),
		cmocka_unit_test(test_modes_are_exact_whatever_the_umask),
		cmocka_unit_test(test_a_file_is_replaced_and_nothing_else_is_left),
		cmocka_unit_test(test_a_failed_write_leaves_nothing),
		cmocka_unit_test(test_directories_are_made_once_and_again),
		cmocka_unit_test(test_a_file_in_the_way_of_a_directory_is_told),
		cmocka_unit_test(test_names_come_sorted_by_their_bytes),
		cmocka_unit_test(test_a_walk_is_sorted_and_follows_no_link),
		cmocka_unit_test(test_a_walk_ends_when_the_visitor_says_so),
		cmocka_unit_test(test_a_tree_is_removed_and_nothing_beyond_its_links),
		cmocka_unit_test(test_a_link_to_a_tree_is_removed_alone),
		cmocka_unit_test(test_a_pending_file_appears_when_committed),
		cmocka_unit_test(test_a_pending_file_that_is_given_up_is_gone),
		cmocka_unit_test(test_a_sweep_takes_what_the_dead_left),
		cmocka_unit_test(test_a_sweep_spares_what_another_pid_namespace_may_be_writing),
		cmocka_unit_test(test_a_pending_file_replaces_what_has_its_name),
		cmocka_unit_test(test_a_pending_file_that_cannot_get_its_name_is_gone),
		cmocka_unit_test(test_a_lock_is_ours_anothers_or_cannot_be_had),
		cmocka_unit_test(test_a_lock_that_was_waited_for_bears_its_name),
		cmocka_unit_test(test_joined_paths_have_one_slash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
