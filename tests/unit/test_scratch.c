#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "testkernels/scratch.h"

static size_t entries(const char *dir)
{
	struct fs_names names = { 0 };
	struct error err = { 0 };
	size_t n;

	assert_ok(fs_list(AT_FDCWD, dir, &names, &err), err);
	n = names.len;
	fs_names_release(&names);
	return n;
}

static void fill(const struct scratch *s)
{
	cleanup_free char *dir = fs_join(s->path, "a/b/c");
	cleanup_free char *file = fs_join(dir, "file");
	struct error err = { 0 };

	assert_ok(fs_mkdirs(AT_FDCWD, dir, &err), err);
	assert_ok(fs_write(AT_FDCWD, file, slice_str("x"), 0644, &err), err);
}

static void test_it_is_gone_when_released(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct scratch s;
	struct error err = { 0 };

	(void)state;
	assert_ok(scratch_open(dir, &s, &err), err);
	fill(&s);
	assert_int_equal(entries(dir), 1);
	scratch_release(&s);
	assert_int_equal(entries(dir), 0);
}

static void test_it_is_gone_when_its_owner_is_killed(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	int ready[2], status;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct error err = { 0 };
		struct scratch s;

		if (scratch_open(dir, &s, &err) < 0)
			_exit(1);
		fill(&s);
		ignore_result(write(ready[1], "x", 1) < 0);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(entries(dir), 1);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < 500 && entries(dir); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
	assert_int_equal(entries(dir), 0);
	close(ready[0]);
	close(ready[1]);
}

static void test_a_tree_deeper_than_descriptors_are_allowed_goes_too(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct rlimit old, few;
	struct error err = { 0 };
	struct scratch s;
	int at;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	few = (struct rlimit){ 64, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_ok(scratch_open(dir, &s, &err), err);
	at = openat(s.dirfd, ".", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 200; i++) {
		int below;

		assert_int_equal(mkdirat(at, "d", 0755), 0);
		below = openat(at, "d", O_RDONLY | O_DIRECTORY);
		assert_true(below >= 0);
		close(at);
		at = below;
	}
	close(at);
	scratch_release(&s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(entries(dir), 0);
}

static void test_a_path_that_no_search_path_can_hold_is_refused(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *odd = fs_join(dir, "a:b");
	struct error err = { 0 };
	struct scratch s;

	(void)state;
	assert_int_equal(scratch_open(odd, &s, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_is_gone_when_released),
		cmocka_unit_test(test_it_is_gone_when_its_owner_is_killed),
		cmocka_unit_test(test_a_tree_deeper_than_descriptors_are_allowed_goes_too),
		cmocka_unit_test(test_a_path_that_no_search_path_can_hold_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
