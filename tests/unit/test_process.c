#include <signal.h>

#include "tests/support/test.h"

#include "base/fs.h"
#include "base/process.h"
#include "base/clock.h"

/* Runs a line of shell with what else `with` says. */
static void run_shell(const char *line, struct process with, struct process_result *out)
{
	const char *const argv[] = { "sh", "-c", line, NULL };
	struct error err = { 0 };

	with.argv = argv;
	assert_ok(process_run(&with, out, &err), err);
}

static void test_both_outputs_and_the_status_are_taken(void **state)
{
	cleanup_process struct process_result r = { 0 };

	(void)state;
	run_shell("echo one; echo two >&2; exit 7", (struct process){ 0 }, &r);
	assert_string_equal(r.out_stdout.data, "one\n");
	assert_string_equal(r.out_stderr.data, "two\n");
	assert_int_equal(r.exit_status, 7);
	assert_int_equal(r.signal, 0);
	assert_false(r.timed_out);
}

static void test_output_goes_to_a_file_instead(void **state)
{
	cleanup_process struct process_result r = { 0 };
	struct error err = { 0 };
	char text[8] = "";
	int fd = fs_scratch(&err);

	(void)state;
	assert_true(fd > 0);
	run_shell("echo one; echo two >&2", (struct process){ .stdout_fd = fd }, &r);
	assert_int_equal(r.out_stdout.len, 0);
	assert_string_equal(r.out_stderr.data, "two\n");
	assert_int_equal(pread(fd, text, sizeof(text), 0), 4);
	assert_string_equal(text, "one\n");
	close(fd);
}

static void test_a_program_that_is_not_there_is_not_found(void **state)
{
	const char *const argv[] = { "no-such-program-here", NULL };
	const struct process p = { .argv = argv };
	cleanup_process struct process_result r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(process_run(&p, &r, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_string_equal(err.text, "no-such-program-here: no such program");
}

static void test_a_file_that_cannot_be_run_says_why(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "f");
	const char *const argv[] = { file, NULL };
	const struct process p = { .argv = argv };
	cleanup_process struct process_result r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str("text"), 0644, &err), err);
	assert_int_equal(process_run(&p, &r, &err), -1);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_int_equal(err.sys_errno, EACCES);
}

static void test_a_signal_is_told_from_a_status(void **state)
{
	cleanup_process struct process_result r = { 0 };

	(void)state;
	run_shell("kill -TERM $$", (struct process){ 0 }, &r);
	assert_int_equal(r.exit_status, -1);
	assert_int_equal(r.signal, SIGTERM);
}

static void test_input_is_fed_and_ends(void **state)
{
	cleanup_process struct process_result r = { 0 };
	cleanup_strbuf struct strbuf big = { 0 };

	(void)state;
	for (int i = 0; i < 300000; i++) /* more than a pipe holds, both ways */
		strbuf_adds(&big, "x\n");
	run_shell("cat", (struct process){ .stdin_data = strbuf_slice(&big) }, &r);
	assert_true(slice_equal(strbuf_slice(&big), strbuf_slice(&r.out_stdout)));
}

static void test_without_input_it_reads_nothing(void **state)
{
	cleanup_process struct process_result r = { 0 };

	(void)state;
	run_shell("wc -c", (struct process){ 0 }, &r);
	assert_string_equal(r.out_stdout.data, "0\n");
}

static void test_input_nobody_reads_does_not_kill_us(void **state)
{
	cleanup_process struct process_result r = { 0 };
	cleanup_strbuf struct strbuf big = { 0 };
	struct sigaction plain = { .sa_handler = SIG_DFL }, before;

	(void)state;
	strbuf_add_zeros(&big, MIB);
	sigaction(SIGPIPE, &plain, &before);
	run_shell("exec 0<&-; sleep 0.05; exit 3",
		  (struct process){ .stdin_data = strbuf_slice(&big) }, &r);
	sigaction(SIGPIPE, &before, NULL);
	assert_int_equal(r.exit_status, 3);
}

static void test_input_is_fed_after_the_outputs_were_closed(void **state)
{
	cleanup_process struct process_result r = { 0 };
	cleanup_strbuf struct strbuf big = { 0 };

	(void)state;
	strbuf_add_zeros(&big, MIB);
	run_shell("exec >&- 2>&-; test $(head -c 2000000 | wc -c) = 1048576",
		  (struct process){ .stdin_data = strbuf_slice(&big) }, &r);
	assert_int_equal(r.exit_status, 0);
}

static void test_the_environment_is_the_callers(void **state)
{
	const char *const env[] = { "ONLY=this", "PATH=/usr/bin:/bin", NULL };
	cleanup_process struct process_result r = { 0 };

	(void)state;
	run_shell("echo $ONLY $HOME", (struct process){ .env = env }, &r);
	assert_string_equal(r.out_stdout.data, "this\n");
}

