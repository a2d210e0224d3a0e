#include "tests/support/test.h"

#include "oci/layout.h"
#include "tests/support/image.h"
#include "tests/support/validate.h"

static void validate(const char *dir, struct image *image, struct validate_problems *out)
{
	struct image_name name = { .transport = TRANSPORT_OCI, .path = dir, .text = "oci:test" };
	struct error err = { 0 };

	assert_ok(image_open(&name, NULL, image, &err), err);
	assert_ok(validate_image(image, out, &err), err);
}

static void test_a_sound_image_has_no_problem(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_image struct image image = { 0 };
	cleanup_problems struct validate_problems found = { 0 };

	(void)state;
	test_image(dir, "v1",
		   "layer gzip\ndir a\nfile a/b =1\nhard a/c -> a/b\nlink a/l -> /x\n"
		   "layer zstd\nwhiteout a/b\nopaque a\nlayer none\nfifo f\n");
	validate(dir, &image, &found);
	assert_int_equal(found.len, 0);
}

struct expectation {
	const char *text;
	enum validate_kind kind;
	int layer;
	const char *path, *says;
};

static void test_each_broken_promise_is_one_problem(void **state)
{
	static const struct expectation cases[] = {
		{ "layer\nfault missing\n", VALIDATE_BLOB, 0, "", "missing" },
		{ "layer none\nfile x =1\nfault diff_id\n", VALIDATE_DIFF_ID, 0, "", "diff_id" },
		{ "layer\nfile x\nfault history\n", VALIDATE_CONFIG, -1, "", "history" },
		{ "layer\ntype application/octet-stream\n", VALIDATE_MEDIA_TYPE, 0, "",
		  "application/octet-stream" },
		{ "layer\ntype application/vnd.docker.image.rootfs.diff.tar.gzip\n",
		  VALIDATE_MEDIA_TYPE, 0, "", "Docker's" },
		{ "layer zstd\nfile x\ntype application/vnd.oci.image.layer.v1.tar+gzip\n",
		  VALIDATE_MEDIA_TYPE, 0, "", "compressed with zstd" },
		{ "image linux/amd64\nfault platform\n", VALIDATE_PLATFORM, -1, "", "linux/mips" },
		{ "layer\nlayer\nfile x\nfile y\nfile x\n", VALIDATE_ENTRY_ODD, 1, "x",
		  "more than once" },
		{ "layer\nfile x\nlayer\nhard y -> x\n", VALIDATE_ENTRY_ODD, 1, "y", "hard link" },
		{ "layer\nchar dev/null\n", VALIDATE_ENTRY_ODD, 0, "dev/null", "device" },
		{ "layer\nfile a/.wh.\n", VALIDATE_ENTRY_ODD, 0, "a/.wh.", "whiteout" },
		{ "layer\nfile .wh..wh.plnk\n", VALIDATE_ENTRY_ODD, 0, ".wh..wh.plnk", "whiteout" },
		{ "layer\nlink .wh.x -> y\n", VALIDATE_ENTRY_ODD, 0, ".wh.x", "whiteout" },
		{ "layer\nfile a/../../x\n", VALIDATE_ENTRY, 0, "", "" },
		{ "layer\nhard x -> ../y\n", VALIDATE_ENTRY, 0, "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_image struct image image = { 0 };
		cleanup_problems struct validate_problems found = { 0 };

		test_image(dir, "v1", cases[i].text);
		validate(dir, &image, &found);
		if (found.len != 1)
			fail_msg("case %zu: %zu problems, the last: %s", i, found.len,
				 found.len ? found.items[found.len - 1].text : "");
		assert_int_equal(found.items[0].kind, cases[i].kind);
		assert_int_equal(found.items[0].layer, cases[i].layer);
		assert_string_equal(found.items[0].path, cases[i].path);
		assert_contains(found.items[0].text, cases[i].says);
	}
}

static void test_spoilt_blobs_are_problems_of_the_blob_and_not_errors(void **state)
{
	static const char *const faults[] = { "digest", "short" };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(faults); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_free char *text = xasprintf("layer %s\nfile x *5000\nfault %s\n",
						    i % 2 ? "none" : "gzip", faults[i / 2]);
		cleanup_image struct image image = { 0 };
		cleanup_problems struct validate_problems found = { 0 };
		bool blob = false;

		test_image(dir, "v1", text);
		validate(dir, &image, &found);
		for (size_t k = 0; k < found.len; k++)
			blob = blob || found.items[k].kind == VALIDATE_BLOB;
		assert_true(blob);
	}
}

static void test_a_flood_of_odd_entries_is_cut(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_problems struct validate_problems found = { 0 };

	(void)state;
	strbuf_adds(&text, "layer\n");
	for (int i = 0; i < 300; i++)
		strbuf_addf(&text, "char d%d\n", i);
	test_image(dir, "v1", text.data);
	validate(dir, &image, &found);
	assert_int_equal(found.len, 100);
	assert_contains(found.items[99].text, "not listed");
}

static void test_an_unpacked_root_has_no_promises(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct image_name name = { .transport = TRANSPORT_ROOTFS, .path = dir, .text = "rootfs:x" };
	cleanup_image struct image image = { 0 };
	cleanup_problems struct validate_problems found = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(image_open(&name, NULL, &image, &err), err);
	assert_ok(validate_image(&image, &found, &err), err);
	assert_int_equal(found.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sound_image_has_no_problem),
		cmocka_unit_test(test_each_broken_promise_is_one_problem),
		cmocka_unit_test(test_spoilt_blobs_are_problems_of_the_blob_and_not_errors),
		cmocka_unit_test(test_a_flood_of_odd_entries_is_cut),
		cmocka_unit_test(test_an_unpacked_root_has_no_promises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
