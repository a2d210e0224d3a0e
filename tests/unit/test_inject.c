/*
 * What would be injected, found on a host that lies in a folder: discovery, the runtimes before
 * CDI, and what nvidia-ctk says (a stand-in on PATH).
 */
#include "tests/support/test.h"

#include <unistd.h>

#include "testkernels/inject.h"
#include "testkernels/test_report.h"

#define VERSION "580.95.05"
#define LIBS "usr/lib/x86_64-linux-gnu/"

struct fixture {
	char *dir, *host, *old_path;
	struct arena arena;
	struct injection in;
	struct error err;
};

static void put(const struct fixture *f, const char *name, const char *text, mode_t mode)
{
	cleanup_free char *path = fs_join(f->dir, name);
	cleanup_free char *parent = xstrdup(path);
	struct error err = { 0 };

	*strrchr(parent, '/') = '\0';
	assert_ok(fs_mkdirs(AT_FDCWD, parent, &err), err);
	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), mode, &err), err);
}

static int setup(void **state)
{
	static const char *const files[] = {
		"host/dev/nvidiactl",
		"host/dev/nvidia-uvm",
		"host/dev/nvidia0",
		"host/dev/nvidia1",
		"host/" LIBS "libcuda.so." VERSION,
		"host/" LIBS "libnvidia-ml.so." VERSION,
		"host/" LIBS "libnvidia-ptxjitcompiler.so." VERSION,
		"host/" LIBS "libm.so.6",
		"host/usr/bin/nvidia-smi",
	};
	struct fixture *f = xcalloc(1, sizeof(*f));
	cleanup_free char *link = NULL;

	f->dir = test_dir();
	f->host = fs_join(f->dir, "host");
	f->old_path = xstrdup(getenv("PATH"));
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		put(f, files[i], "x", 0755);
	link = fs_join(f->host, LIBS "libcuda.so.1");
	assert_int_equal(symlink("libcuda.so." VERSION, link), 0);
	put(f, "host/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " VERSION "  Tue\n", 0644);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	setenv("PATH", f->old_path, 1);
	injection_release(&f->in);
	arena_release(&f->arena);
	test_dir_free(f->dir);
	free(f->host);
	free(f->old_path);
	free(f);
	return 0;
}

/* As the image's environment has it; at most two variables. */
static void find(struct fixture *f, const char *method, const char *one, const char *two)
{
	const char *env[] = { one, two };
	cleanup_free char *no_cdi = fs_join(f->dir, "no-cdi");
	const char *const dirs[] = { no_cdi, NULL };
	struct image_config config = { .env = { .items = env,
						.count = (size_t)(!!one) + (size_t)(!!two) } };
	struct inject_request q = {
		.method = method, .cdi_dirs = dirs, .host_root = f->host, .config = &config
	};

	injection_release(&f->in);
	assert_ok(inject_find(&q, &f->arena, &f->in, &f->err), f->err);
}

static const struct cdi_mount *mount_of(const struct fixture *f, const char *part)
{
	for (size_t i = 0; i < f->in.edits.mounts.len; i++) {
		if (strstr(f->in.edits.mounts.items[i].container_path, part))
			return &f->in.edits.mounts.items[i];
	}
	return NULL;
}

static bool has_node(const struct fixture *f, const char *path)
{
	for (size_t i = 0; i < f->in.edits.nodes.len; i++) {
		if (str_equal(f->in.edits.nodes.items[i].path, path))
			return true;
	}
	return false;
}

static void assert_fault(const struct fixture *f, const char *code)
{
	assert_int_equal(f->in.faults.len, 1);
	assert_string_equal(f->in.faults.items[0].code, code);
}

