#include "tests/support/test.h"

#include "formats/compress.h"
#include "formats/tar_write.h"
#include "oci/image.h"
#include "oci/layout.h"
#include "tests/support/image.h"
#include "tests/support/validate.h"

static const char text[] = "env A=1\nlayer\nfile x =1\nlayer none\nfile y =2\n";

static int open_file(const char *path, const char *tag, struct image *out, struct error *err)
{
	struct image_name name = {
		.transport = TRANSPORT_OCI_ARCHIVE, .path = path, .tag = tag, .text = path
	};

	return image_open(&name, NULL, out, err);
}

static void read_all_layers(struct image *image)
{
	struct error err = { 0 };

	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		cleanup_stream struct stream *layer = image_layer(image, i, &err);

		assert_ok(layer ? 0 : -1, err);
		assert_ok(stream_drain(layer, NULL, &err), err);
	}
}

static void assert_sound(const char *path, const char *tag, size_t layers)
{
	cleanup_image struct image image = { 0 };
	cleanup_problems struct validate_problems found = { 0 };
	struct error err = { 0 };

	assert_ok(open_file(path, tag, &image, &err), err);
	assert_int_equal(image.manifest.layer_count, layers);
	read_all_layers(&image);
	assert_ok(validate_image(&image, &found, &err), err);
	if (found.len)
		fail_msg("%s", found.items[0].text);
}

/* The layout's image as an oci-archive in memory. */
static void archive(const char *dir, const char *tag, struct strbuf *out)
{
	struct error err = { 0 };
	cleanup_layout struct layout *l = layout_open(dir, &err);
	cleanup_sink struct sink *sink = sink_memory(out);

	assert_non_null(l);
	assert_ok(layout_archive(l, tag, sink, &err), err);
}

static void write_file(const char *path, struct slice bytes)
{
	struct error err = { 0 };

	assert_ok(fs_write(AT_FDCWD, path, bytes, 0644, &err), err);
}

