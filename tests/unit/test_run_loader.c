/* Whole runs in a small root made of this machine's own loader and C library. */
#include "tests/support/test.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include "base/process.h"
#include "testkernels/test.h"

struct fixture {
	char *dir, *root, *host;
	struct error err;
	struct image image;
	struct test_options options;
	struct test_report report;
};

static void copy_file(const char *from, const char *to)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, from, 64 * MIB, &text, &err), err);
	assert_ok(fs_write(AT_FDCWD, to, strbuf_slice(&text), 0755, &err), err);
}

/* The file of this process that has `name` in its path. */
static const char *own_object(const char *name)
{
	struct link_map *map = dlopen(NULL, RTLD_NOW);

	for (; map; map = map->l_next) {
		if (strstr(map->l_name, name))
			return map->l_name;
	}
	return NULL;
}

static void put_libc(const struct fixture *f)
{
	static const char *const names[] = { "libc.so.6", "libdl.so.2", "libm.so.6",
					     "libpthread.so.0", "librt.so.1" };
	cleanup_free char *lib = fs_join(f->root, "lib"), *lib64 = fs_join(f->root, "lib64");
	cleanup_free char *loader = fs_join(lib64, "ld-linux-x86-64.so.2");
	const char *libc = own_object("/libc.so.6"), *slash = strrchr(libc, '/');
	struct error err = { 0 };

	assert_ok(fs_mkdirs(AT_FDCWD, lib, &err), err);
	assert_ok(fs_mkdirs(AT_FDCWD, lib64, &err), err);
	copy_file("/lib64/ld-linux-x86-64.so.2", loader);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup_free char *from = xasprintf("%.*s/%s", (int)(slash - libc), libc, names[i]);
		cleanup_free char *to = fs_join(lib, names[i]);

		copy_file(from, to);
	}
}

static void run_tool(const char *const *argv)
{
	const struct process p = { .argv = argv };
	cleanup_process struct process_result result = { 0 };
	struct error err = { 0 };

	assert_ok(process_run(&p, &result, &err), err);
	if (result.exit_status != 0)
		fail_msg("%s: %s", argv[0], strbuf_text(&result.out_stderr));
}

/* Compile a library into /lib of the root; `extra` (may be NULL) is one more argument. */
static void put_library(const struct fixture *f, const char *name, const char *code,
			const char *extra)
{
	cleanup_free char *source = fs_join(f->dir, "source.c");
	cleanup_free char *out = xasprintf("%s/lib/%s", f->root, name);
	cleanup_free char *soname = xasprintf("-Wl,-soname,%s", name);
	const char *const argv[] = { "cc", "-shared", "-fPIC", "-nostartfiles", "-w", soname,
				     "-o", out,       source,  extra,           NULL };
	struct error err = { 0 };

	assert_ok(fs_write(AT_FDCWD, source, slice_str(code), 0644, &err), err);
	run_tool(argv);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = test_dir();
	f->root = fs_join(f->dir, "root");
	put_libc(f);
	f->image.name = "rootfs:test";
	f->image.rootfs = f->root;
	f->options =
		(struct test_options){ .mode = "loader", .tmp_dir = f->dir, .timeout_ms = 20000 };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	test_report_release(&f->report);
	test_dir_free(f->dir);
	free(f->root);
	free(f->host);
	free(f);
	return 0;
}

static void run(struct fixture *f)
{
	assert_ok(test_run(&f->image, &f->options, &f->report, &f->err), f->err);
}

static const struct test_result *result(const struct fixture *f, const char *id)
{
	for (size_t i = 0; i < f->report.tests.len; i++) {
		if (str_equal(f->report.tests.items[i].id, id))
			return &f->report.tests.items[i];
	}
	fail_msg("no test %s", id);
	return NULL;
}

static void assert_fault(const struct fixture *f, const char *id, const char *code_name)
{
	const struct test_result *t = result(f, id);

	assert_int_equal(t->status, TEST_FAIL);
	assert_int_equal(t->blame, BLAME_IMAGE);
	assert_string_equal(t->code_name, code_name);
	assert_int_equal(test_report_exit_status(&f->report), 1);
}

static void test_a_working_library_passes_with_its_version(void **state)
{
	struct fixture *f = *state;
	const struct test_result *t;

	put_library(f, "libcudart.so.12",
		    "int cudaRuntimeGetVersion(int *v) { *v = 12060; return 0; }", NULL);
	run(f);
	t = result(f, "load.version.libcudart.so.12");
	assert_int_equal(t->status, TEST_PASS);
	assert_string_equal(json_string_value(json_object_get(t->evidence, "version")), "12.6");
	assert_string_equal(json_string_value(json_object_get(t->evidence, "library")),
			    "/lib/libcudart.so.12");
	assert_int_equal(result(f, "load.loader")->status, TEST_PASS);
	assert_int_equal(result(f, "load.libcudart.so.12")->status, TEST_PASS);
	assert_int_equal(test_report_exit_status(&f->report), 0);
}

