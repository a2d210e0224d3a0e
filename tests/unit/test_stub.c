#include "tests/support/test.h"

#include <dlfcn.h>

#include "base/digest.h"
#include "base/process.h"
#include "builder/stub.h"

static char *write_stub(const char *dir, const char *architecture)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	char *path = xasprintf("%s/libcuda-%s.so", dir, architecture);

	assert_ok(stub_write(architecture, &text, &err), err);
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, &err), err);
	return path;
}

static void run(const char *const *argv, struct process_result *result)
{
	struct error err = { 0 };

	assert_ok(process_run(&(struct process){ .argv = argv }, result, &err), err);
}

static void test_the_loader_takes_it_and_each_call_gives_34(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = write_stub(dir, "amd64");
	void *library;

	(void)state;
#ifndef __x86_64__
	skip();
#endif
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail_msg("%s", dlerror());
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = { "cuInit", "cuMemAlloc_v2",
						     "cuLaunchKernel_ptsz", "cuProfilerStart" };
		int (*call)(unsigned) = (int (*)(unsigned))(uintptr_t)dlsym(library, names[i]);

		assert_non_null(call);
		assert_int_equal(call(0), 34);
	}
	assert_null(dlsym(library, "cuNoSuchCall"));
	dlclose(library);
}

static void test_readelf_has_nothing_to_say_against_it(void **state)
{
	static const char *const machines[] = { "amd64", "arm64" };
	cleanup_test_dir char *dir = test_dir();

	(void)state;
	if (!process_available("readelf"))
		skip();
	for (size_t i = 0; i < ARRAY_LEN(machines); i++) {
		cleanup_free char *path = write_stub(dir, machines[i]);
		const char *const argv[] = { "readelf", "-aW", path, NULL };
		cleanup_process struct process_result result = { 0 };

		run(argv, &result);
		assert_int_equal(result.exit_status, 0);
		assert_string_equal(strbuf_text(&result.out_stderr), "");
		assert_contains(strbuf_text(&result.out_stdout), "soname: [libcuda.so.1]");
		assert_contains(strbuf_text(&result.out_stdout), i ? "AArch64" : "X86-64");
	}
}

static void test_a_program_links_against_it(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *stub = write_stub(dir, "amd64"), *source = fs_join(dir, "main.c"),
			  *program = fs_join(dir, "main");
	const char *const compile[] = { "cc", source, stub, "-o", program, NULL };
	const char *const show[] = { "readelf", "-dW", program, NULL };
	cleanup_process struct process_result compiled = { 0 }, shown = { 0 };
	struct error err = { 0 };

	(void)state;
	if (!process_available("cc") || !process_available("readelf"))
		skip();
	assert_ok(fs_write(AT_FDCWD, source,
			   slice_str("int cuInit(unsigned);\nint main(void){return cuInit(0);}\n"),
			   0644, &err),
		  err);
	run(compile, &compiled);
	if (compiled.exit_status)
		fail_msg("%s", strbuf_text(&compiled.out_stderr));
	run(show, &shown);
	assert_contains(strbuf_text(&shown.out_stdout), "[libcuda.so.1]");
}

static void test_it_is_the_same_every_time(void **state)
{
	static const char *const golden[][2] = {
		{ "amd64", "011ece21bdde8373921c84ccb02b36a95cd2f9265768fa42ef7fec08b19eff89" },
		{ "arm64", "e5bc56717dc361a915b86de31ba737d69f032cdf4293edfc4199fabb4ffe8011" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(golden); i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		struct error err = { 0 };
		char hex[DIGEST_HEX_MAX];
		struct digest d;

		assert_ok(stub_write(golden[i][0], &text, &err), err);
		d = digest_of(strbuf_slice(&text));
		assert_string_equal(digest_hex(&d, hex), golden[i][1]);
	}
}

static void test_other_architectures_are_refused_by_name(void **state)
{
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(stub_write("ppc64le", &out, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "\"ppc64le\"");
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_loader_takes_it_and_each_call_gives_34),
		cmocka_unit_test(test_readelf_has_nothing_to_say_against_it),
		cmocka_unit_test(test_a_program_links_against_it),
		cmocka_unit_test(test_it_is_the_same_every_time),
		cmocka_unit_test(test_other_architectures_are_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
