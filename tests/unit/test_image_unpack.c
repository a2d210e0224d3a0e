#include "tests/support/test.h"

#include <sys/stat.h>

#include "oci/docker_write.h"
#include "oci/image_unpack.h"
#include "tests/support/image.h"

static void open_at(const char *path, const char *tag, struct image *out)
{
	struct image_name name = {
		.transport = TRANSPORT_OCI, .path = path, .tag = tag, .text = "oci:test"
	};
	struct error err = { 0 };

	assert_ok(image_open(&name, NULL, out, &err), err);
}

static int unpack(const char *dir, const char *text, struct unpack_result *out, struct error *err)
{
	cleanup_free char *layout = xasprintf("%s/image", dir), *root = xasprintf("%s/root", dir);
	cleanup_image struct image image = { 0 };

	test_image(layout, "1", text);
	open_at(layout, "1", &image);
	return image_unpack(&image, root, out, err);
}

static void check_file(const char *dir, const char *path, const char *content)
{
	cleanup_free char *full = xasprintf("%s/root/%s", dir, path);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, full, 1000, &text, &err), err);
	assert_string_equal(strbuf_text(&text), content);
}

static bool is_there(const char *dir, const char *path)
{
	cleanup_free char *full = xasprintf("%s/root/%s", dir, path);
	struct stat st;

	return lstat(full, &st) == 0;
}

static void test_whiteouts_links_and_modes_are_those_of_a_container(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *closed = xasprintf("%s/root/closed", dir);
	struct unpack_result result;
	struct error err = { 0 };
	struct stat st;

	(void)state;
	assert_ok(
		unpack(dir,
		       "layer\ndir closed 0555\nfile closed/in =1\nfile gone =x\nfile lost =kept\n"
		       "hard first -> lost\nhard second -> lost\nlink l -> closed/in\n"
		       "layer\nwhiteout gone\nwhiteout lost\nfile l2 =2\n",
		       &result, &err),
		err);
	check_file(dir, "closed/in", "1");
	check_file(dir, "l", "1");
	check_file(dir, "first", "kept");
	check_file(dir, "second", "kept");
	assert_false(is_there(dir, "gone"));
	assert_false(is_there(dir, "lost"));
	assert_int_equal(stat(closed, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0555);
	assert_int_equal(st.st_mtime, 315532800);
	chmod(closed, 0755);
}

static void test_nothing_is_written_outside(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *outside = xasprintf("%s/outside", dir), *text = NULL;
	struct unpack_result result;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(mkdir(outside, 0755), 0);
	text = xasprintf("layer\nlink out -> %s\nlink up -> ../outside\n"
			 "layer\nfile out/a =1\nfile up/b =2\n",
			 outside);
	assert_ok(unpack(dir, text, &result, &err), err);
	assert_int_equal(rmdir(outside), 0); /* still empty */
}

static void test_unsafe_names_are_refused_and_leave_nothing(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct unpack_result result;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(unpack(dir, "layer\nfile ../x =1\n", &result, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_false(is_there(dir, ""));
}

static void test_a_folder_that_holds_something_is_left_alone(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *root = xasprintf("%s/root", dir), *file = xasprintf("%s/mine", root);
	struct unpack_result result;
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_mkdirs(AT_FDCWD, root, &err), err);
	assert_ok(fs_write(AT_FDCWD, file, slice_str("m"), 0644, &err), err);
	assert_int_equal(unpack(dir, "layer\nfile a =1\n", &result, &err), -1);
	assert_int_equal(err.code, ERROR_USAGE);
	check_file(dir, "mine", "m");
}

static void test_a_layer_that_lies_leaves_no_folder(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct unpack_result result;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(unpack(dir, "layer\nfault diff_id\nfile a =1\n", &result, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_false(is_there(dir, ""));
}

static const char two_layers[] =
	"env A=b\ncmd run\nlayer gzip\nfile a =1\nlayer zstd\nfile b *5000\n"
	"layer gzip\nfile a =1\n";

static void write_archive(const char *dir, const uint64_t *sizes, struct strbuf *out,
			  struct error *err, int want)
{
	cleanup_free char *layout = xasprintf("%s/image", dir);
	cleanup_image struct image image = { 0 };
	cleanup_sink struct sink *sink = sink_memory(out);

	test_image(layout, "1", two_layers);
	open_at(layout, "1", &image);
	assert_int_equal(docker_archive_write(&image, sizes, "example.org/a:1", sink, err), want);
}

static const uint64_t right_sizes[] = { 2048, 6656, 2048 };

static void test_a_docker_archive_reads_as_the_same_image(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *layout = xasprintf("%s/image", dir), *file = xasprintf("%s/a.tar", dir);
	cleanup_image struct image first = { 0 }, second = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct image_name name = { .transport = TRANSPORT_DOCKER_ARCHIVE,
				   .path = file,
				   .tag = "example.org/a:1",
				   .text = "archive" };
	struct error err = { 0 };

	(void)state;
	write_archive(dir, right_sizes, &text, &err, 0);
	assert_ok(fs_write(AT_FDCWD, file, strbuf_slice(&text), 0644, &err), err);
	assert_ok(image_open(&name, NULL, &second, &err), err);
	open_at(layout, "1", &first);
	assert_string_equal(strbuf_text(&first.config_text), strbuf_text(&second.config_text));
	for (size_t i = 0; i < 3; i++) {
		cleanup_stream struct stream *plain = image_layer(&second, i, &err);

		assert_ok(plain ? stream_drain(plain, NULL, &err) : -1, err);
	}
}

static void test_a_layer_of_another_size_spoils_the_archive(void **state)
{
	static const uint64_t wrong[] = { 2048, 6144, 2048 };
	cleanup_test_dir char *dir = test_dir();
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	(void)state;
	write_archive(dir, wrong, &text, &err, -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "layer 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whiteouts_links_and_modes_are_those_of_a_container),
		cmocka_unit_test(test_nothing_is_written_outside),
		cmocka_unit_test(test_unsafe_names_are_refused_and_leave_nothing),
		cmocka_unit_test(test_a_folder_that_holds_something_is_left_alone),
		cmocka_unit_test(test_a_layer_that_lies_leaves_no_folder),
		cmocka_unit_test(test_a_docker_archive_reads_as_the_same_image),
		cmocka_unit_test(test_a_layer_of_another_size_spoils_the_archive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