static void test_what_the_host_has_is_found_without_a_specification(void **state)
{
	struct fixture *f = *state;

	find(f, NULL, NULL, NULL);
	assert_string_equal(f->in.method, "host-driver");
	assert_string_equal(f->in.driver, VERSION);
	assert_string_equal(f->in.module, VERSION);
	assert_true(has_node(f, "/dev/nvidia0") && has_node(f, "/dev/nvidia1"));
	assert_string_equal(mount_of(f, "libcuda.so")->container_path,
			    "/" LIBS "libcuda.so." VERSION);
	assert_contains(mount_of(f, "libcuda.so")->host_path, f->host);
	assert_non_null(mount_of(f, "libnvidia-ptxjitcompiler"));
	assert_null(mount_of(f, "libm.so"));
	assert_int_equal(f->in.faults.len, 0);
}

static void test_a_library_of_another_version_than_the_module_is_a_fault(void **state)
{
	struct fixture *f = *state;

	put(f, "host/proc/driver/nvidia/version",
	    "NVRM version: NVIDIA Kernel Module  570.1.2  x\n", 0644);
	find(f, NULL, NULL, NULL);
	assert_fault(f, "version-mismatch");
	assert_contains(f->in.faults.items[0].text, "570.1.2");
}

static void test_the_legacy_runtime_goes_by_the_images_environment(void **state)
{
	struct fixture *f = *state;

	find(f, "legacy", "NVIDIA_VISIBLE_DEVICES=1", NULL);
	assert_string_equal(f->in.method, "legacy");
	assert_true(has_node(f, "/dev/nvidia1") && has_node(f, "/dev/nvidiactl"));
	assert_false(has_node(f, "/dev/nvidia0"));
	assert_non_null(mount_of(f, "libcuda.so"));
	assert_non_null(mount_of(f, "libnvidia-ml.so"));
	assert_non_null(mount_of(f, "nvidia-smi"));
	find(f, "legacy", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute");
	assert_true(has_node(f, "/dev/nvidia0") && has_node(f, "/dev/nvidia1"));
	assert_non_null(mount_of(f, "libcuda.so"));
	assert_null(mount_of(f, "libnvidia-ml.so"));
	assert_null(mount_of(f, "nvidia-smi"));
	find(f, "legacy", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=utility");
	assert_null(mount_of(f, "libcuda.so"));
	assert_fault(f, "no-compute-capability");
	find(f, "legacy", "NVIDIA_VISIBLE_DEVICES=void", NULL);
	assert_fault(f, "not-asked-for");
	assert_string_equal(f->in.skip, SKIP_NOT_REQUESTED);
	assert_int_equal(f->in.edits.mounts.len, 0);
}

static void test_enroot_gives_utility_alone_unless_the_image_asks_for_more(void **state)
{
	struct fixture *f = *state;

	find(f, "enroot", "NVIDIA_VISIBLE_DEVICES=all", NULL);
	assert_fault(f, "no-compute-capability");
	assert_contains(f->in.faults.items[0].text, "no libcuda");
	assert_null(mount_of(f, "libcuda.so"));
	assert_non_null(mount_of(f, "libnvidia-ml.so"));
	find(f, "enroot", "NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all");
	assert_non_null(mount_of(f, "libcuda.so"));
	assert_int_equal(f->in.faults.len, 0);
	find(f, "enroot", NULL, NULL);
	assert_fault(f, "not-asked-for");
}

/* nvidia-ctk that writes its arguments down, and `output`. */
static void put_ctk(const struct fixture *f, const char *output, int status)
{
	cleanup_free char *script =
		xasprintf("#!/bin/sh\necho \"$@\" >%s/ctk-arguments\ncat <<'END'\n%s\nEND\n"
			  "echo 'what it had to say' >&2\nexit %d\n",
			  f->dir, output, status);
	cleanup_free char *path = xasprintf("%s/bin:%s", f->dir, f->old_path);

	put(f, "bin/nvidia-ctk", script, 0755);
	setenv("PATH", path, 1);
}

static void test_nvidia_ctk_is_asked_where_no_specification_is(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *specification =
		xasprintf("{\"cdiVersion\":\"0.5.0\",\"kind\":\"nvidia.com/gpu\",\"devices\":["
			  "{\"name\":\"0\",\"containerEdits\":{\"deviceNodes\":[{\"path\":"
			  "\"/dev/nvidia0\",\"hostPath\":\"%s/dev/nvidia0\"}]}},"
			  "{\"name\":\"all\",\"containerEdits\":{\"deviceNodes\":["
			  "{\"path\":\"/dev/nvidia0\",\"hostPath\":\"%s/dev/nvidia0\"},"
			  "{\"path\":\"/dev/nvidia1\",\"hostPath\":\"%s/dev/nvidia1\"}]}}],"
			  "\"containerEdits\":{\"mounts\":[{\"hostPath\":\"%s/" LIBS
			  "libcuda.so." VERSION "\",\"containerPath\":\"/" LIBS
			  "libcuda.so." VERSION "\",\"options\":[\"ro\",\"rbind\"]}]}}",
			  f->host, f->host, f->host, f->host);
	cleanup_free char *arguments = fs_join(f->dir, "ctk-arguments");
	cleanup_strbuf struct strbuf said = { 0 };

	put_ctk(f, specification, 0);
	find(f, NULL, NULL, NULL);
	assert_string_equal(f->in.method, "nvidia-ctk");
	assert_int_equal(f->in.edits.nodes.len, 2); /* those of "all", once */
	assert_int_equal(f->in.faults.len, 0);
	assert_non_null(mount_of(f, "libcuda.so"));
	assert_ok(fs_read(AT_FDCWD, arguments, KIB, &said, &f->err), f->err);
	assert_contains(strbuf_text(&said), "cdi generate --format=json");
	assert_contains(strbuf_text(&said), f->host);
}

static void test_nvidia_ctk_that_is_of_no_use_is_noted_and_passed_over(void **state)
{
	struct fixture *f = *state;

	put_ctk(f, "{}", 1);
	find(f, NULL, NULL, NULL);
	assert_string_equal(f->in.method, "host-driver");
	assert_int_equal(f->in.notes.len, 1);
	assert_contains(f->in.notes.items[0].text, "what it had to say");
	put_ctk(f, "{\"cdiVersion\":\"9.9.9\",\"kind\":\"nvidia.com/gpu\",\"devices\":[]}", 0);
	find(f, NULL, NULL, NULL);
	assert_string_equal(f->in.method, "host-driver");
	assert_contains(f->in.notes.items[0].text, "9.9.9");
}

static void test_a_host_without_devices_or_driver_says_which(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *node = fs_join(f->host, "dev/nvidiactl");
	cleanup_free char *library = fs_join(f->host, LIBS "libcuda.so.1");

	assert_int_equal(unlink(library), 0);
	find(f, NULL, NULL, NULL);
	assert_string_equal(f->in.skip, SKIP_NO_DRIVER);
	find(f, "enroot", "NVIDIA_VISIBLE_DEVICES=all", NULL);
	assert_string_equal(f->in.skip, SKIP_NO_DRIVER);
	assert_int_equal(unlink(node), 0);
	find(f, "legacy", "NVIDIA_VISIBLE_DEVICES=all", NULL);
	assert_string_equal(f->in.skip, SKIP_NO_GPU);
	find(f, "none", NULL, NULL);
	assert_string_equal(f->in.skip, SKIP_NOT_REQUESTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_the_host_has_is_found_without_a_specification),
		TEST(test_a_library_of_another_version_than_the_module_is_a_fault),
		TEST(test_the_legacy_runtime_goes_by_the_images_environment),
		TEST(test_enroot_gives_utility_alone_unless_the_image_asks_for_more),
		TEST(test_nvidia_ctk_is_asked_where_no_specification_is),
		TEST(test_nvidia_ctk_that_is_of_no_use_is_noted_and_passed_over),
		TEST(test_a_host_without_devices_or_driver_says_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