static void test_nothing_is_left_behind(void **state)
{
	struct fixture *f = *state;
	struct fs_names names = { 0 };
	struct error err = { 0 };

	run(f);
	assert_ok(fs_list(AT_FDCWD, f->dir, &names, &err), err);
	assert_int_equal(names.len, 1);
	fs_names_release(&names);
}

static void test_a_missing_dependency_is_named(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *dependency = fs_join(f->root, "lib/libcublasLt.so.12");

	put_library(f, "libcublasLt.so.12", "int f(void) { return 0; }", NULL);
	put_library(f, "libcublas.so.12", "int f(void); int g(void) { return f(); }", dependency);
	assert_int_equal(unlink(dependency), 0);
	run(f);
	assert_fault(f, "load.libcublas.so.12", "missing-library");
	assert_contains(result(f, "load.libcublas.so.12")->message, "libcublasLt.so.12");
	assert_contains(result(f, "load.libcublas.so.12")->message, "/lib/libcublas.so.12");
}

static void test_a_library_of_the_host_is_not_taken_for_the_images(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *own = fs_join(f->root, "lib/librt.so.1");

	put_library(f, "libnccl.so.2", "int g(void) { return 0; }",
		    "-Wl,--no-as-needed,-l:librt.so.1");
	assert_int_equal(unlink(own), 0);
	run(f);
	assert_fault(f, "load.libnccl.so.2", "missing-library");
}

static void test_a_cut_off_library_is_damaged(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *path = fs_join(f->root, "lib/libcufft.so.11");

	put_library(f, "libcufft.so.11", "int f(void) { return 0; } char c[100000] = { 1 };", NULL);
	assert_int_equal(truncate(path, 5000), 0);
	run(f);
	assert_fault(f, "load.libcufft.so.11", "damaged-library");
}

static void test_a_crash_is_a_result_with_its_last_words(void **state)
{
	struct fixture *f = *state;

	put_library(f, "libcudnn.so.9",
		    "#include <stdio.h>\n#include <stdlib.h>\n"
		    "int cudnnGetProperty(int w, int *v) { fputs(\"no sub-library\\n\", stderr);"
		    " abort(); }",
		    NULL);
	run(f);
	assert_fault(f, "load.version.libcudnn.so.9", "crashed");
	assert_contains(result(f, "load.version.libcudnn.so.9")->message, "no sub-library");
	assert_int_equal(result(f, "load.libcudnn.so.9")->status, TEST_PASS);
}

static void test_a_hang_ends_at_the_time_limit(void **state)
{
	struct fixture *f = *state;

	put_library(f, "libcusparse.so.12",
		    "#include <unistd.h>\n#include <signal.h>\n"
		    "__attribute__((constructor)) void c(void) { signal(SIGTERM, SIG_IGN);"
		    " close(1); close(2); for (;;) pause(); }",
		    NULL);
	f->options.timeout_ms = 300;
	run(f);
	assert_fault(f, "load.libcusparse.so.12", "time-limit");
	assert_int_equal(result(f, "load.no-driver")->status, TEST_PASS);
}

static void test_an_exit_in_a_constructor_is_no_pass(void **state)
{
	struct fixture *f = *state;

	put_library(f, "libcusparse.so.12",
		    "#include <stdlib.h>\n__attribute__((constructor)) void c(void) { _Exit(0); }",
		    NULL);
	run(f);
	assert_fault(f, "load.libcusparse.so.12", "ended-early");
}

static void test_a_missing_part_of_cudnn_is_told(void **state)
{
	struct fixture *f = *state;
	const struct test_result *t;

	put_library(f, "libcudnn.so.9",
		    "int cudnnGetProperty(int w, int *v) { *v = 9 - w; return 0; }"
		    "int cudnnOpsVersionCheck(void) { return 3009; }",
		    NULL);
	run(f);
	t = result(f, "load.cudnn-set");
	assert_fault(f, "load.cudnn-set", "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE");
	assert_int_equal(t->code, 3009);
}

