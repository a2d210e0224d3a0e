#include "tests/support/test.h"

#include <lzma.h>

#include "builder/sources/package_source.h"
#include "formats/tar_write.h"
#include "tests/support/zip.h"

#define TOP "libcublas-linux-x86_64-13.1.0.3-archive/"
#define LIB "usr/local/cuda-13.0/targets/x86_64-linux/lib/"
#define ROOT "usr/local/cuda-13.0/"

/* An entry of an archive; the type is TAR_FILE unless said. A NULL path ends a list. */
struct file {
	const char *path, *text;
	enum tar_type type;
	uint32_t mode;
};

struct fixture {
	char *dir;
	struct store *store;
	struct redist_placing placing;
	struct lock_input input;
};

static void fixture_release(struct fixture *f)
{
	store_close(f->store);
	test_dir_free(f->dir);
}

static struct fixture fixture_new(enum stack_profile profile)
{
	struct error err = { 0 };
	struct fixture f = {
		.dir = test_dir(),
		.placing = { .toolkit = "usr/local/cuda-13.0",
			     .target = "x86_64-linux",
			     .profile = profile },
		.input = { .kind = LOCK_REDIST,
			   .stage = "runtime",
			   .source = "redist",
			   .name = "libcublas",
			   .version = "13.1.0.3",
			   .arch = "linux-x86_64",
			   .license = "CUDA Toolkit",
			   .url = "https://mirror.example/cuda/redist/libcublas/x-archive.tar.xz" },
	};

	f.store = store_open(f.dir, &err);
	assert_non_null(f.store);
	return f;
}

static void make_tar(const struct file *files, struct strbuf *out)
{
	cleanup_sink struct sink *sink = sink_memory(out);
	struct error err = { 0 };

	for (const struct file *e = files; e->path; e++) {
		struct tar_entry tar = { .type = e->type,
					 .path = e->path,
					 .link = "",
					 .mode = e->mode ? e->mode : 0644,
					 .mtime = 1700000000,
					 .uid = 1000,
					 .gid = 1000 };
		cleanup_stream struct stream *content = stream_memory(slice_str(e->text));

		if (e->type == TAR_FILE)
			tar.size = strlen(e->text);
		else
			tar.link = e->text;
		assert_ok(tar_write_entry(sink, &tar, e->type == TAR_FILE ? content : NULL, &err),
			  err);
	}
	assert_ok(tar_write_end(sink, &err), err);
}

static void store(struct fixture *f, struct slice bytes)
{
	cleanup_store_put struct store_pending put = { .file = { .fd = -1 } };
	struct error err = { 0 };

	assert_ok(store_put_open(f->store, &put, &err), err);
	assert_ok(sink_write(put.sink, bytes.data, bytes.len, &err), err);
	assert_ok(store_put_commit(&put, NULL, UINT64_MAX, &f->input.digest, &f->input.size, &err),
		  err);
}

static struct component *open_files(struct fixture *f, const struct file *files, struct error *err)
{
	cleanup_strbuf struct strbuf tar = { 0 };

	make_tar(files, &tar);
	store(f, strbuf_slice(&tar));
	return redist_open(f->store, &f->input, &f->placing, err);
}

static const struct component_entry *find(const struct component *c, const char *path)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		if (str_equal(c->entries.items[i].tar.path, path))
			return &c->entries.items[i];
	}
	return NULL;
}

static void assert_text(const struct component *c, const char *path, const char *text)
{
	const struct component_entry *e = find(c, path);
	cleanup_stream struct stream *s = NULL;
	cleanup_strbuf struct strbuf got = { 0 };
	struct error err = { 0 };

	if (!e)
		fail_msg("there is no %s", path);
	s = content_open(&e->content, e->tar.size, &err);
	assert_non_null(s);
	assert_ok(stream_read_all(s, MIB, &got, &err), err);
	assert_string_equal(strbuf_text(&got), text);
}

static void assert_link(const struct component *c, const char *path, const char *target)
{
	const struct component_entry *e = find(c, path);

	if (!e)
		fail_msg("there is no %s", path);
	assert_int_equal(e->tar.type, TAR_SYMLINK);
	assert_string_equal(e->tar.link, target);
}