static void test_a_program_that_takes_too_long_is_killed(void **state)
{
	cleanup_process struct process_result r = { 0 };
	uint64_t start = clock_ms(CLOCK_MONOTONIC);

	(void)state;
	run_shell("exec sleep 60", (struct process){ .timeout_ms = 100 }, &r);
	assert_true(r.timed_out);
	assert_int_equal(r.exit_status, -1);
	assert_int_equal(r.signal, SIGKILL);
	assert_true(clock_ms(CLOCK_MONOTONIC) - start < 30000);
}

static void test_the_time_counts_on_after_the_outputs_were_closed(void **state)
{
	cleanup_process struct process_result r = { 0 };
	uint64_t start = clock_ms(CLOCK_MONOTONIC);

	(void)state;
	run_shell("exec >&- 2>&-; exec sleep 60", (struct process){ .timeout_ms = 100 }, &r);
	assert_true(r.timed_out);
	assert_int_equal(r.signal, SIGKILL);
	assert_true(clock_ms(CLOCK_MONOTONIC) - start < 30000);
}

static void test_a_program_in_time_is_left_alone(void **state)
{
	cleanup_process struct process_result r = { 0 };

	(void)state;
	run_shell("exec >&- 2>&-; sleep 0.05; exit 4", (struct process){ .timeout_ms = 60000 }, &r);
	assert_false(r.timed_out);
	assert_int_equal(r.exit_status, 4);
}

static void test_of_long_output_the_end_can_be_kept(void **state)
{
	const struct process p = { .output_limit = 64 * KIB, .keep_tail = true };
	cleanup_process struct process_result r = { 0 };

	(void)state;
	run_shell("head -c 1000000 /dev/zero; echo last", p, &r);
	assert_int_equal(r.exit_status, 0);
	assert_true(r.out_stdout.len > 16 * KIB && r.out_stdout.len <= 64 * KIB);
	assert_true(str_ends(strbuf_text(&r.out_stdout) + r.out_stdout.len - 5, "last\n"));
}

static void test_output_beyond_the_limit_is_refused(void **state)
{
	const char *const argv[] = { "sh", "-c", "while :; do echo text; done", NULL };
	const struct process p = { .argv = argv, .output_limit = 1000 };
	cleanup_process struct process_result r = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(process_run(&p, &r, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	assert_string_equal(err.text, "sh: its output is too long");
}

static void test_a_descriptor_is_handed_over(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "f");
	struct error err = { 0 };
	cleanup_fd int fd = -1;

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str("text"), 0644, &err), err);
	/* Whichever number it gets, one of the pipes may have had it. */
	for (int as = 3; as < 16; as++) {
		cleanup_process struct process_result r = { 0 };
		cleanup_free char *line = xasprintf("eval 'cat /dev/fd/%d'", as);

		fd = fs_open(AT_FDCWD, file, &err);
		assert_ok(fd, err);
		run_shell(line, (struct process){ .extra_fd = fd, .extra_as = as }, &r);
		close(steal_fd(&fd));
		assert_string_equal(strbuf_text(&r.out_stdout), "text");
	}
}

static void test_a_missing_program_is_told_even_when_the_descriptor_takes_its_place(void **state)
{
	const char *const argv[] = { "no-such-program-here", NULL };

	(void)state;
	for (int as = 3; as < 20; as++) {
		const struct process p = { .argv = argv, .extra_fd = 2, .extra_as = as };
		cleanup_process struct process_result r = { 0 };
		struct error err = { 0 };

		assert_int_equal(process_run(&p, &r, &err), -1);
		assert_int_equal(err.code, ERROR_NOT_FOUND);
	}
}

static void test_availability_is_about_programs(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "f");
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_write(AT_FDCWD, file, slice_str("text"), 0644, &err), err);
	assert_true(process_available("sh"));
	assert_true(process_available("/bin/sh"));
	assert_false(process_available("no-such-program-here"));
	assert_false(process_available(dir));
	assert_false(process_available(file));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_outputs_and_the_status_are_taken),
		cmocka_unit_test(test_output_goes_to_a_file_instead),
		cmocka_unit_test(test_a_program_that_is_not_there_is_not_found),
		cmocka_unit_test(test_a_file_that_cannot_be_run_says_why),
		cmocka_unit_test(test_a_signal_is_told_from_a_status),
		cmocka_unit_test(test_input_is_fed_and_ends),
		cmocka_unit_test(test_without_input_it_reads_nothing),
		cmocka_unit_test(test_input_nobody_reads_does_not_kill_us),
		cmocka_unit_test(test_input_is_fed_after_the_outputs_were_closed),
		cmocka_unit_test(test_the_environment_is_the_callers),
		cmocka_unit_test(test_a_program_that_takes_too_long_is_killed),
		cmocka_unit_test(test_the_time_counts_on_after_the_outputs_were_closed),
		cmocka_unit_test(test_a_program_in_time_is_left_alone),
		cmocka_unit_test(test_of_long_output_the_end_can_be_kept),
		cmocka_unit_test(test_output_beyond_the_limit_is_refused),
		cmocka_unit_test(test_a_descriptor_is_handed_over),
		cmocka_unit_test(
			test_a_missing_program_is_told_even_when_the_descriptor_takes_its_place),
		cmocka_unit_test(test_availability_is_about_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
