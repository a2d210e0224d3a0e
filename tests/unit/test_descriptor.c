#include "tests/support/test.h"

#include "oci/descriptor.h"

#define HEX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static int parse(const char *text, struct arena *arena, struct descriptor *out, json_t **json,
		 struct error *err)
{
	assert_ok(json_parse(slice_str(text), json, err), *err);
	return descriptor_parse(*json, "layers[2]", arena, out, err);
}

static void test_a_full_descriptor_is_read_and_written_the_same(void **state)
{
	static const char text[] =
		"{\"annotations\":{\"a\":\"b\"},\"artifactType\":\"x/y\",\"digest\":\"sha256:" HEX
		"\",\"mediaType\":\"m/t\",\"platform\":{\"architecture\":\"arm\",\"os\":\"linux\","
		"\"variant\":\"v7\"},\"size\":5}";
	cleanup_arena struct arena arena = { 0 };
	cleanup_json json_t *json = NULL, *back = NULL;
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };
	struct descriptor d;

	(void)state;
	assert_ok(parse(text, &arena, &d, &json, &err), err);
	assert_string_equal(d.media_type, "m/t");
	assert_int_equal(d.size, 5);
	assert_string_equal(d.platform.variant, "v7");
	back = descriptor_json(&d);
	json_canonical(back, &out);
	assert_string_equal(out.data, text);
}

static void test_bad_descriptors_are_refused_with_their_place(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "[]", "layers[2]" },
		{ "{}", "layers[2].mediaType" },
		{ "{\"mediaType\":1}", "layers[2].mediaType" },
		{ "{\"mediaType\":\"m\",\"size\":1}", "layers[2].digest" },
		{ "{\"mediaType\":\"m\",\"size\":1,\"digest\":\"sha256:00\"}", "layers[2].digest" },
		{ "{\"mediaType\":\"m\",\"size\":1,\"digest\":\"md5:00\"}", "layers[2].digest" },
		{ "{\"mediaType\":\"m\",\"digest\":\"sha256:" HEX "\"}", "layers[2].size" },
		{ "{\"mediaType\":\"m\",\"size\":-1,\"digest\":\"sha256:" HEX "\"}",
		  "layers[2].size" },
		{ "{\"mediaType\":\"m\",\"size\":1.5,\"digest\":\"sha256:" HEX "\"}",
		  "layers[2].size" },
		{ "{\"mediaType\":\"m\",\"size\":1,\"digest\":\"sha256:" HEX
		  "\",\"annotations\":{\"k\":1}}",
		  "layers[2].annotations.k" },
		{ "{\"mediaType\":\"m\",\"size\":1,\"digest\":\"sha256:" HEX "\",\"platform\":1}",
		  "layers[2].platform" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_json json_t *json = NULL;
		struct error err = { 0 };
		struct descriptor d;

		assert_int_equal(parse(cases[i].text, &arena, &d, &json, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, cases[i].says);
	}
}

static void test_platforms_are_parsed_with_other_names_and_default_variants(void **state)
{
	static const struct {
		const char *text, *means;
	} cases[] = {
		{ "linux/amd64", "linux/amd64" },       { "linux/arm64/v8", "linux/arm64" },
		{ "linux/arm/v7", "linux/arm/v7" },     { "linux/x86_64", "linux/amd64" },
		{ "linux/aarch64", "linux/arm64" },     { "linux/amd64/v1", "linux/amd64" },
		{ "linux/amd64/v3", "linux/amd64/v3" },
	};
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		struct platform p;

		assert_ok(platform_parse(cases[i].text, &arena, &p, &err), err);
		assert_string_equal(platform_text(&p, &arena), cases[i].means);
	}
}

static void test_bad_platforms_are_the_users_mistake(void **state)
{
	static const char *const cases[] = {
		"",        "linux",       "linux/",      "/amd64", "linux/amd64/",
		"a/b/c/d", "Linux/amd64", "linux/amd 64"
	};
	cleanup_arena struct arena arena = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct error err = { 0 };
		struct platform p;

		assert_int_equal(platform_parse(cases[i], &arena, &p, &err), -1);
		assert_int_equal(err.code, ERROR_USAGE);
	}
}

static void test_equal_platforms(void **state)
{
	struct platform arm = { "linux", "arm64", NULL }, v8 = { "linux", "arm64", "v8" };
	struct platform v9 = { "linux", "arm64", "v9" }, amd = { "linux", "amd64", NULL };
	struct platform none = { 0 };

	(void)state;
	assert_true(platform_equal(&arm, &v8));
	assert_false(platform_equal(&arm, &v9));
	assert_false(platform_equal(&arm, &amd));
	assert_false(platform_equal(&none, &amd));
	assert_true(platform_equal(&none, &none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_full_descriptor_is_read_and_written_the_same),
		cmocka_unit_test(test_bad_descriptors_are_refused_with_their_place),
		cmocka_unit_test(test_platforms_are_parsed_with_other_names_and_default_variants),
		cmocka_unit_test(test_bad_platforms_are_the_users_mistake),
		cmocka_unit_test(test_equal_platforms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
