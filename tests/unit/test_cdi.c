#include "tests/support/test.h"

#include "formats/cdi.h"

#define HEAD "cdiVersion: \"0.6.0\"\nkind: vendor.example/class\n"
#define DEVICE "devices:\n- name: \"0\"\n  containerEdits: { env: [ A=b ] }\n"

static int parse(const char *text, const char *name, struct arena *arena, struct cdi_spec *out,
		 struct error *err)
{
	cleanup_free uint8_t *copy = xmalloc(strlen(text) + 1);

	memcpy(copy, text, strlen(text));
	return cdi_parse(slice_of(copy, strlen(text)), name, arena, out, err);
}

static void test_a_specification_is_read_from_yaml_and_from_json(void **state)
{
	static const char yaml[] =
		HEAD "annotations: { a: b }\n"
		     "devices:\n- name: \"gpu:0\"\n  containerEdits:\n"
		     "    deviceNodes: [ { path: /dev/x, hostPath: /dev/null, permissions: rw } ]\n"
		     "containerEdits:\n"
		     "  mounts: [ { hostPath: /a, containerPath: /b, options: [ ro ] } ]\n"
		     "  hooks: [ { hookName: createContainer, path: /h, args: [ h, x ], timeout: 3 "
		     "} ]\n";
	static const char json[] =
		"{\"cdiVersion\":\"0.5.0\",\"kind\":\"a.b/c\",\"devices\":[{\"name\":\"1\","
		"\"containerEdits\":{\"deviceNodes\":[{\"path\":\"/dev/y\",\"type\":\"c\","
		"\"major\":1,\"minor\":3,\"fileMode\":438}]}}]}";
	cleanup_arena struct arena arena = { 0 };
	cleanup_cdi_spec struct cdi_spec spec = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(yaml, "x.yaml", &arena, &spec, &err), err);
	assert_string_equal(spec.kind, "vendor.example/class");
	assert_string_equal(cdi_device_find(&spec, "gpu:0")->edits.nodes.items[0].host_path,
			    "/dev/null");
	assert_string_equal(spec.edits.mounts.items[0].options.items[0], "ro");
	assert_int_equal(spec.edits.hooks.items[0].args.count, 2);
	cdi_spec_release(&spec);
	assert_ok(parse(json, "x.json", &arena, &spec, &err), err);
	assert_int_equal(spec.devices.items[0].edits.nodes.items[0].mode, 0666);
	assert_string_equal(spec.devices.items[0].edits.nodes.items[0].host_path, "/dev/y");
	assert_string_equal(spec.devices.items[0].edits.nodes.items[0].permissions, "rwm");
}

