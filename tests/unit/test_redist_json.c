/*
 * The manifests here are cut out of NVIDIA's own: redistrib_13.0.2.json and redistrib_12.4.1.json
 * of the CUDA product and redistrib_9.14.0.json of cuDNN (public repository
 * nixos-cuda/cuda-legacy, commit 9856d70acc3e).
 */
#include "tests/support/test.h"

#include "builder/sources/redist_json.h"

/* JSON in strings: not for the formatter. */
/* clang-format off */
#define SHA "3b1a3c1c0d8f4b0a7f7b9f8d3c1b2a4958674f3e2d1c0b9a8f7e6d5c4b3a2918"
#define LEAF(path) "{ \"relative_path\": \"" path "\", \"sha256\": \"" SHA "\", \"md5\": \"x\", \"size\": \"1524192\" }"
#define ONE(leaf) "{ \"cuda_cudart\": { \"version\": \"13.0.96\", \"linux-x86_64\": " leaf " } }"

static const char cuda[] =
	"{ \"release_date\": \"2025-10-09\", \"release_label\": \"13.0.2\", \"release_product\": \"cuda\","
	"  \"release_mood\": \"good\","
	"  \"cuda_cudart\": { \"name\": \"CUDA Runtime (cudart)\", \"license\": \"CUDA Toolkit\","
	"    \"license_path\": \"cuda_cudart/LICENSE.txt\", \"version\": \"13.0.96\","
	"    \"linux-x86_64\": "
	LEAF("cuda_cudart/linux-x86_64/cuda_cudart-linux-x86_64-13.0.96-archive.tar.xz") ","
	"    \"linux-aarch64\": " LEAF("cuda_cudart/jetson.tar.xz") ","
	"    \"linux-sbsa\": " LEAF("cuda_cudart/linux-sbsa/a.tar.xz") " },"
	"  \"nsight_vse\": { \"version\": \"2025.3.1.25227\", \"windows-x86_64\": " LEAF("n/w.zip") " },"
	"  \"driver_assistant\": { \"version\": \"0.22\", \"linux-all\": " LEAF("d/all.tar.xz") " },"
	"  \"cudnn\": { \"version\": \"9.14.0.64\", \"cuda_variant\": [\"12\", \"13\"],"
	"    \"linux-x86_64\": { \"cuda12\": " LEAF("c/12.tar.xz") ", \"cuda13\": " LEAF("c/13.tar.xz")
	", \"cuda13.5\": " LEAF("c/135.tar.xz") " } } }";
/* clang-format on */

static void parse(const char *text, struct arena *arena, struct redist_manifest *out)
{
	struct error err = { 0 };

	assert_ok(redist_json_parse(slice_str(text), "redistrib_13.0.2.json", arena, out, &err),
		  err);
}

static void test_components_have_versions_of_their_own(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	struct redist_manifest m;
	const struct redist_component *c;

	(void)state;
	parse(cuda, &arena, &m);
	assert_string_equal(m.label, "13.0.2");
	assert_string_equal(m.date, "2025-10-09");
	assert_string_equal(m.product, "cuda");
	c = redist_json_find(&m, "cuda_cudart");
	assert_non_null(c);
	assert_string_equal(c->version, "13.0.96");
	assert_string_equal(c->license, "CUDA Toolkit");
	assert_int_equal(c->count, 3);
	assert_int_equal(c->files[0].size, 1524192);
	assert_null(redist_json_find(&m, "release_mood"));
}

static const char *chosen(const char *component, const char *platform, const char *version,
			  struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const struct redist_file *file;
	struct redist_manifest m;

	parse(cuda, &arena, &m);
	if (redist_json_choose(redist_json_find(&m, component), platform, version, &file, err) < 0)
		return NULL;
	return str_ends(file->path, "135.tar.xz")   ? "13.5"
	       : str_ends(file->path, "12.tar.xz")  ? "12"
	       : str_ends(file->path, "13.tar.xz")  ? "13"
	       : str_ends(file->path, "all.tar.xz") ? "all"
						    : "one";
}

static void test_the_longest_variant_that_fits_is_chosen(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_string_equal(chosen("cudnn", "linux-x86_64", "13.5", &err), "13.5");
	assert_string_equal(chosen("cudnn", "linux-x86_64", "13.0", &err), "13");
	assert_string_equal(chosen("cudnn", "linux-x86_64", "12.9", &err), "12");
}

static void test_an_archive_for_all_serves_each_platform(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_string_equal(chosen("driver_assistant", "linux-sbsa", "13.0", &err), "all");
}

static void test_a_variant_that_is_missing_is_said_with_those_there_are(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_null(chosen("cudnn", "linux-x86_64", "11.8", &err));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_string_equal(err.text,
			    "cudnn 9.14.0.64 has no variant for CUDA 11.8 on linux-x86_64; "
			    "there is cuda12, cuda13, cuda13.5");
}