static const struct file cublas[] = {
	{ TOP, "", TAR_DIR, 0755 },
	{ TOP "LICENSE", "the licence", TAR_FILE, 0 },
	{ TOP "lib", "", TAR_DIR, 0755 },
	{ TOP "lib/libcublas.so", "libcublas.so.13", TAR_SYMLINK, 0777 },
	{ TOP "lib/libcublas.so.13", "libcublas.so.13.1.0.3", TAR_SYMLINK, 0777 },
	{ TOP "lib/libcublas.so.13.1.0.3", "code", TAR_FILE, 0755 },
	{ TOP "lib/libcublas_static.a", "archive", TAR_FILE, 0 },
	{ TOP "lib/stubs/libcublas.so", "stub", TAR_FILE, 0755 },
	{ TOP "include/cublas.h", "header", TAR_FILE, 0 },
	{ TOP "include/deep/link.h", "../cublas.h", TAR_SYMLINK, 0777 },
	{ TOP "pkg-config/cublas.pc", "pc", TAR_FILE, 0 },
	{ TOP "bin/tool", "tool", TAR_FILE, 0755 },
	{ TOP "bin/header.h", "../include/cublas.h", TAR_SYMLINK, 0777 },
	{ TOP "nvvm/libdevice/libdevice.10.bc", "bitcode", TAR_FILE, 0 },
	{ TOP "samples/a.cu", "sample", TAR_FILE, 0 },
	{ 0 },
};

static void test_the_runtime_profile_takes_libraries_and_the_licence(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	struct error err = { 0 };
	cleanup_component struct component *c = open_files(&f, cublas, &err);

	(void)state;
	if (!c)
		fail_msg("%s", err.text);
	assert_int_equal(c->entries.len, 3);
	assert_text(c, LIB "libcublas.so.13.1.0.3", "code");
	assert_link(c, LIB "libcublas.so.13", "libcublas.so.13.1.0.3");
	assert_text(c, "usr/share/doc/libcublas/LICENSE", "the licence");
	assert_string_equal(c->license, "CUDA Toolkit");
	assert_true(c->toolkit);
}

static void test_the_devel_profile_takes_all_but_samples(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_DEVEL);
	struct error err = { 0 };
	cleanup_component struct component *c = open_files(&f, cublas, &err);

	(void)state;
	if (!c)
		fail_msg("%s", err.text);
	assert_link(c, LIB "libcublas.so", "libcublas.so.13");
	assert_text(c, LIB "stubs/libcublas.so", "stub");
	assert_text(c, LIB "libcublas_static.a", "archive");
	assert_text(c, ROOT "targets/x86_64-linux/include/cublas.h", "header");
	assert_text(c, ROOT "pkg-config/cublas.pc", "pc");
	assert_text(c, ROOT "bin/tool", "tool");
	assert_text(c, ROOT "nvvm/libdevice/libdevice.10.bc", "bitcode");
	assert_null(find(c, ROOT "samples/a.cu"));
}

static void test_links_between_folders_are_written_for_their_new_places(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_DEVEL);
	struct error err = { 0 };
	cleanup_component struct component *c = open_files(&f, cublas, &err);

	(void)state;
	if (!c)
		fail_msg("%s", err.text);
	assert_link(c, ROOT "bin/header.h", "../targets/x86_64-linux/include/cublas.h");
	assert_link(c, ROOT "targets/x86_64-linux/include/deep/link.h", "../cublas.h");
}

static void test_owner_and_mode_are_those_of_an_installation(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_DEVEL);
	struct error err = { 0 };
	cleanup_component struct component *c = open_files(&f, cublas, &err);
	const struct component_entry *e = c ? find(c, ROOT "bin/tool") : NULL;

	(void)state;
	assert_non_null(e);
	assert_int_equal(e->tar.uid, 0);
	assert_int_equal(e->tar.gid, 0);
	assert_int_equal(e->tar.mode, 0755);
	assert_int_equal(e->tar.mtime, 1700000000);
	assert_int_equal(find(c, LIB "libcublas_static.a")->tar.mode, 0644);
}

static void test_programs_and_libdevice_are_kept_for_a_component_that_is_named(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	struct error err = { 0 };
	cleanup_component struct component *c = NULL;

	(void)state;
	f.input.requested = true;
	c = open_files(&f, cublas, &err);
	assert_non_null(c);
	assert_text(c, ROOT "bin/tool", "tool");
	assert_text(c, ROOT "nvvm/libdevice/libdevice.10.bc", "bitcode");
	assert_null(find(c, ROOT "targets/x86_64-linux/include/cublas.h"));
}

