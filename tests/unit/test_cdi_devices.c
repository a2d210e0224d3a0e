#include "tests/support/test.h"

#include "oci/cdi_devices.h"

#define SPEC(name, host)                                                                  \
	"cdiVersion: \"0.5.0\"\nkind: nvidia.com/gpu\ndevices:\n- name: \"" name "\"\n"   \
	"  containerEdits: { deviceNodes: [ { path: /dev/nvidia" name ", hostPath: " host \
	" } ] }\ncontainerEdits: { env: [ TOP=" host " ] }\n"

struct fixture {
	char *dir, *first, *second;
	const char *dirs[3];
	struct cdi_devices devices;
	struct cdi_used used;
	struct cdi_edits edits;
	struct error err;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = test_dir();
	f->first = fs_join(f->dir, "etc");
	f->second = fs_join(f->dir, "run");
	f->dirs[0] = f->first;
	f->dirs[1] = f->second;
	assert_ok(fs_mkdirs(AT_FDCWD, f->first, &f->err), f->err);
	assert_ok(fs_mkdirs(AT_FDCWD, f->second, &f->err), f->err);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	cdi_edits_release(&f->edits);
	vec_release(&f->used);
	cdi_devices_release(&f->devices);
	test_dir_free(f->dir);
	free(f->first);
	free(f->second);
	free(f);
	return 0;
}

static void put(struct fixture *f, const char *dir, const char *name, const char *text)
{
	cleanup_free char *path = fs_join(dir, name);

	assert_ok(fs_write(AT_FDCWD, path, slice_str(text), 0644, &f->err), f->err);
}

static void test_the_later_directory_hides_the_earlier(void **state)
{
	struct fixture *f = *state;

	put(f, f->first, "a.yaml", SPEC("0", "/dev/null"));
	put(f, f->second, "a.yaml", SPEC("0", "/dev/zero"));
	cdi_devices_read(f->dirs, &f->devices);
	assert_ok(cdi_devices_add(&f->devices, "nvidia.com/gpu=0", &f->used, &f->edits, &f->err),
		  f->err);
	assert_string_equal(f->edits.nodes.items[0].host_path, "/dev/zero");
	assert_int_equal(f->used.len, 1);
}

static void test_a_device_twice_in_one_directory_cannot_be_had(void **state)
{
	struct fixture *f = *state;

	put(f, f->first, "a.yaml", SPEC("0", "/dev/null"));
	put(f, f->first, "b.yaml", SPEC("0", "/dev/zero"));
	cdi_devices_read(f->dirs, &f->devices);
	assert_int_equal(
		cdi_devices_add(&f->devices, "nvidia.com/gpu=0", &f->used, &f->edits, &f->err), -1);
	assert_int_equal(f->err.code, ERROR_USAGE);
	assert_non_null(strstr(f->err.text, "b.yaml"));
	assert_int_equal(cdi_devices_add(&f->devices, "nvidia.com/gpu=all", &f->used, &f->edits,
					 &f->err),
			 -1);
}

static void test_all_is_every_device_where_none_has_that_name(void **state)
{
	struct fixture *f = *state;

	put(f, f->first, "a.yaml", SPEC("0", "/dev/null"));
	put(f, f->first, "b.json",
	    "{\"cdiVersion\":\"0.5.0\",\"kind\":\"nvidia.com/gpu\",\"devices\":[{\"name\":\"1\","
	    "\"containerEdits\":{\"deviceNodes\":[{\"path\":\"/dev/nvidia1\"}]}}]}");
	put(f, f->first, "c.yml", "not looked at");
	cdi_devices_read(f->dirs, &f->devices);
	assert_ok(cdi_devices_add(&f->devices, "nvidia.com/gpu=all", &f->used, &f->edits, &f->err),
		  f->err);
	assert_int_equal(f->edits.nodes.len, 2);
	assert_int_equal(f->edits.env.len, 1);
	assert_int_equal(f->devices.damaged.len, 0);
}

static void test_a_damaged_file_hides_nothing_and_is_named(void **state)
{
	struct fixture *f = *state;

	put(f, f->first, "a.yaml", SPEC("0", "/dev/null"));
	put(f, f->first, "b.yaml", "kind: [");
	cdi_devices_read(f->dirs, &f->devices);
	assert_int_equal(f->devices.damaged.len, 1);
	assert_true(cdi_devices_have(&f->devices, "nvidia.com/gpu"));
	assert_int_equal(
		cdi_devices_add(&f->devices, "nvidia.com/gpu=7", &f->used, &f->edits, &f->err), -1);
	assert_non_null(strstr(f->err.text, "nvidia.com/gpu=0"));
	assert_non_null(strstr(f->err.text, "b.yaml"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_later_directory_hides_the_earlier, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_a_device_twice_in_one_directory_cannot_be_had,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_all_is_every_device_where_none_has_that_name,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_damaged_file_hides_nothing_and_is_named,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
