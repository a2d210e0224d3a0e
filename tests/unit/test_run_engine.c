/* Engines, with a script in place of docker's program. */
#include "tests/support/test.h"

#include <sys/stat.h>

#include "base/fs.h"
#include "testkernels/run_mode.h"

struct fixture {
	char dir[40];
	struct image_loader loader;
	struct image_config config;
	struct image_user user;
	struct run_context context;
};

/* A docker that notes what it is asked, and does `on_run` when that is to run something. */
static void setup(struct fixture *f, const char *on_run)
{
	cleanup_free char *script = NULL, *path = NULL;
	struct error err = { 0 };

	*f = (struct fixture){ .dir = "/tmp/gpuimg-engine-XXXXXX",
			       .loader = { .path = "lib64/ld.so" },
			       .user = { .home = "/" } };
	assert_non_null(mkdtemp(f->dir));
	f->context = (struct run_context){ .scratch = f->dir,
					   .root = "/nowhere",
					   .loader = &f->loader,
					   .config = &f->config,
					   .user = &f->user,
					   .timeout_ms = 400,
					   .engine_image = "acme/app:1" };
	script = xasprintf("#!/bin/sh\necho \"$*\" >>%s/log\n[ \"$1\" = run ] || exit 0\n%s\n",
			   f->dir, on_run);
	path = fs_join(f->dir, "docker");
	assert_int_equal(fs_write(AT_FDCWD, path, slice_str(script), 0755, &err), 0);
	free(path);
	path = xasprintf("%s:%s", f->dir, getenv("PATH"));
	assert_int_equal(setenv("PATH", path, 1), 0);
}

static void teardown(struct fixture *f, struct strbuf *log)
{
	cleanup_free char *path = fs_join(f->dir, "log");
	struct error err = { 0 };

	assert_int_equal(fs_read(AT_FDCWD, path, 65536, log, &err), 0);
	assert_int_equal(fs_remove_tree(AT_FDCWD, f->dir, &err), 0);
}

static void test_a_container_that_does_not_end_is_removed(void **state)
{
	cleanup_launch struct launch_result out = { 0 };
	cleanup_strbuf struct strbuf log = { 0 };
	cleanup_free char *want = NULL;
	struct error err = { 0 };
	struct fixture f;

	(void)state;
	setup(&f, "exec sleep 100");
	assert_int_equal(run_mode_docker.run(&f.context, slice_str(""), &out, &err), 0);
	assert_true(out.timed_out);
	want = xasprintf("\nrm --force %s\n", strrchr(f.dir, '/') + 1);
	teardown(&f, &log);
	assert_contains(strbuf_text(&log), want);
}

static void test_one_that_ends_is_left_to_the_engine(void **state)
{
	cleanup_launch struct launch_result out = { 0 };
	cleanup_strbuf struct strbuf log = { 0 };
	struct error err = { 0 };
	struct fixture f;

	(void)state;
	setup(&f, "echo 'gpuimg-probe {\"ok\":1}'");
	f.context.timeout_ms = 20000;
	assert_int_equal(run_mode_docker.run(&f.context, slice_str(""), &out, &err), 0);
	assert_contains(strbuf_text(&out.lines), "{\"ok\":1}");
	teardown(&f, &log);
	assert_contains(strbuf_text(&log), "run --rm --name=gpuimg-engine-");
	assert_contains(strbuf_text(&log), "--pull=never acme/app:1");
	assert_null(strstr(strbuf_text(&log), "\nrm "));
}

static void test_docker_is_not_given_what_it_does_not_hold(void **state)
{
	cleanup_launch struct launch_result out = { 0 };
	struct error err = { 0 };
	struct fixture f;

	(void)state;
	setup(&f, "");
	f.context.engine_image = NULL;
	assert_int_equal(run_mode_docker.run(&f.context, slice_str(""), &out, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	assert_contains(err.text, "docker-daemon:NAME");
	assert_int_equal(fs_remove_tree(AT_FDCWD, f.dir, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_container_that_does_not_end_is_removed),
		cmocka_unit_test(test_one_that_ends_is_left_to_the_engine),
		cmocka_unit_test(test_docker_is_not_given_what_it_does_not_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