static void test_what_cdi_does_not_know_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "kind: a.b/c\n" DEVICE, "\"cdiVersion\" is missing" },
		{ "cdiVersion: \"1.2.0\"\nkind: a.b/c\n" DEVICE, "newer than 1.1.0" },
		{ "cdiVersion: \"0.9.0\"\nkind: a.b/c\n" DEVICE, "does not exist" },
		{ "cdiVersion: x\nkind: a.b/c\n" DEVICE, "is no version" },
		{ "cdiVersion: \"0.6.0\"\nkind: nokind\n" DEVICE, "VENDOR/CLASS" },
		{ HEAD "devices: []\n", "names no device" },
		{ HEAD DEVICE "rubbish: 1\n", "x.yaml:6:1: \"rubbish\"" },
		{ HEAD DEVICE "- name: \"0\"\n  containerEdits: { env: [ A=b ] }\n",
		  "there twice" },
		{ HEAD "devices:\n- name: \"0\"\n  containerEdits: { }\n", "has no edits" },
		{ HEAD "devices:\n- name: \"0\"\n", "has no containerEdits" },
		{ HEAD "devices:\n- name: \"-\"\n  containerEdits: { env: [ A=b ] }\n",
		  "no name of a device" },
		{ HEAD DEVICE "containerEdits: { env: [ novalue ] }\n", "NAME=VALUE" },
		{ HEAD DEVICE "containerEdits: { deviceNodes: [ { path: dev/x } ] }\n",
		  "no absolute path" },
		{ HEAD DEVICE "containerEdits: { deviceNodes: [ { path: /dev/x, type: z } ] }\n",
		  "none of b, c, u, p" },
		{ HEAD DEVICE
		  "containerEdits: { deviceNodes: [ { path: /dev/x, permissions: rwx } ] }\n",
		  "are not of r, w, m" },
		{ HEAD DEVICE "containerEdits: { mounts: [ { hostPath: /a } ] }\n",
		  "\"containerPath\" is missing" },
		{ HEAD DEVICE "containerEdits: { hooks: [ { hookName: x, path: /h } ] }\n",
		  "no hook that OCI runtimes have" },
		{ HEAD DEVICE "containerEdits: { additionalGids: [ 1 ] }\n",
		  "needs cdiVersion 0.7.0" },
		{ HEAD DEVICE "containerEdits: [ ]\n", "a map is expected" },
		{ "- a\n", "a map is expected" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct cdi_spec spec;
		struct error err = { 0 };

		assert_int_equal(parse(rows[i].text, "x.yaml", &arena, &spec, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		if (!strstr(err.text, rows[i].says))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void test_edits_replace_what_has_the_same_place_and_append_the_rest(void **state)
{
	static const char text[] =
		HEAD "devices:\n- name: a\n  containerEdits:\n"
		     "    env: [ X=2 ]\n"
		     "    deviceNodes: [ { path: /dev/x, hostPath: /dev/zero } ]\n"
		     "    mounts: [ { hostPath: /n, containerPath: /lib/deep/x } ]\n"
		     "containerEdits:\n"
		     "  env: [ X=1 ]\n"
		     "  deviceNodes: [ { path: /dev/x } ]\n"
		     "  mounts: [ { hostPath: /o, containerPath: /lib/deep/x },"
		     " { hostPath: /p, containerPath: /lib } ]\n";
	cleanup_arena struct arena arena = { 0 };
	cleanup_cdi_spec struct cdi_spec spec = { 0 };
	struct cdi_edits all = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse(text, "x.yaml", &arena, &spec, &err), err);
	cdi_edits_add(&all, &spec.edits);
	cdi_edits_add(&all, &spec.devices.items[0].edits);
	cdi_edits_sort(&all);
	assert_int_equal(all.env.len, 2);
	assert_int_equal(all.nodes.len, 1);
	assert_string_equal(all.nodes.items[0].host_path, "/dev/zero");
	assert_int_equal(all.mounts.len, 2);
	assert_string_equal(all.mounts.items[0].container_path, "/lib");
	assert_string_equal(all.mounts.items[1].host_path, "/n");
	cdi_edits_release(&all);
}

static void test_names_of_devices_are_cut(void **state)
{
	cleanup_free char *kind = NULL, *name = NULL;

	(void)state;
	assert_true(cdi_device_split("nvidia.com/gpu=0:1", &kind, &name));
	assert_string_equal(kind, "nvidia.com/gpu");
	assert_string_equal(name, "0:1");
	assert_false(cdi_device_split("nvidia.com/gpu", &kind, &name));
	assert_false(cdi_device_split("gpu=0", &kind, &name));
	assert_false(cdi_device_split("nvidia.com/gpu=", &kind, &name));
}

static void test_every_truncation_is_refused_or_read(void **state)
{
	static const char json[] =
		"{\"cdiVersion\":\"0.5.0\",\"kind\":\"a.b/c\",\"devices\":[{\"name\":\"1\","
		"\"containerEdits\":{\"env\":[\"A=b\"]}}]}";

	(void)state;
	for (size_t n = 0; n < sizeof(json) - 1; n++) {
		cleanup_free char *cut = xstrndup(json, n);
		cleanup_arena struct arena arena = { 0 };
		struct cdi_spec spec;
		struct error err = { 0 };

		assert_int_equal(parse(cut, "x.json", &arena, &spec, &err), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_specification_is_read_from_yaml_and_from_json),
		cmocka_unit_test(test_what_cdi_does_not_know_is_refused_with_its_place),
		cmocka_unit_test(test_edits_replace_what_has_the_same_place_and_append_the_rest),
		cmocka_unit_test(test_names_of_devices_are_cut),
		cmocka_unit_test(test_every_truncation_is_refused_or_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
