#include "tests/support/test.h"

#include <signal.h>

#include "testkernels/verdict.h"

static struct verdict judge(struct probe_outcome o, struct verdict_context c, struct arena *arena)
{
	struct verdict v;

	if (!c.root)
		c.root = "";
	o.id = "t";
	o.started = true;
	verdict_of(&o, &c, arena, &v);
	return v;
}

static struct probe_outcome dlopen_says(const char *message)
{
	return (struct probe_outcome){
		.has_result = true, .status = TEST_FAIL, .kind = "dlopen", .message = message
	};
}

static struct probe_outcome call_gave(const char *domain, int64_t code)
{
	return (struct probe_outcome){ .has_result = true,
				       .status = TEST_FAIL,
				       .kind = "call",
				       .domain = domain,
				       .call = "f",
				       .has_code = true,
				       .code = code };
}

static void test_every_loader_message_has_its_name(void **state)
{
	static const struct {
		const char *message, *name;
	} cases[] = {
		{ "libx.so.1: cannot open shared object file: No such file or directory",
		  "missing-library" },
		{ "/l/libx.so: file too short", "damaged-library" },
		{ "/l/libx.so: invalid ELF header", "damaged-library" },
		{ "/lib/libc.so.6: version `GLIBC_2.38' not found (required by /l/libx.so)",
		  "libc-too-old" },
		{ "/l/libstdc++.so.6: version `GLIBCXX_3.4.32' not found", "libstdcxx-too-old" },
		{ "/l/liby.so: version `LIBZ_2' not found", "wrong-version" },
		{ "/l/libx.so: undefined symbol: f", "undefined-symbol" },
		{ "/l/libx.so: wrong ELF class: ELFCLASS32", "wrong-machine" },
		{ "Error loading shared library libz.so.1: No such file or directory (needed by x)",
		  "missing-library" },
		{ "Error loading shared library ld-linux-x86-64.so.2: No such file",
		  "needs-glibc" },
		{ "something new", "not-loadable" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct verdict v =
			judge(dlopen_says(cases[i].message), (struct verdict_context){ 0 }, &arena);

		assert_int_equal(v.status, TEST_FAIL);
		assert_int_equal(v.blame, BLAME_IMAGE);
		assert_string_equal(v.code_name, cases[i].name);
	}
}

static void test_paths_are_those_of_the_image(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct verdict v =
		judge(dlopen_says("/tmp/r/usr/lib/liba.so: undefined symbol: f"),
		      (struct verdict_context){ .root = "/tmp/r", .path = "/usr/lib/libb.so" },
		      &arena);

	(void)state;
	assert_string_equal(v.message, "/usr/lib/libb.so: /usr/lib/liba.so: undefined symbol: f");
}

static void test_driver_codes_name_their_suspect(void **state)
{
	static const struct {
		int64_t code;
		enum test_blame injected, own;
	} cases[] = {
		{ 34, BLAME_IMAGE, BLAME_IMAGE },          { 35, BLAME_HOST, BLAME_IMAGE },
		{ 100, BLAME_INJECTION, BLAME_INJECTION }, { 209, BLAME_IMAGE, BLAME_IMAGE },
		{ 221, BLAME_INJECTION, BLAME_INJECTION }, { 222, BLAME_HOST, BLAME_HOST },
		{ 223, BLAME_IMAGE, BLAME_IMAGE },         { 802, BLAME_HOST, BLAME_HOST },
		{ 803, BLAME_INJECTION, BLAME_IMAGE },     { 804, BLAME_IMAGE, BLAME_IMAGE },
		{ 999, BLAME_INJECTION, BLAME_INJECTION },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict v;

		assert_true(verdict_driver_code(cases[i].code, true, false, &v));
		assert_int_equal(v.blame, cases[i].injected);
		assert_true(verdict_driver_code(cases[i].code, true, true, &v));
		assert_int_equal(v.blame, cases[i].own);
		assert_non_null(v.message);
	}
}

static void test_35_without_a_driver_is_not_35_too_old(void **state)
{
	struct verdict without, old;

	(void)state;
	assert_true(verdict_driver_code(35, false, false, &without));
	assert_true(verdict_driver_code(35, true, false, &old));
	assert_int_equal(without.blame, BLAME_INJECTION);
	assert_int_equal(old.blame, BLAME_HOST);
	assert_contains(without.message, "no driver library");
}

static void test_unknown_driver_codes_are_not_made_up(void **state)
{
	struct verdict v;

	(void)state;
	assert_false(verdict_driver_code(12345, true, false, &v));
}

static void test_a_code_is_named_with_its_call(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct verdict v = judge(call_gave("libnvrtc", 7),
				 (struct verdict_context){ .path = "/l/libnvrtc.so.13" }, &arena);

	(void)state;
	assert_string_equal(v.code_name, "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE");
	assert_contains(v.message, "/l/libnvrtc.so.13: f gave 7");
	assert_contains(v.hint, "libnvrtc-builtins");
}

static void test_codes_of_another_library_do_not_match(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct verdict v = judge(call_gave("libnccl", 7), (struct verdict_context){ 0 }, &arena);

	(void)state;
	assert_null(v.code_name);
	assert_int_equal(v.blame, BLAME_IMAGE);
}

static void test_a_crash_tells_the_last_words(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct probe_outcome o = { .ended = true,
				   .exit_status = -1,
				   .signal = SIGSEGV,
				   .last_words = "first\nCannot load symbol cudnnGetVersion\n" };
	struct verdict v = judge(o, (struct verdict_context){ .path = "/l/libcudnn.so.9" }, &arena);

	(void)state;
	assert_string_equal(v.message,
			    "/l/libcudnn.so.9: crashed: signal 11 (SIGSEGV), last words: "
			    "Cannot load symbol cudnnGetVersion");
	assert_int_equal(v.blame, BLAME_IMAGE);
}

static void test_a_kill_from_outside_is_the_hosts(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct probe_outcome o = { .ended = true, .exit_status = -1, .signal = SIGKILL };

	(void)state;
	assert_int_equal(judge(o, (struct verdict_context){ 0 }, &arena).blame, BLAME_HOST);
}

static void test_a_hang_is_told_with_its_limit(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct probe_outcome o = { .ended = true, .signal = SIGKILL, .timed_out = true };
	struct verdict v = judge(o, (struct verdict_context){ .timeout_ms = 1500 }, &arena);

	(void)state;
	assert_string_equal(v.code_name, "time-limit");
	assert_contains(v.message, "1500 ms");
	assert_int_equal(v.blame, BLAME_IMAGE);
}

static void test_a_result_stands_though_the_process_crashed_after_it(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct probe_outcome o = {
		.has_result = true, .ended = true, .signal = SIGSEGV, .status = TEST_PASS
	};

	(void)state;
	assert_int_equal(judge(o, (struct verdict_context){ 0 }, &arena).status, TEST_PASS);
}

static void test_a_file_of_the_host_does_not_pass(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct probe_outcome o = {
		.has_result = true, .ended = true, .status = TEST_PASS, .foreign = "/lib/libz.so.1"
	};
	struct verdict v = judge(o, (struct verdict_context){ .tier = TIER_LOAD }, &arena);

	(void)state;
	assert_int_equal(v.status, TEST_FAIL);
	assert_string_equal(v.code_name, "missing-library");
	assert_contains(v.message, "/lib/libz.so.1");
}

static void test_silence_is_the_testers_fault(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct verdict_context c = { .root = "" };
	struct verdict v;

	(void)state;
	verdict_of(NULL, &c, &arena, &v);
	assert_int_equal(v.status, TEST_ERROR);
	assert_int_equal(v.blame, BLAME_NONE);
}

static void test_wrong_numbers_are_the_hardwares(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct probe_outcome o = { .has_result = true,
				   .status = TEST_FAIL,
				   .kind = "wrong-numbers",
				   .message = "element 3" };

	(void)state;
	assert_int_equal(judge(o, (struct verdict_context){ .tier = TIER_RUN }, &arena).blame,
			 BLAME_HARDWARE);
}

static void test_a_stub_is_told_from_a_baked_in_driver(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct probe_outcome o = { .has_result = true,
				   .status = TEST_FAIL,
				   .kind = "driver-in-image",
				   .has_code = true,
				   .code = 34,
				   .library = "/r/usr/lib/libcuda.so.1" };
	struct verdict_context c = { .root = "/r" };
	struct verdict stub = judge(o, c, &arena), real;

	(void)state;
	o.code = 100;
	real = judge(o, c, &arena);
	assert_string_equal(stub.code_name, "CUDA_ERROR_STUB_LIBRARY");
	assert_string_equal(real.code_name, "driver-in-image");
	assert_contains(real.message, "/usr/lib/libcuda.so.1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_loader_message_has_its_name),
		cmocka_unit_test(test_paths_are_those_of_the_image),
		cmocka_unit_test(test_driver_codes_name_their_suspect),
		cmocka_unit_test(test_35_without_a_driver_is_not_35_too_old),
		cmocka_unit_test(test_unknown_driver_codes_are_not_made_up),
		cmocka_unit_test(test_a_code_is_named_with_its_call),
		cmocka_unit_test(test_codes_of_another_library_do_not_match),
		cmocka_unit_test(test_a_crash_tells_the_last_words),
		cmocka_unit_test(test_a_kill_from_outside_is_the_hosts),
		cmocka_unit_test(test_a_hang_is_told_with_its_limit),
		cmocka_unit_test(test_a_result_stands_though_the_process_crashed_after_it),
		cmocka_unit_test(test_a_file_of_the_host_does_not_pass),
		cmocka_unit_test(test_silence_is_the_testers_fault),
		cmocka_unit_test(test_wrong_numbers_are_the_hardwares),
		cmocka_unit_test(test_a_stub_is_told_from_a_baked_in_driver),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