static void test_an_oci_archive_holds_one_image_and_reads_back(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *layout = fs_join(dir, "layout"), *path = fs_join(dir, "a.tar");
	cleanup_strbuf struct strbuf one = { 0 }, two = { 0 };
	struct image none = { 0 };
	struct error err = { 0 };

	(void)state;
	test_image(layout, "v1", text);
	archive(layout, "v1", &one);
	test_image(layout, "v2", "layer\nfile other =3\n");
	archive(layout, "v1", &two);
	assert_true(slice_equal(strbuf_slice(&one), strbuf_slice(&two)));
	write_file(path, strbuf_slice(&one));
	assert_sound(path, NULL, 2);
	assert_sound(path, "v1", 2);
	assert_int_equal(open_file(path, "v2", &none, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void test_an_archive_of_an_index_holds_all_its_images(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *layout = fs_join(dir, "layout"), *path = fs_join(dir, "a.tar");
	cleanup_strbuf struct strbuf tar = { 0 };
	struct image_name name = { .transport = TRANSPORT_OCI_ARCHIVE, .path = path, .text = path };
	struct platform arm = { "linux", "arm64", NULL };
	cleanup_image struct image image = { 0 };
	struct error err = { 0 };

	(void)state;
	test_image(layout, "v1",
		   "image linux/amd64\nlayer\nfile x\nimage linux/arm64\nlayer\nfile y\n");
	archive(layout, "v1", &tar);
	write_file(path, strbuf_slice(&tar));
	assert_ok(image_open(&name, &arm, &image, &err), err);
	read_all_layers(&image);
}

static void test_a_spoilt_layout_gives_no_archive(void **state)
{
	static const char *const faults[] = { "missing", "digest", "short" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_free char *with = xasprintf("layer\nfile x =1\nfault %s\n", faults[i]);
		cleanup_strbuf struct strbuf tar = { 0 };
		cleanup_sink struct sink *sink = sink_memory(&tar);
		struct error err = { 0 };
		cleanup_layout struct layout *l = NULL;

		test_image(dir, "v1", with);
		l = layout_open(dir, &err);
		assert_int_equal(layout_archive(l, "v1", sink, &err), -1);
		assert_true(err.code == ERROR_NOT_FOUND || err.code == ERROR_INTEGRITY);
	}
}

static void test_archives_may_be_compressed_or_come_through_a_pipe(void **state)
{
	static const enum compression kinds[] = { COMPRESSION_NONE, COMPRESSION_GZIP,
						  COMPRESSION_ZSTD };
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *layout = fs_join(dir, "layout"), *path = fs_join(dir, "a.tar");
	cleanup_strbuf struct strbuf tar = { 0 };
	struct error err = { 0 };

	(void)state;
	test_image(layout, "v1", text);
	archive(layout, "v1", &tar);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		cleanup_strbuf struct strbuf packed = { 0 };
		cleanup_sink struct sink *memory = sink_memory(&packed), *out = NULL;
		cleanup_image struct image image = { 0 };
		struct image_source *source;
		int ends[2];

		if (kinds[i] == COMPRESSION_NONE) {
			strbuf_add(&packed, tar.data, tar.len);
		} else {
			out = compress_sink(memory, kinds[i], LEVEL_FAST, NULL);
			assert_ok(sink_write(out, tar.data, tar.len, &err), err);
			assert_ok(sink_finish(out, &err), err);
		}
		write_file(path, strbuf_slice(&packed));
		assert_sound(path, "v1", 2);
		assert_int_equal(pipe(ends), 0);
		assert_true(packed.len <= 64 * 1024);
		assert_int_equal(write(ends[1], packed.data, packed.len), packed.len);
		close(ends[1]);
		source = archive_source(ends[0], "pipe", NULL, &err);
		assert_ok(source ? 0 : -1, err);
		assert_ok(image_open_source(source, "pipe", NULL, &image, &err), err);
		read_all_layers(&image);
	}
}

static void test_a_docker_archive_opens_under_each_way_to_write_its_name(void **state)
{
	static const char *const tags[] = { NULL, "app:v1", "v1", "docker.io/library/app:v1" };
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "a.tar");
	struct image none = { 0 };
	struct error err = { 0 };

	(void)state;
	test_docker_archive(path, "app:v1",
			    "env A=1\nlayer\nfile x =1\nlayer\nfile x =1\nlayer\nfile y\n");
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		assert_sound(path, tags[i], 3);
	assert_int_equal(open_file(path, "v2", &none, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "app:v1");
}

static void test_a_wrong_diff_id_in_a_docker_archive_is_found_by_reading(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "a.tar");
	cleanup_image struct image image = { 0 };
	cleanup_stream struct stream *layer = NULL;
	struct error err = { 0 };

	(void)state;
	test_docker_archive(path, "app:v1", "layer\nfile x =1\nfault diff_id\n");
	assert_ok(open_file(path, NULL, &image, &err), err);
	layer = image_layer(&image, 0, &err);
	assert_non_null(layer);
	assert_int_equal(stream_drain(layer, NULL, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
}

static void put(struct strbuf *tar, enum tar_type type, const char *path, struct slice bytes)
{
	struct tar_entry e = { .type = type, .path = path, .link = "", .mode = 0644 };
	cleanup_sink struct sink *out = sink_memory(tar);
	cleanup_stream struct stream *in = stream_memory(bytes);
	struct error err = { 0 };

	if (type == TAR_FILE)
		e.size = bytes.len;
	else
		e.link = (const char *)bytes.data;
	assert_ok(tar_write_entry(out, &e, type == TAR_FILE ? in : NULL, &err), err);
}

static void test_compressed_and_linked_layers_of_docker_save_are_read(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "a.tar"), *config = NULL;
	cleanup_strbuf struct strbuf layer = { 0 }, packed = { 0 }, tar = { 0 };
	cleanup_sink struct sink *memory = sink_memory(&packed);
	cleanup_sink struct sink *out = compress_sink(memory, COMPRESSION_GZIP, LEVEL_FAST, NULL);
	char id[DIGEST_TEXT_MAX];
	struct digest digest;
	struct error err = { 0 };

	(void)state;
	put(&layer, TAR_FILE, "f", slice_str("1"));
	strbuf_add_zeros(&layer, 1024);
	assert_ok(sink_write(out, layer.data, layer.len, &err), err);
	assert_ok(sink_finish(out, &err), err);
	digest = digest_of(strbuf_slice(&layer));
	digest_text(&digest, id);
	config = xasprintf(
		"{\"os\":\"linux\",\"architecture\":\"amd64\",\"rootfs\":{\"diff_ids\":[\"%s\","
		"\"%s\",\"%s\"]}}",
		id, id, id);
	put(&tar, TAR_FILE, "one/layer.tar", strbuf_slice(&layer));
	put(&tar, TAR_SYMLINK, "two/layer.tar", slice_str("../one/layer.tar"));
	put(&tar, TAR_FILE, "three/layer.tar", strbuf_slice(&packed));
	put(&tar, TAR_FILE, "c.json", slice_str(config));
	put(&tar, TAR_FILE, "manifest.json",
	    slice_str("[{\"Config\":\"c.json\",\"RepoTags\":null,\"Layers\":[\"one/layer.tar\","
		      "\"two/layer.tar\",\"three/layer.tar\"]}]"));
	strbuf_add_zeros(&tar, 1024);
	write_file(path, strbuf_slice(&tar));
	assert_sound(path, NULL, 3);
}

static void test_hostile_archives_are_refused_with_archive_and_member(void **state)
{
#define CONFIG0 "{\"rootfs\":{\"diff_ids\":[]}}"
#define ID "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define CONFIG1 "{\"rootfs\":{\"diff_ids\":[\"" ID "\"]}}"
	static const struct {
		const char *manifest, *config, *says;
	} cases[] = {
		{ "", CONFIG0, "manifest.json" },
		{ "{}", CONFIG0, "not an array" },
		{ "[]", CONFIG0, "no image" },
		{ "[1]", CONFIG0, "not an object" },
		{ "[{}]", CONFIG0, "Config" },
		{ "[{},{}]", CONFIG0, "name one" },
		{ "[{\"Config\":\"../c\"}]", CONFIG0, "'../c' is missing" },
		{ "[{\"Config\":\"/etc/passwd\"}]", CONFIG0, "is missing" },
		{ "[{\"Config\":\"out\"}]", CONFIG0, "out of the archive" },
		{ "[{\"Config\":\"dup\"}]", CONFIG0, "more than once" },
		{ "[{\"Config\":\"c\",\"Layers\":[\"l\"]}]", CONFIG0, "1 layers" },
		{ "[{\"Config\":\"c\",\"Layers\":[]}]", CONFIG1, "0 layers" },
		{ "[{\"Config\":\"c\",\"Layers\":[1]}]", CONFIG1, "Layers[0]" },
		{ "[{\"Config\":\"c\",\"Layers\":[\"gone\"]}]", CONFIG1, "'gone' is missing" },
		{ "[{\"Config\":\"c\",\"Layers\":\"l\"}]", CONFIG1, "Layers" },
		{ "[{\"Config\":\"c\",\"Layers\":[]}]", "{", "c" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_dir char *dir = test_dir();
		cleanup_free char *path = fs_join(dir, "hostile.tar");
		cleanup_strbuf struct strbuf tar = { 0 };
		struct image none = { 0 };
		struct error err = { 0 };

		put(&tar, TAR_FILE, "c", slice_str(cases[i].config));
		put(&tar, TAR_FILE, "l", slice_str(""));
		put(&tar, TAR_FILE, "dup", slice_str(CONFIG0));
		put(&tar, TAR_FILE, "dup", slice_str(CONFIG0));
		put(&tar, TAR_SYMLINK, "out", slice_str("/etc/passwd"));
		put(&tar, TAR_FILE, "manifest.json", slice_str(cases[i].manifest));
		strbuf_add_zeros(&tar, 1024);
		write_file(path, strbuf_slice(&tar));
		assert_int_equal(open_file(path, NULL, &none, &err), -1);
		assert_contains(err.text, cases[i].says);
		assert_contains(err.text, "hostile.tar");
	}
}

static void test_two_files_under_one_diff_id_must_be_equal(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "a.tar");
	cleanup_strbuf struct strbuf tar = { 0 };
	struct image none = { 0 };
	struct error err = { 0 };

	(void)state;
	put(&tar, TAR_FILE, "c", slice_str("{\"rootfs\":{\"diff_ids\":[\"" ID "\",\"" ID "\"]}}"));
	put(&tar, TAR_FILE, "good", slice_str(""));
	put(&tar, TAR_FILE, "evil", slice_str("x"));
	put(&tar, TAR_FILE, "manifest.json",
	    slice_str("[{\"Config\":\"c\",\"Layers\":[\"good\",\"evil\"]}]"));
	strbuf_add_zeros(&tar, 1024);
	write_file(path, strbuf_slice(&tar));
	assert_int_equal(open_file(path, NULL, &none, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "evil");
}

static void test_what_is_no_image_archive_is_told(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *path = fs_join(dir, "a.tar");
	cleanup_strbuf struct strbuf tar = { 0 };
	struct image none = { 0 };
	struct error err = { 0 };

	(void)state;
	write_file(path, slice_str(""));
	assert_int_equal(open_file(path, NULL, &none, &err), -1);
	assert_contains(err.text, "is empty");
	write_file(path, slice_str("hello"));
	assert_int_equal(open_file(path, NULL, &none, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	put(&tar, TAR_FILE, "x", slice_str("1"));
	write_file(path, strbuf_slice(&tar));
	assert_int_equal(open_file(path, NULL, &none, &err), -1);
	assert_contains(err.text, "neither oci-layout nor manifest.json");
	put(&tar, TAR_FILE, "repositories", slice_str("{}"));
	write_file(path, strbuf_slice(&tar));
	assert_int_equal(open_file(path, NULL, &none, &err), -1);
	assert_contains(err.text, "before 1.10");
	assert_int_equal(open_file(dir, NULL, &none, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_oci_archive_holds_one_image_and_reads_back),
		cmocka_unit_test(test_an_archive_of_an_index_holds_all_its_images),
		cmocka_unit_test(test_a_spoilt_layout_gives_no_archive),
		cmocka_unit_test(test_archives_may_be_compressed_or_come_through_a_pipe),
		cmocka_unit_test(test_a_docker_archive_opens_under_each_way_to_write_its_name),
		cmocka_unit_test(test_a_wrong_diff_id_in_a_docker_archive_is_found_by_reading),
		cmocka_unit_test(test_compressed_and_linked_layers_of_docker_save_are_read),
		cmocka_unit_test(test_hostile_archives_are_refused_with_archive_and_member),
		cmocka_unit_test(test_two_files_under_one_diff_id_must_be_equal),
		cmocka_unit_test(test_what_is_no_image_archive_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