static void test_lib64_of_an_archive_is_lib(void **state)
{
	static const struct file files[] = { { TOP "lib64/libx.so.1", "x", TAR_FILE, 0 }, { 0 } };
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_BASE);
	struct error err = { 0 };
	cleanup_component struct component *c = open_files(&f, files, &err);

	(void)state;
	assert_non_null(c);
	assert_text(c, LIB "libx.so.1", "x");
}

static void test_a_variant_stands_in_the_top_folder(void **state)
{
	static const struct file files[] = {
		{ "libcublas-linux-x86_64-13.1.0.3_cuda13-archive/lib/libx.so.1", "x", TAR_FILE,
		  0 },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_BASE);
	struct error err = { 0 };
	cleanup_component struct component *c = open_files(&f, files, &err);

	(void)state;
	assert_non_null(c);
	assert_non_null(find(c, LIB "libx.so.1"));
}

static void test_compat_goes_to_the_stacks_toolkit_also_when_it_is_newer(void **state)
{
	static const struct file files[] = {
		{ "cuda_compat-linux-x86_64-615.10.01_cuda13.4-archive/compat/libcuda.so.1", "x",
		  TAR_FILE, 0 },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	struct error err = { 0 };
	cleanup_component struct component *c = NULL;

	(void)state;
	f.input.name = "cuda_compat";
	f.input.version = "615.10.01";
	c = open_files(&f, files, &err);
	if (!c)
		fail_msg("%s", err.text);
	assert_text(c, "usr/local/cuda-13.0/compat/libcuda.so.1", "x");
}

static void test_an_archive_in_xz_is_read(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_free uint8_t *packed = xmalloc(MIB);
	cleanup_component struct component *c = NULL;
	struct error err = { 0 };
	size_t len = 0;

	(void)state;
	make_tar(cublas, &tar);
	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, (uint8_t *)tar.data,
						 tar.len, packed, &len, MIB),
			 LZMA_OK);
	store(&f, slice_of(packed, len));
	c = redist_open(f.store, &f.input, &f.placing, &err);
	if (!c)
		fail_msg("%s", err.text);
	assert_text(c, LIB "libcublas.so.13.1.0.3", "code");
}

static void test_an_archive_in_zip_is_read(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_component struct component *c = NULL;
	struct error err = { 0 };

	(void)state;
	zip_add(&m, &(struct zip_spec){ .name = TOP "LICENSE", .text = "terms" });
	zip_add(&m,
		&(struct zip_spec){ .name = TOP "lib/libx.so.1", .text = "x", .mode = 0100755 });
	zip_end(&m, false, "");
	store(&f, strbuf_slice(&m.file));
	f.input.url = "https://mirror.example/cuda/redist/x.zip";
	c = redist_open(f.store, &f.input, &f.placing, &err);
	if (!c)
		fail_msg("%s", err.text);
	assert_text(c, LIB "libx.so.1", "x");
	assert_text(c, "usr/share/doc/libcublas/LICENSE", "terms");
}

static void test_the_key_moves_with_what_decides_on_the_files(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	struct error err = { 0 };
	cleanup_component struct component *a = open_files(&f, cublas, &err), *b = NULL, *c = NULL;

	(void)state;
	b = open_files(&f, cublas, &err);
	f.placing.profile = PROFILE_DEVEL;
	c = open_files(&f, cublas, &err);
	assert_true(a && b && c);
	assert_true(digest_equal(&a->key, &b->key));
	assert_false(digest_equal(&a->key, &c->key));
}

