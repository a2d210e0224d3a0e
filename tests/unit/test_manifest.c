#include "tests/support/test.h"

#include "oci/manifest.h"
#include "oci/mediatype.h"

#define D "\"digest\":\"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\""
#define CONFIG "\"config\":{\"mediaType\":\"c\",\"size\":1," D "}"
#define LAYER "{\"mediaType\":\"l\",\"size\":2," D "}"
#define CONFIG_SORTED "\"config\":{" D ",\"mediaType\":\"c\",\"size\":1}"
#define LAYER_SORTED "{" D ",\"mediaType\":\"l\",\"size\":2}"

static int parse_manifest(const char *text, struct arena *arena, struct manifest *m,
			  struct error *err)
{
	return manifest_parse(slice_str(text), arena, m, err);
}

static void test_a_manifest_without_type_is_an_oci_one(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse_manifest("{\"schemaVersion\":2," CONFIG ",\"layers\":[" LAYER "]}", &arena,
				 &m, &err),
		  err);
	assert_string_equal(m.media_type, MEDIATYPE_OCI_MANIFEST);
	assert_string_equal(m.config.media_type, "c");
	assert_int_equal(m.layer_count, 1);
	assert_int_equal(m.layers[0].size, 2);
}

static void test_layers_may_be_null_or_empty(void **state)
{
	static const char *const cases[] = {
		"{\"schemaVersion\":2," CONFIG ",\"layers\":[]}",
		"{\"schemaVersion\":2," CONFIG ",\"layers\":null}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_manifest struct manifest m = { 0 };
		struct error err = { 0 };

		assert_ok(parse_manifest(cases[i], &arena, &m, &err), err);
		assert_int_equal(m.layer_count, 0);
	}
}

static void test_bad_manifests_are_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "" },
		{ "[]", "object" },
		{ "{}", "schemaVersion" },
		{ "{\"schemaVersion\":1}", "skopeo copy" },
		{ "{\"schemaVersion\":3}", "instead of 2" },
		{ "{\"schemaVersion\":2,\"layers\":[]}", "config" },
		{ "{\"schemaVersion\":2," CONFIG ",\"layers\":{}}", "layers" },
		{ "{\"schemaVersion\":2," CONFIG ",\"layers\":[" LAYER ",{}]}", "layers[1]" },
		{ "{\"schemaVersion\":2," CONFIG ",\"layers\":[],\"manifests\":[]}", "manifests" },
		{ "{\"schemaVersion\":2,\"mediaType\":\"" MEDIATYPE_OCI_INDEX "\"," CONFIG
		  ",\"layers\":[]}",
		  "mediaType" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_manifest struct manifest m = { 0 };
		struct error err = { 0 };

		assert_int_equal(parse_manifest(cases[i].text, &arena, &m, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, cases[i].says);
	}
}

static void test_an_index_is_read_and_no_manifest_passes_for_one(void **state)
{
	static const char *const bad[] = {
		"{\"schemaVersion\":2," CONFIG ",\"manifests\":[]}",
		"{\"schemaVersion\":2,\"layers\":[],\"manifests\":[]}",
		"{\"schemaVersion\":2,\"manifests\":[1]}",
	};
	cleanup_arena struct arena arena = { 0 };
	cleanup_index struct index index = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(index_parse(slice_str("{\"schemaVersion\":2,\"manifests\":[" LAYER "]}"), &arena,
			      &index, &err),
		  err);
	assert_int_equal(index.manifest_count, 1);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct index none = { 0 };

		assert_int_equal(index_parse(slice_str(bad[i]), &arena, &none, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_what_is_written_is_canonical_and_parses_to_the_same(void **state)
{
	static const char text[] =
		"{\"annotations\":{\"k\":\"v\"}," CONFIG_SORTED ",\"layers\":[" LAYER_SORTED
		"],\"mediaType\":\"" MEDIATYPE_OCI_MANIFEST "\",\"schemaVersion\":2}";
	cleanup_arena struct arena arena = { 0 };
	cleanup_manifest struct manifest m = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(parse_manifest(text, &arena, &m, &err), err);
	manifest_write(&m.config, m.layers, m.layer_count, json_object_get(m.json, "annotations"),
		       &out);
	assert_string_equal(out.data, text);
}

static void test_an_empty_index_is_written_as_such(void **state)
{
	cleanup_strbuf struct strbuf out = { 0 };

	(void)state;
	index_write(NULL, 0, NULL, &out);
	assert_string_equal(out.data, "{\"manifests\":[],\"mediaType\":\"" MEDIATYPE_OCI_INDEX
				      "\",\"schemaVersion\":2}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_manifest_without_type_is_an_oci_one),
		cmocka_unit_test(test_layers_may_be_null_or_empty),
		cmocka_unit_test(test_bad_manifests_are_refused),
		cmocka_unit_test(test_an_index_is_read_and_no_manifest_passes_for_one),
		cmocka_unit_test(test_what_is_written_is_canonical_and_parses_to_the_same),
		cmocka_unit_test(test_an_empty_index_is_written_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
