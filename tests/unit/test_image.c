#include "tests/support/test.h"

#include "oci/image.h"
#include "oci/layout.h"
#include "oci/mediatype.h"
#include "tests/support/image.h"

static const char text[] = "env PATH=/bin\n"
			   "layer gzip\n"
			   "dir bin\n"
			   "file bin/sh 0755 =#!\\n\n"
			   "layer zstd\n"
			   "file a =1\n"
			   "layer none\n"
			   "whiteout a\n";

static int open_image(const char *dir, const char *tag, const struct platform *platform,
		      struct image *out, struct error *err)
{
	struct image_name name = {
		.transport = TRANSPORT_OCI, .path = dir, .tag = tag, .text = "oci:test"
	};

	return image_open(&name, platform, out, err);
}

static void test_an_image_opens_and_its_layers_read_to_the_end(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_image struct image image = { 0 };
	struct error err = { 0 };

	(void)state;
	test_image(dir, "v1", text);
	assert_ok(open_image(dir, "v1", NULL, &image, &err), err);
	assert_string_equal(config_env(&image.config, "PATH"), "/bin");
	assert_int_equal(image.manifest.layer_count, 3);
	for (size_t i = 0; i < 3; i++) {
		cleanup_stream struct stream *plain = image_layer(&image, i, &err);
		cleanup_stream struct stream *blob = image_layer_blob(&image, i, &err);
		uint64_t size;

		assert_ok(plain && blob ? 0 : -1, err);
		assert_ok(stream_drain(plain, &size, &err), err);
		assert_int_equal(size % 512, 0);
		assert_ok(stream_drain(blob, &size, &err), err);
		assert_int_equal(size, image.manifest.layers[i].size);
	}
}

static void test_a_spoilt_layer_is_told_with_its_number(void **state)
{
	static const struct {
		const char *fault, *says;
		enum error_code code;
	} cases[] = {
		{ "diff_id", "diff_id", ERROR_INTEGRITY },
		{ "digest", "layer 1", 0 },
		{ "short", "layer 1", ERROR_INTEGRITY },
		{ "missing", "missing", ERROR_NOT_FOUND },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_free char *with = xasprintf(
			"layer\nfile x =1\nlayer none\nfile y =2\nfault %s\n", cases[i].fault);
		cleanup_image struct image image = { 0 };
		cleanup_stream struct stream *layer = NULL;
		struct error err = { 0 };

		test_image(dir, "v1", with);
		assert_ok(open_image(dir, NULL, NULL, &image, &err), err);
		layer = image_layer(&image, 1, &err);
		if (layer)
			assert_int_equal(stream_drain(layer, NULL, &err), -1);
		assert_contains(err.text, "oci:test: layer 1");
		assert_contains(err.text, cases[i].says);
		if (cases[i].code)
			assert_int_equal(err.code, cases[i].code);
	}
}

static void test_a_layer_that_unpacks_to_too_much_ends(void **state)
{
	static const char *const coders[] = { "gzip", "zstd" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(coders); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_free char *with = xasprintf("layer %s\nfile x *4000000\n", coders[i]);
		cleanup_image struct image image = { 0 };
		cleanup_stream struct stream *layer = NULL, *again = NULL;
		struct error err = { 0 };

		test_image(dir, "v1", with);
		assert_ok(open_image(dir, NULL, NULL, &image, &err), err);
		image.unpacked_floor = MIB;
		layer = image_layer(&image, 0, &err);
		assert_non_null(layer);
		assert_int_equal(stream_drain(layer, NULL, &err), -1);
		assert_int_equal(err.code, ERROR_LIMIT);
		assert_contains(err.text, "oci:test: layer 0: its ");
		assert_contains(err.text, "bytes unpack to more than 1048576");
		image.unpacked_floor = IMAGE_UNPACKED_FLOOR;
		again = image_layer(&image, 0, &err);
		assert_ok(stream_drain(again, NULL, &err), err);
	}
}

static void test_the_platform_is_chosen_from_an_index(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct platform arm = { "linux", "arm64", "v8" }, s390 = { "linux", "s390x", NULL };
	cleanup_image struct image image = { 0 };
	struct image none = { 0 };
	struct error err = { 0 };

	(void)state;
	test_image(dir, "v1", "image linux/amd64\nenv A=amd\nimage linux/arm64\nenv A=arm\n");
	assert_ok(open_image(dir, "v1", &arm, &image, &err), err);
	assert_string_equal(config_env(&image.config, "A"), "arm");
	assert_string_equal(image.descriptor.platform.architecture, "arm64");
	assert_string_equal(image.root.media_type, MEDIATYPE_OCI_INDEX);
	assert_int_equal(open_image(dir, "v1", &s390, &none, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "linux/amd64, linux/arm64");
}

static void test_the_only_image_opens_unless_another_platform_was_asked_for(void **state)
{
	static const char *const texts[] = { "image linux/s390x\n", "fault platform\n" };
	struct platform amd = { "linux", "amd64", NULL };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_image struct image image = { 0 };
		struct image none = { 0 };
		struct error err = { 0 };

		test_image(dir, "v1", texts[i]);
		assert_ok(open_image(dir, "v1", NULL, &image, &err), err);
		assert_int_equal(open_image(dir, "v1", &amd, &none, &err), -1);
		assert_int_equal(err.code, ERROR_NOT_FOUND);
	}
}