static void test_a_platform_that_is_missing_is_said_with_those_there_are(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_null(chosen("nsight_vse", "linux-x86_64", "13.0", &err));
	assert_string_equal(err.text, "nsight_vse 2025.3.1.25227 has no archive for linux-x86_64; "
				      "there is windows-x86_64");
	err = (struct error){ 0 };
	assert_null(chosen("cudnn", "linux-sbsa", "13.0", &err));
	assert_contains(err.text, "there is linux-x86_64");
}

static void test_what_cannot_be_is_refused_by_name(void **state)
{
	static const char *const cases[][2] = {
		{ "[]", "r.json: is not an object" },
		{ "{", "r.json:1:" },
		{ "{ \"release_date\": \"x\" }", "names no component" },
		{ "{ \"a/b\": { \"version\": \"1\" } }", "'a/b' is no name of a component" },
		{ "{ \"a\": { } }", "r.json: a.version: is missing" },
		{ "{ \"a\": { \"version\": \"1 2\" } }", "a: '1 2' is no version" },
		{ "{ \"a\": { \"version\": 1 } }", "a.version" },
		{ "{ \"a\": { \"version\": \"1\", \"license\": \"x\\ny\" } }",
		  "a.license: holds a control" },
		{ ONE(LEAF("../x.tar.xz")),
		  "cuda_cudart.linux-x86_64.relative_path: '../x.tar.xz'" },
		{ ONE(LEAF("a/../x.tar.xz")), "not a plain path" },
		{ ONE(LEAF("/x.tar.xz")), "not a plain path" },
		{ ONE(LEAF("a//x.tar.xz")), "not a plain path" },
		{ ONE(LEAF("https://evil.example/x")), "not a plain path" },
		{ ONE(LEAF("a/x.tar.xz?y")), "not a plain path" },
		{ ONE(LEAF("a\\\\x")), "not a plain path" },
		{ ONE(LEAF("")), "not a plain path" },
		{ ONE("{ \"relative_path\": 1 }"), "cuda_cudart.linux-x86_64.relative_path" },
		{ ONE("{ \"relative_path\": \"a\", \"md5\": \"x\", \"size\": \"1\" }"),
		  "cuda_cudart.linux-x86_64.sha256: is missing" },
		{ ONE("{ \"relative_path\": \"a\", \"sha256\": \"12\", \"size\": \"1\" }"),
		  "cuda_cudart.linux-x86_64.sha256" },
		{ ONE("{ \"relative_path\": \"a\", \"sha256\": \"" SHA "\", \"size\": 1 }"),
		  "size" },
		{ ONE("{ \"relative_path\": \"a\", \"sha256\": \"" SHA "\", \"size\": \"0x10\" }"),
		  "size: '0x10' is not a number of bytes" },
		{ ONE("{ \"relative_path\": \"a\", \"sha256\": \"" SHA "\", \"size\": \"-1\" }"),
		  "size" },
		{ ONE("{ \"relative_path\": \"a\", \"sha256\": \"" SHA "\", \"size\": \"0\" }"),
		  "size" },
		{ ONE("{ \"relative_path\": \"a\", \"sha256\": \"" SHA
		      "\", \"size\": \"68719476737\" }"),
		  "size" },
		{ ONE("{ \"cuda 13\": " LEAF("a") " }"), "'cuda 13' is no variant" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		struct redist_manifest m;
		struct error err = { 0 };

		if (redist_json_parse(slice_str(cases[i][0]), "r.json", &arena, &m, &err) == 0)
			fail_msg("accepted: %s", cases[i][0]);
		assert_contains(err.text, cases[i][1]);
		assert_true(str_starts(err.text, "r.json"));
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_every_cut_of_a_manifest_is_refused(void **state)
{
	(void)state;
	for (size_t len = 0; len < sizeof(cuda) - 1; len += 7) {
		cleanup_arena struct arena arena = { 0 };
		struct redist_manifest m;
		struct error err = { 0 };

		assert_int_equal(redist_json_parse(slice_of(cuda, len), "r", &arena, &m, &err), -1);
	}
}

static void test_too_many_archives_of_a_component_are_a_limit(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct redist_manifest m;
	struct error err = { 0 };

	(void)state;
	strbuf_adds(&text, "{ \"a\": { \"version\": \"1\"");
	for (int i = 0; i < 65; i++)
		strbuf_addf(&text, ", \"p%d\": " LEAF("x"), i);
	strbuf_adds(&text, " } }");
	assert_int_equal(redist_json_parse(strbuf_slice(&text), "r", &arena, &m, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_components_have_versions_of_their_own),
		cmocka_unit_test(test_the_longest_variant_that_fits_is_chosen),
		cmocka_unit_test(test_an_archive_for_all_serves_each_platform),
		cmocka_unit_test(test_a_variant_that_is_missing_is_said_with_those_there_are),
		cmocka_unit_test(test_a_platform_that_is_missing_is_said_with_those_there_are),
		cmocka_unit_test(test_what_cannot_be_is_refused_by_name),
		cmocka_unit_test(test_every_cut_of_a_manifest_is_refused),
		cmocka_unit_test(test_too_many_archives_of_a_component_are_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
