#include "tests/support/test.h"

#include "lint/facts_parts.h"
#include "lint/inventory.h"

/* Facts of one image, made by hand. */
struct made {
	struct image_config config;
	struct target target;
	struct facts facts;
};

static void add(struct made *m, const char *path, uint64_t size, struct file_facts *content)
{
	struct tar_entry entry = {
		.type = TAR_FILE, .path = path, .link = "", .size = size, .mode = 0644
	};

	facts_add(&m->facts, 0, &entry, content);
}

static void derive(struct made *m)
{
	struct error err = { 0 };

	m->config.platform = (struct platform){ .os = "linux", .architecture = "amd64" };
	m->facts.config = &m->config;
	m->facts.target = &m->target;
	assert_ok(facts_derive(&m->facts, &err), err);
}

static void test_architectures_are_in_order_and_once(void **state)
{
	static const struct gpu_row rows[] = {
		{ .section = "b", .kind = FATBIN_CUBIN, .sm = 120, .count = 1, .stored = 10 },
		{ .section = "b", .kind = FATBIN_CUBIN, .sm = 90, .suffix = 'a', .stored = 10 },
		{ .section = "a", .kind = FATBIN_OLD_CUBIN, .sm = 90, .stored = 10 },
		{ .section = "c", .kind = FATBIN_CUBIN, .sm = 120, .stored = 10 },
		{ .section = "c", .kind = FATBIN_PTX, .sm = 120, .ptx_major = 8, .stored = 10 },
	};
	static const struct gpu_code code = { .rows = rows, .count = ARRAY_LEN(rows) };
	cleanup_strbuf struct strbuf text = { 0 };
	struct file_facts content = { .gpu = &code };
	struct made m = { 0 };

	(void)state;
	add(&m, "a.fatbin", 50, &content);
	derive(&m);
	inventory_gpu_text(&m.facts, &text);
	assert_contains(strbuf_text(&text), "90 90a 120 ");
	assert_contains(strbuf_text(&text), "/a.fatbin\n");
	facts_release(&m.facts);
}

static void test_bytes_belong_to_libraries_packages_and_places(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct made m = { 0 };

	(void)state;
	add(&m, "usr/local/cuda-13.0/lib64/libcublasLt.so.13", 4000, NULL);
	add(&m, "usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so", 3000, NULL);
	add(&m, "usr/lib/python3/site-packages/nvidia/cudnn/lib/libcudnn.so.9", 2000, NULL);
	add(&m, "usr/bin/env", 1000, NULL);
	add(&m, "file", 500, NULL);
	derive(&m);
	inventory_components_text(&m.facts, &text);
	assert_string_equal(strbuf_text(&text), "   3.9 KiB        1 files  cublas\n"
						"   2.9 KiB        1 files  python: torch\n"
						"   2.0 KiB        1 files  python: nvidia/cudnn\n"
						"    1000 B        1 files  /usr/bin\n"
						"     500 B        1 files  /\n");
	facts_release(&m.facts);
}

static void test_a_name_with_an_escape_sequence_is_harmless(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct made m = { 0 };

	(void)state;
	add(&m, "a\033[1mb", 1, NULL);
	derive(&m);
	inventory_tree_text(&m.facts, &text);
	assert_contains(strbuf_text(&text), "/a\\x1b[1mb\n");
	facts_release(&m.facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_architectures_are_in_order_and_once),
		cmocka_unit_test(test_bytes_belong_to_libraries_packages_and_places),
		cmocka_unit_test(test_a_name_with_an_escape_sequence_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