static void test_an_engine_of_cudnn_that_links_the_driver_waits_for_it(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *driver = xasprintf("%s/lib/libcuda.so.1", f->root);
	cleanup_free char *other = xasprintf("%s/lib/libother.so.1", f->root);

	put_library(f, "libcuda.so.1", "int cuInit(int f) { return 0; }", NULL);
	put_library(f, "libcudnn.so.9",
		    "int cudnnGetProperty(int w, int *v) { *v = 9 - w; return 0; }", NULL);
	put_library(f, "libcudnn_engines_precompiled.so.9", "int e(void) { return 0; }", NULL);
	put_library(f, "libcudnn_heuristic.so.9", "int h(void) { return 0; }", NULL);
	put_library(f, "libcudnn_engines_runtime_compiled.so.9",
		    "int cuInit(int); int f(void) { return cuInit(0); }", driver);
	assert_int_equal(unlink(driver), 0);
	run(f);
	if (result(f, "load.cudnn-set")->status != TEST_PASS)
		fail_msg("%s", result(f, "load.cudnn-set")->message);
	/* any other library that is missing is the image's fault */
	put_library(f, "libother.so.1", "int o(void) { return 0; }", NULL);
	put_library(f, "libcudnn_engines_runtime_compiled.so.9",
		    "int o(void); int f(void) { return o(); }", other);
	assert_int_equal(unlink(other), 0);
	test_report_release(&f->report);
	run(f);
	assert_fault(f, "load.cudnn-set", "missing-library");
}

static void test_a_stub_on_the_search_path_is_found(void **state)
{
	struct fixture *f = *state;

	put_library(f, "libcuda.so.1", "int cuInit(unsigned f) { return 34; }", NULL);
	run(f);
	assert_fault(f, "load.no-driver", "CUDA_ERROR_STUB_LIBRARY");
	assert_contains(result(f, "load.no-driver")->message, "/lib/libcuda.so.1");
}

static void test_a_tier_that_cannot_run_is_skipped_and_may_be_required(void **state)
{
	static const char *const require[] = { "run" };
	struct fixture *f = *state;

	if (access("/dev/nvidiactl", F_OK) == 0)
		skip();
	f->options.require = require;
	f->options.require_count = 1;
	run(f);
	assert_int_equal(result(f, "run.init")->status, TEST_SKIP);
	assert_string_equal(result(f, "run.init")->reason, SKIP_NO_GPU);
	assert_int_equal(test_report_exit_status(&f->report), 3);
}

/* The driver of testkernels/double/, with one of its variables set. */
static void put_driver(struct fixture *f, const char *variable, const char *value)
{
	cleanup_free char *dev = fs_join(f->dir, "host/dev");
	cleanup_free char *lib = fs_join(f->dir, "host/usr/lib64");
	cleanup_free char *node = fs_join(dev, "nvidiactl");
	cleanup_free char *built = fs_join(f->root, "lib/libcuda.so.1");
	cleanup_free char *file = fs_join(lib, "libcuda.so.580.95.05");
	cleanup_free char *link = fs_join(lib, "libcuda.so.1");
	cleanup_free char *here = getcwd(NULL, 0), *include = xasprintf("-I%s", here);
	cleanup_free char *code = xasprintf("#include <stdlib.h>\n"
					    "#include \"testkernels/double/device_double.c\"\n"
					    "__attribute__((constructor)) static void begin(void)"
					    "{ setenv(\"%s\", \"%s\", 1); }\n",
					    variable, value);
	struct error err = { 0 };

	put_library(f, "libcuda.so.1", code, include);
	assert_ok(fs_mkdirs(AT_FDCWD, dev, &err), err);
	assert_ok(fs_mkdirs(AT_FDCWD, lib, &err), err);
	assert_ok(fs_write(AT_FDCWD, node, slice_str(""), 0644, &err), err);
	assert_int_equal(rename(built, file), 0);
	assert_int_equal(symlink("libcuda.so.580.95.05", link), 0);
	f->host = fs_join(f->dir, "host");
	f->options.host_root = f->host;
}

static void test_the_run_tier_uses_the_hosts_driver(void **state)
{
	struct fixture *f = *state;

	put_driver(f, "UNUSED", "0");
	run(f);
	assert_int_equal(result(f, "run.init")->status, TEST_PASS);
	assert_int_equal(result(f, "run.vadd-ptx")->status, TEST_PASS);
	assert_string_equal(f->report.inject_driver, "580.95.05");
	assert_string_equal(f->report.inject_devices, "/dev/nvidiactl");
	assert_int_equal(result(f, "load.no-driver")->status, TEST_PASS);
}

static void test_a_wrong_sum_is_found(void **state)
{
	struct fixture *f = *state;

	put_driver(f, "GPUIMG_DOUBLE_WRONG", "cuLaunchKernel");
	run(f);
	assert_int_equal(result(f, "run.vadd-ptx")->blame, BLAME_HARDWARE);
	assert_contains(result(f, "run.vadd-ptx")->message, "element 4095");
	assert_int_equal(test_report_exit_status(&f->report), 3);
}

static void test_a_refusal_of_the_driver_is_not_the_images_fault(void **state)
{
	struct fixture *f = *state;

	put_driver(f, "GPUIMG_DOUBLE_INIT", "802");
	run(f);
	assert_int_equal(result(f, "run.init")->code, 802);
	assert_int_equal(result(f, "run.init")->blame, BLAME_HOST);
	assert_int_equal(test_report_exit_status(&f->report), 3);
}