static void test_another_layout_is_refused(void **state)
{
	static const struct {
		struct file files[3];
		const char *part;
	} cases[] = {
		{ { { "lib/libx.so.1", "x", TAR_FILE, 0 } },
		  "begins with lib/libx.so.1 instead of" },
		{ { { "libcublas-linux-x86_64-13.1.0.4-archive/a", "x", TAR_FILE, 0 } },
		  "instead of the folder libcublas-linux-x86_64-13.1.0.3" },
		{ { { "libcublas-linux-x86_64-13.1.0.30-archive/a", "x", TAR_FILE, 0 } },
		  "begins with" },
		{ { { TOP "LICENSE", "x", TAR_FILE, 0 }, { "other/a", "x", TAR_FILE, 0 } },
		  "has other/a beside its top folder" },
		{ { { TOP "LICENSE", "x", TAR_FILE, 0 }, { "etc", "x", TAR_FILE, 0 } },
		  "has etc beside" },
		{ { { "libcublas-linux-x86_64-13.1.0.3-archive", "x", TAR_FILE, 0 } },
		  "is no folder" },
		{ { { TOP "lib/a.so.1", "../../../etc/passwd", TAR_SYMLINK, 0 } },
		  "lib/a.so.1 is a link out of the archive" },
		{ { { TOP "lib/a.so.1", "/etc/passwd", TAR_SYMLINK, 0 } },
		  "is a link out of the archive" },
		{ { { TOP "lib", "/etc", TAR_SYMLINK, 0 }, { TOP "lib/a.so.1", "x", TAR_FILE, 0 } },
		  "lib/a.so.1 lies below lib, which is no folder" },
		{ { { TOP "lib/a.so.1", "x", TAR_FILE, 0 },
		    { TOP "lib/a.so.1", "y", TAR_FILE, 0 } },
		  "lib/a.so.1 stands there twice" },
		{ { { TOP "lib/a.so.1", "x", TAR_FILE, 0 },
		    { TOP "lib64/a.so.1", "y", TAR_FILE, 0 } },
		  "brings two files for /" LIB "a.so.1" },
		{ { { TOP "lib/p.so.1", "", TAR_FIFO, 0 } }, "is a device node or pipe" },
		{ { { TOP "lib/a.so.1", TOP "lib/none", TAR_HARDLINK, 0 } },
		  "which is no file before it" },
		{ { { 0 } }, "holds nothing" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
		struct error err = { 0 };
		cleanup_component struct component *c = open_files(&f, cases[i].files, &err);

		if (c)
			fail_msg("accepted, without: %s", cases[i].part);
		assert_contains(err.text, cases[i].part);
		assert_contains(err.text, "redist libcublas 13.1.0.3: ");
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static void test_a_path_that_climbs_out_is_refused(void **state)
{
	static const struct file files[] = { { TOP "lib/XX/a.so.1", "x", TAR_FILE, 0 }, { 0 } };
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_component struct component *c = NULL;
	struct error err = { 0 };
	unsigned sum = 0;
	char *name;

	(void)state;
	make_tar(files, &tar);
	name = strstr(tar.data, "XX");
	assert_non_null(name);
	name[0] = name[1] = '.';
	memset(tar.data + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (uint8_t)tar.data[i];
	snprintf(tar.data + 148, 8, "%06o", sum);
	store(&f, strbuf_slice(&tar));
	c = redist_open(f.store, &f.input, &f.placing, &err);
	assert_null(c);
	assert_contains(err.text, "..");
}

static void test_an_archive_that_is_cut_is_refused(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new(PROFILE_RUNTIME);
	cleanup_strbuf struct strbuf tar = { 0 };
	cleanup_component struct component *c = NULL;
	struct error err = { 0 };

	(void)state;
	make_tar(cublas, &tar);
	store(&f, slice_of(tar.data, 1030)); /* within the text of LICENSE */
	c = redist_open(f.store, &f.input, &f.placing, &err);
	assert_null(c);
	assert_contains(err.text, "redist libcublas 13.1.0.3: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_runtime_profile_takes_libraries_and_the_licence),
		cmocka_unit_test(test_the_devel_profile_takes_all_but_samples),
		cmocka_unit_test(test_links_between_folders_are_written_for_their_new_places),
		cmocka_unit_test(test_owner_and_mode_are_those_of_an_installation),
		cmocka_unit_test(
			test_programs_and_libdevice_are_kept_for_a_component_that_is_named),
		cmocka_unit_test(test_lib64_of_an_archive_is_lib),
		cmocka_unit_test(test_a_variant_stands_in_the_top_folder),
		cmocka_unit_test(test_compat_goes_to_the_stacks_toolkit_also_when_it_is_newer),
		cmocka_unit_test(test_an_archive_in_xz_is_read),
		cmocka_unit_test(test_an_archive_in_zip_is_read),
		cmocka_unit_test(test_the_key_moves_with_what_decides_on_the_files),
		cmocka_unit_test(test_another_layout_is_refused),
		cmocka_unit_test(test_a_path_that_climbs_out_is_refused),
		cmocka_unit_test(test_an_archive_that_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
