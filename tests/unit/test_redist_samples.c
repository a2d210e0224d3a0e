/*
 * NVIDIA's own manifests, byte for byte (as the repository nixos-cuda/cuda-legacy, commit
 * 9856d70acc3e, keeps them): CUDA 12.4.1 and 13.0.2, cuDNN 9.14.0. And our tables beside them.
 */
#include "tests/support/test.h"

#include "builder/sources/redist_json.h"
#include "builder/toolkit.h"
#include "formats/compress.h"
#include "manifests/embedded.h"
#include "manifests/tables.h"

#define FIXTURES "tests/fixtures/redistrib/"

struct sample {
	struct strbuf text;
	struct arena arena;
	struct redist_manifest manifest;
};

static void sample_release(struct sample *s)
{
	strbuf_release(&s->text);
	arena_release(&s->arena);
}

static void read_sample(const char *name, struct sample *out)
{
	cleanup_free char *path = xasprintf(FIXTURES "%s.json.xz", name);
	struct error err = { 0 };
	cleanup_fd int fd = fs_open(AT_FDCWD, path, &err);
	cleanup_stream struct stream *file = NULL, *plain = NULL;

	assert_ok(fd, err);
	file = stream_fd(fd, path);
	plain = decompress_auto(file, NULL, &err);
	assert_non_null(plain);
	assert_ok(stream_read_all(plain, MIB, &out->text, &err), err);
	assert_ok(redist_json_parse(strbuf_slice(&out->text), name, &out->arena, &out->manifest,
				    &err),
		  err);
}

static void test_they_are_read_whole(void **state)
{
	static const struct {
		const char *name, *product, *label;
	} samples[] = { { "cuda_redistrib_12.4.1", "cuda", "12.4.1" },
			{ "cuda_redistrib_13.0.2", "cuda", "13.0.2" },
			{ "cudnn_redistrib_9.14.0", "cudnn", "9.14.0" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		cleanup(sample_release) struct sample s = { 0 };

		read_sample(samples[i].name, &s);
		assert_string_equal(s.manifest.product, samples[i].product);
		assert_string_equal(s.manifest.label, samples[i].label);
		for (size_t k = 0; k < s.manifest.count; k++)
			assert_true(*s.manifest.items[k].version);
	}
}

static void test_their_digests_are_those_that_the_table_pins(void **state)
{
	cleanup_tables struct tables t = { 0 };
	struct error err = { 0 };
	size_t met = 0;

	(void)state;
	assert_ok(tables_load(NULL, &t, &err), err);
	for (size_t i = 0; i < t.toolkits.count; i++) {
		const struct toolkit *row = &t.toolkits.items[i];
		cleanup(sample_release) struct sample s = { 0 };
		cleanup_free char *name = xasprintf("cuda_redistrib_%s", row->version);
		struct digest digest;
		char hex[DIGEST_HEX_MAX];

		if (!str_equal(row->version, "12.4.1") && !str_equal(row->version, "13.0.2"))
			continue;
		read_sample(name, &s);
		digest = digest_of(strbuf_slice(&s.text));
		assert_string_equal(digest_hex(&digest, hex), row->redist_sha256);
		met++;
	}
	assert_int_equal(met, 2);
}

/* Every component of a toolkit that has a key is in its manifest, in the version of our table. */
static void check_components(const char *release, const char *cuda, size_t floor)
{
	static const char section[] = "gpuimg: 1\nname: a/b\nstages: { run: {} }\n";
	cleanup_free char *name = xasprintf("cuda_redistrib_%s", release);
	cleanup(sample_release) struct sample s = { 0 };
	cleanup_toolkit_components struct toolkit_components components = { 0 };
	cleanup_stack struct stack stack = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct solved_stack solved = { .cuda = cuda, .release = release };
	struct error err = { 0 };
	size_t compared = 0;

	read_sample(name, &s);
	assert_ok(stack_parse(slice_str(section), "s", &stack, &err), err);
	assert_ok(toolkit_components(&stack, &solved, PROFILE_DEVEL, true, &arena, &components,
				     &err),
		  err);
	for (size_t i = 0; i < components.len; i++) {
		const struct toolkit_component *c = &components.items[i];
		const struct redist_component *found =
			c->redist ? redist_json_find(&s.manifest, c->redist) : NULL;

		if (!found && !(c->optional && c->redist))
			fail_msg("%s: %s is not in it", release, c->id);
		if (!found || !c->version)
			continue;
		compared++;
		if (!str_equal(found->version, c->version))
			fail_msg("%s: %s is %s, our table says %s", release, c->id, found->version,
				 c->version);
	}
	assert_true(compared >= floor);
}

static void test_the_components_of_our_table_are_in_them_at_the_same_versions(void **state)
{
	(void)state;
	check_components("12.4.1", "12.4", 12);
	check_components("13.0.2", "13.0", 16);
}

static void test_variants_are_chosen_by_the_cuda_major(void **state)
{
	cleanup(sample_release) struct sample s = { 0 };
	const struct redist_component *cudnn;
	const struct redist_file *file;
	struct error err = { 0 };

	(void)state;
	read_sample("cudnn_redistrib_9.14.0", &s);
	cudnn = redist_json_find(&s.manifest, "cudnn");
	assert_non_null(cudnn);
	assert_ok(redist_json_choose(cudnn, "linux-x86_64", "12.6", &file, &err), err);
	assert_string_equal(file->variant, "cuda12");
	assert_ok(redist_json_choose(cudnn, "linux-sbsa", "13.0", &file, &err), err);
	assert_string_equal(file->variant, "cuda13");
	assert_int_equal(redist_json_choose(cudnn, "linux-x86_64", "11.8", &file, &err), -1);
	assert_contains(err.text, "there is cuda12, cuda13");
}

static void test_the_jetson_package_is_not_for_servers(void **state)
{
	cleanup(sample_release) struct sample s = { 0 };
	const struct redist_component *compat;
	const struct redist_file *file;
	struct error err = { 0 };

	(void)state;
	read_sample("cuda_redistrib_12.4.1", &s);
	compat = redist_json_find(&s.manifest, "cuda_compat");
	assert_non_null(compat);
	assert_int_equal(redist_json_choose(compat, "linux-x86_64", "12.4", &file, &err), -1);
	assert_contains(err.text, "there is linux-aarch64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_they_are_read_whole),
		cmocka_unit_test(test_their_digests_are_those_that_the_table_pins),
		cmocka_unit_test(test_the_components_of_our_table_are_in_them_at_the_same_versions),
		cmocka_unit_test(test_variants_are_chosen_by_the_cuda_major),
		cmocka_unit_test(test_the_jetson_package_is_not_for_servers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
