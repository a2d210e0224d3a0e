#include "tests/support/test.h"

#include "oci/config.h"

#define HEX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char full[] =
	"{\"architecture\":\"arm64\",\"author\":\"a\",\"config\":{\"Cmd\":[\"-x\"],\"Entrypoint\":["
	"\"/bin/"
	"sh\"],\"Env\":[\"A=1\",\"B=2\",\"A=3\"],\"ExposedPorts\":{\"80/"
	"tcp\":{}},\"Labels\":{\"a\":\"1\","
	"\"b\":\"2\"},\"StopSignal\":\"SIGINT\",\"User\":\"u\",\"Volumes\":{\"/"
	"v\":{}},\"WorkingDir\":"
	"\"/"
	"w\"},\"created\":\"1980-01-01T00:00:00Z\",\"history\":[{\"comment\":\"c\",\"created_by\":"
	"\"x\"},"
	"{\"created\":\"1980-01-01T00:00:00Z\",\"empty_layer\":true}],\"os\":\"linux\",\"rootfs\":{"
	"\"diff_ids\":[\"sha256:" HEX "\"],\"type\":\"layers\"},\"variant\":\"v8\"}";

static int parse(const char *text, struct arena *arena, struct image_config *out, struct error *err)
{
	return config_parse(slice_str(text), arena, out, err);
}

static void test_what_was_read_is_written_the_same(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };
	struct image_config c;

	(void)state;
	assert_ok(parse(full, &arena, &c, &err), err);
	config_write(&c, &out);
	assert_string_equal(out.data, full);
}

static void test_the_last_of_equal_env_entries_counts(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct image_config c;

	(void)state;
	assert_ok(parse(full, &arena, &c, &err), err);
	assert_string_equal(config_env(&c, "A"), "3");
	assert_string_equal(config_env(&c, "B"), "2");
	assert_null(config_env(&c, "C"));
	assert_string_equal(config_label(&c, "b"), "2");
	assert_null(config_label(&c, "c"));
}

static void test_nulls_and_unknown_members_are_nothing(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct image_config c;

	(void)state;
	assert_ok(parse("{\"config\":{\"Env\":null,\"Labels\":null,\"Shell\":[1]},\"history\":null,"
			"\"rootfs\":{\"diff_ids\":null},\"x\":1}",
			&arena, &c, &err),
		  err);
	assert_int_equal(c.env.count, 0);
	assert_int_equal(c.diff_id_count, 0);
	assert_null(c.platform.os);
}

static void test_keys_come_sorted(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	struct image_config c;

	(void)state;
	assert_ok(parse("{\"config\":{\"Labels\":{\"b\":\"2\",\"a\":\"1\"},\"ExposedPorts\":{\"9\":"
			"{},"
			"\"1\":{}}},\"rootfs\":{}}",
			&arena, &c, &err),
		  err);
	assert_string_equal(c.label_keys.items[0], "a");
	assert_string_equal(c.label_values.items[0], "1");
	assert_string_equal(c.ports.items[0], "1");
}

static void test_bad_configurations_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "" },
		{ "1", "object" },
		{ "{}", "rootfs" },
		{ "{\"os\":1,\"rootfs\":{}}", "os" },
		{ "{\"rootfs\":{\"diff_ids\":[1]}}", "rootfs.diff_ids[0]" },
		{ "{\"rootfs\":{\"diff_ids\":[\"sha256:" HEX "\",\"x\"]}}", "rootfs.diff_ids[1]" },
		{ "{\"rootfs\":{},\"config\":{\"Env\":\"A=1\"}}", "config.Env" },
		{ "{\"rootfs\":{},\"config\":{\"Env\":[\"A=1\",2]}}", "config.Env[1]" },
		{ "{\"rootfs\":{},\"config\":{\"Labels\":{\"k\":2}}}", "config.Labels.k" },
		{ "{\"rootfs\":{},\"config\":[]}", "config" },
		{ "{\"rootfs\":{},\"history\":[1]}", "history[0]" },
		{ "{\"rootfs\":{},\"history\":[{},{\"empty_layer\":1}]}",
		  "history[1].empty_layer" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct image_config c;

		assert_int_equal(parse(cases[i].text, &arena, &c, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, cases[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_read_is_written_the_same),
		cmocka_unit_test(test_the_last_of_equal_env_entries_counts),
		cmocka_unit_test(test_nulls_and_unknown_members_are_nothing),
		cmocka_unit_test(test_keys_come_sorted),
		cmocka_unit_test(test_bad_configurations_are_refused_with_their_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