static void test_a_compat_library_of_the_image_is_blamed_for_a_mismatch(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *driver = NULL, *own = NULL;

	put_driver(f, "GPUIMG_DOUBLE_INIT", "803");
	driver = fs_join(f->host, "usr/lib64/libcuda.so.1");
	own = fs_join(f->root, "lib/libcuda.so.1");
	copy_file(driver, own);
	run(f);
	assert_int_equal(result(f, "run.init")->code, 803);
	assert_int_equal(result(f, "run.init")->blame, BLAME_IMAGE);
	assert_contains(result(f, "run.init")->message, "/lib/libcuda.so.1: cuInit gave 803");
	assert_fault(f, "load.no-driver", "driver-in-image");
}

static void test_an_image_without_a_loader_cannot_use_its_libraries(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *loader = fs_join(f->root, "lib64/ld-linux-x86-64.so.2");

	put_library(f, "libcudart.so.12", "int f(void) { return 0; }", NULL);
	assert_int_equal(unlink(loader), 0);
	run(f);
	assert_fault(f, "load.loader", "no-loader");
	assert_string_equal(result(f, "load.libcudart.so.12")->reason, SKIP_MODE);
}

static void test_a_root_without_a_c_library_fails_as_a_whole(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *dl = fs_join(f->root, "lib/libc.so.6");

	/* the loader falls back to this machine's own: a directory in its place stops that */
	assert_int_equal(unlink(dl), 0);
	copy_file("/proc/self/cmdline", dl);
	run(f);
	assert_fault(f, "load.loader", "loader");
}

static void test_the_images_environment_reaches_the_library(void **state)
{
	static const char *env[] = { "MARK=13020", "LD_PRELOAD=/nowhere/libx.so" };
	struct fixture *f = *state;
	const struct test_result *t;

	put_library(f, "libcudart.so.13",
		    "#include <stdlib.h>\nint cudaRuntimeGetVersion(int *v)"
		    "{ const char *m = getenv(\"MARK\"); *v = m ? atoi(m) : 0;"
		    " return getenv(\"GPUIMG_HOST\") != 0; }",
		    NULL);
	f->image.config.env.items = env;
	f->image.config.env.count = 2;
	setenv("GPUIMG_HOST", "1", 1);
	run(f);
	unsetenv("GPUIMG_HOST");
	t = result(f, "load.version.libcudart.so.13");
	assert_int_equal(t->status, TEST_PASS);
	assert_string_equal(json_string_value(json_object_get(t->evidence, "version")), "13.2");
}

static void test_options_are_checked_before_anything_runs(void **state)
{
	static const char *const bad[] = { "lod" }, *const target[] = { "h100" };
	struct fixture *f = *state;

	f->options.require = bad;
	f->options.require_count = 1;
	assert_int_equal(test_run(&f->image, &f->options, &f->report, &f->err), -1);
	assert_int_equal(f->err.code, ERROR_USAGE);
	f->options.require_count = 0;
	f->options.targets = target;
	f->options.target_count = 1;
	assert_int_equal(test_run(&f->image, &f->options, &f->report, &f->err), -1);
	assert_contains(f->err.text, "h100");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_a_working_library_passes_with_its_version),
		CASE(test_nothing_is_left_behind),
		CASE(test_a_missing_dependency_is_named),
		CASE(test_a_library_of_the_host_is_not_taken_for_the_images),
		CASE(test_a_cut_off_library_is_damaged),
		CASE(test_a_crash_is_a_result_with_its_last_words),
		CASE(test_a_hang_ends_at_the_time_limit),
		CASE(test_an_exit_in_a_constructor_is_no_pass),
		CASE(test_a_missing_part_of_cudnn_is_told),
		CASE(test_an_engine_of_cudnn_that_links_the_driver_waits_for_it),
		CASE(test_a_stub_on_the_search_path_is_found),
		CASE(test_a_tier_that_cannot_run_is_skipped_and_may_be_required),
		CASE(test_the_run_tier_uses_the_hosts_driver),
		CASE(test_a_wrong_sum_is_found),
		CASE(test_a_refusal_of_the_driver_is_not_the_images_fault),
		CASE(test_a_compat_library_of_the_image_is_blamed_for_a_mismatch),
		CASE(test_an_image_without_a_loader_cannot_use_its_libraries),
		CASE(test_a_root_without_a_c_library_fails_as_a_whole),
		CASE(test_the_images_environment_reaches_the_library),
		CASE(test_options_are_checked_before_anything_runs),
	};

	/* the root is made for x86-64 and by a compiler */
	if (access("/lib64/ld-linux-x86-64.so.2", R_OK) != 0 || !process_available("cc"))
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