static void put_document(struct layout *l, const char *type, const char *document,
			 struct descriptor *out)
{
	struct error err = { 0 };

	*out = (struct descriptor){ .media_type = type };
	assert_ok(layout_put_bytes(l, slice_str(document), out, &err), err);
}

static void test_indexes_nest_but_not_without_end(void **state)
{
	(void)state;
	for (int depth = 1; depth <= 6; depth++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_layout struct layout *l = NULL;
		cleanup_arena struct arena arena = { 0 };
		cleanup_image struct image image = { 0 };
		struct error err = { 0 };
		struct descriptor d;
		int rc;

		test_image(dir, "v1", "env A=1\n");
		l = layout_open(dir, &err);
		assert_non_null(l);
		assert_ok(layout_resolve(l, "v1", &arena, &d, &err), err);
		d.platform = platform_host();
		for (int i = 0; i < depth; i++) {
			cleanup_strbuf struct strbuf index = { 0 };

			index_write(&d, 1, NULL, &index);
			put_document(l, MEDIATYPE_OCI_INDEX, index.data, &d);
		}
		assert_ok(layout_tag(l, "v1", &d, &err), err);
		rc = open_image(dir, "v1", NULL, &image, &err);
		assert_int_equal(rc, depth <= 4 ? 0 : -1);
		if (rc < 0)
			assert_int_equal(err.code, ERROR_LIMIT);
	}
}

static void test_attestations_and_artifacts_are_no_images(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_strbuf struct strbuf index = { 0 };
	cleanup_layout struct layout *l = NULL;
	cleanup_arena struct arena arena = { 0 };
	cleanup_image struct image image = { 0 };
	struct error err = { 0 };
	struct descriptor d[3];

	(void)state;
	test_image(dir, "v1", "env A=1\n");
	l = layout_open(dir, &err);
	assert_ok(l ? layout_resolve(l, "v1", &arena, &d[2], &err) : -1, err);
	d[0] = d[1] = d[2];
	d[0].digest = d[1].digest = digest_of(slice_str("not there"));
	d[0].platform = (struct platform){ "unknown", "unknown", NULL };
	d[1].artifact_type = "application/spdx+json";
	index_write(d, 3, NULL, &index);
	put_document(l, MEDIATYPE_OCI_INDEX, index.data, &d[0]);
	assert_ok(layout_tag(l, "v1", &d[0], &err), err);
	assert_ok(open_image(dir, "v1", NULL, &image, &err), err);
}

static void test_old_and_other_documents_are_refused_with_advice(void **state)
{
	static const struct {
		const char *type, *document, *says;
	} cases[] = {
		{ "application/vnd.docker.distribution.manifest.v1+prettyjws", "{}",
		  "skopeo copy" },
		{ MEDIATYPE_DOCKER_MANIFEST, "{\"schemaVersion\":1}", "skopeo copy" },
		{ MEDIATYPE_OCI_MANIFEST, "{\"schemaVersion\":2}", "config" },
		{ MEDIATYPE_OCI_MANIFEST, "no json", "the image manifest" },
		{ MEDIATYPE_OCI_INDEX, "{\"schemaVersion\":2,\"manifests\":[]}", "none at all" },
		{ "application/x", "{\"schemaVersion\":2,\"manifests\":[]}", "none at all" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_dir char *dir = test_dir();
		struct error err = { 0 };
		cleanup_layout struct layout *l = layout_create(dir, &err);
		struct image none = { 0 };
		struct descriptor d;

		assert_non_null(l);
		put_document(l, cases[i].type, cases[i].document, &d);
		assert_ok(layout_tag(l, "v1", &d, &err), err);
		assert_int_equal(open_image(dir, "v1", NULL, &none, &err), -1);
		assert_contains(err.text, cases[i].says);
		assert_contains(err.text, "oci:test");
	}
}

static void test_an_unpacked_root_opens_as_one(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct image_name name = { .transport = TRANSPORT_ROOTFS, .path = dir, .text = "rootfs:x" };
	cleanup_image struct image image = { 0 };
	struct image none = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(image_open(&name, NULL, &image, &err), err);
	assert_string_equal(image.rootfs, dir);
	assert_int_equal(image.manifest.layer_count, 0);
	name.path = "/nothing/here";
	assert_int_equal(image_open(&name, NULL, &none, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void test_names_that_are_not_on_disk_are_the_users_mistake(void **state)
{
	struct image_name name = { .transport = TRANSPORT_DOCKER, .text = "docker://x" };
	struct image none = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(image_open(&name, NULL, &none, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_image_opens_and_its_layers_read_to_the_end),
		cmocka_unit_test(test_a_spoilt_layer_is_told_with_its_number),
		cmocka_unit_test(test_a_layer_that_unpacks_to_too_much_ends),
		cmocka_unit_test(test_the_platform_is_chosen_from_an_index),
		cmocka_unit_test(test_the_only_image_opens_unless_another_platform_was_asked_for),
		cmocka_unit_test(test_indexes_nest_but_not_without_end),
		cmocka_unit_test(test_attestations_and_artifacts_are_no_images),
		cmocka_unit_test(test_old_and_other_documents_are_refused_with_advice),
		cmocka_unit_test(test_an_unpacked_root_opens_as_one),
		cmocka_unit_test(test_names_that_are_not_on_disk_are_the_users_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
