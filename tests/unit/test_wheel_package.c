#include "tests/support/test.h"

#include "builder/sources/package_source.h"
#include "formats/wheel_meta.h"
#include "tests/support/zip.h"

#define SITE "usr/local/lib/python3.11/dist-packages"
#define INFO "demo-1.0.dist-info"
#define WHEEL_1 "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

/* A file of a wheel; `record` instead of its right row, "" for no row. NULL text ends a list. */
struct file {
	const char *name, *text;
	uint32_t mode;
	const char *record;
};

struct fixture {
	char *dir;
	struct store *store;
	struct wheel_placing placing;
	struct lock_input input;
};

static void fixture_release(struct fixture *f)
{
	store_close(f->store);
	test_dir_free(f->dir);
}

static struct fixture fixture_new(void)
{
	struct error err = { 0 };
	struct fixture f = {
		.dir = test_dir(),
		.placing = { .site = SITE,
			     .scripts = "usr/local/bin",
			     .prefix = "usr/local",
			     .headers = "usr/include/python3.11",
			     .python = "/usr/bin/python3.11",
			     .profile = PROFILE_RUNTIME },
		.input = { .kind = LOCK_WHEEL,
			   .stage = "runtime",
			   .source = "pip",
			   .name = "demo",
			   .version = "1.0",
			   .arch = "" },
	};

	f.store = store_open(f.dir, &err);
	assert_non_null(f.store);
	return f;
}

/* The wheel of these files; its RECORD is made unless a file of that name is among them. */
static struct component *open_files(struct fixture *f, const struct file *files, struct error *err)
{
	cleanup_zip_maker struct zip_maker m = { 0 };
	cleanup_strbuf struct strbuf record = { 0 };
	cleanup_store_put struct store_pending put = { .file = { .fd = -1 } };
	bool made = true;

	for (const struct file *e = files; e->text; e++) {
		struct digest d = digest_of(slice_str(e->text));

		zip_add(&m, &(struct zip_spec){ .name = e->name,
						.text = e->text,
						.mode = e->mode,
						.deflated = strlen(e->text) > 20 });
		made = made && !str_ends(e->name, ".dist-info/RECORD");
		if (e->record)
			strbuf_adds(&record, e->record);
		else if (!str_ends(e->name, "/"))
			wheel_record_line(&record, e->name, &d, strlen(e->text));
	}
	strbuf_adds(&record, INFO "/RECORD,,\n");
	if (made)
		zip_add(&m,
			&(struct zip_spec){ .name = INFO "/RECORD", .text = strbuf_text(&record) });
	zip_end(&m, false, "");
	assert_ok(store_put_open(f->store, &put, err), *err);
	assert_ok(sink_write(put.sink, m.file.data, m.file.len, err), *err);
	assert_ok(store_put_commit(&put, NULL, UINT64_MAX, &f->input.digest, &f->input.size, err),
		  *err);
	return wheel_open(f->store, &f->input, &f->placing, err);
}

/* The same with WHEEL and METADATA before them. */
static struct component *open_demo(struct fixture *f, const struct file *files, struct error *err)
{
	struct file all[32] = { { .name = INFO "/WHEEL", .text = WHEEL_1 },
				{ .name = INFO "/METADATA",
				  .text = "Name: demo\nVersion: 1.0\n" } };

	for (size_t i = 0; files[i].text; i++) {
		assert_true(i + 3 < ARRAY_LEN(all));
		all[i + 2] = files[i];
	}
	return open_files(f, all, err);
}

static const struct component_entry *find(const struct component *c, const char *path)
{
	for (size_t i = 0; i < c->entries.len; i++) {
		if (str_equal(c->entries.items[i].tar.path, path))
			return &c->entries.items[i];
	}
	return NULL;
}

static void content_of(const struct component *c, const char *path, struct strbuf *out)
{
	const struct component_entry *e = find(c, path);
	struct error err = { 0 };
	cleanup_stream struct stream *s = NULL;

	if (!e)
		fail_msg("there is no %s", path);
	s = content_open(&e->content, e->tar.size, &err);
	assert_non_null(s);
	assert_ok(stream_read_all(s, MIB, out, &err), err);
}

static void assert_text(const struct component *c, const char *path, const char *text)
{
	cleanup_strbuf struct strbuf got = { 0 };

	content_of(c, path, &got);
	assert_string_equal(strbuf_text(&got), text);
}

static void assert_refused(const struct file *files, enum error_code code, const char *part)
{
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);

	if (c)
		fail_msg("accepted, without: %s", part);
	assert_contains(err.text, part);
	assert_contains(err.text, "wheel demo 1.0");
	assert_int_equal(err.code, code);
}

static void test_each_scheme_has_its_place(void **state)
{
	static const struct file files[] = {
		{ .name = "demo/__init__.py", .text = "a" },
		{ .name = "demo-1.0.data/purelib/pure.py", .text = "b" },
		{ .name = "demo-1.0.data/platlib/plat.so", .text = "c" },
		{ .name = "demo-1.0.data/data/share/demo/x", .text = "d" },
		{ .name = "demo-1.0.data/headers/demo.h", .text = "e" },
		{ .name = "demo-1.0.data/scripts/tool", .text = "f" },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);

	(void)state;
	assert_ok(c ? 0 : -1, err);
	assert_text(c, SITE "/demo/__init__.py", "a");
	assert_text(c, SITE "/pure.py", "b");
	assert_text(c, SITE "/plat.so", "c");
	assert_text(c, "usr/local/share/demo/x", "d");
	assert_text(c, "usr/include/python3.11/demo/demo.h", "e");
	assert_text(c, "usr/local/bin/tool", "f");
	assert_int_equal(c->entries.len, 6 + 4); /* WHEEL, METADATA, INSTALLER, RECORD */
	assert_false(c->toolkit);
}

static void test_modes_come_from_the_executable_bit_alone(void **state)
{
	static const struct file files[] = {
		{ .name = "demo/run", .text = "a", .mode = 0100700 },
		{ .name = "demo/odd", .text = "b", .mode = 0106666 },
		{ .name = "demo/none", .text = "c" },
		{ .name = "demo-1.0.data/scripts/tool", .text = "d", .mode = 0100600 },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);

	(void)state;
	assert_ok(c ? 0 : -1, err);
	assert_int_equal(find(c, SITE "/demo/run")->tar.mode, 0755);
	assert_int_equal(find(c, SITE "/demo/odd")->tar.mode, 0644);
	assert_int_equal(find(c, SITE "/demo/none")->tar.mode, 0644);
	assert_int_equal(find(c, "usr/local/bin/tool")->tar.mode, 0755);
	for (size_t i = 0; i < c->entries.len; i++) {
		assert_int_equal(c->entries.items[i].tar.uid, 0);
		assert_int_equal(c->entries.items[i].tar.gid, 0);
	}
}

static void test_python_scripts_get_the_interpreter_and_others_stay(void **state)
{
	static const struct file files[] = {
		{ .name = "demo-1.0.data/scripts/a", .text = "#!python\nimport demo\n" },
		{ .name = "demo-1.0.data/scripts/b", .text = "#!pythonw\r\nx\n" },
		{ .name = "demo-1.0.data/scripts/c", .text = "#!/bin/sh\necho\n" },
		{ .name = "demo-1.0.data/scripts/d", .text = "#!python" },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);

	(void)state;
	assert_ok(c ? 0 : -1, err);
	assert_text(c, "usr/local/bin/a", "#!/usr/bin/python3.11\nimport demo\n");
	assert_text(c, "usr/local/bin/b", "#!/usr/bin/python3.11\nx\n");
	assert_text(c, "usr/local/bin/c", "#!/bin/sh\necho\n");
	assert_text(c, "usr/local/bin/d", "#!/usr/bin/python3.11\n");
}

static void test_entry_points_become_programs(void **state)
{
	static const struct file files[] = {
		{ .name = INFO "/entry_points.txt",
		  .text = "[console_scripts]\ndemo = demo.cli:main\n[gui_scripts]\nwin = "
			  "demo:App.run\n" },
		{ .name = "demo-1.0.data/scripts/demo", .text = "the wheel's own" },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);

	(void)state;
	assert_ok(c ? 0 : -1, err);
	assert_text(c, "usr/local/bin/demo",
		    "#!/usr/bin/python3.11\nimport sys\nfrom demo.cli import main\n"
		    "if __name__ == \"__main__\":\n    sys.exit(main())\n");
	assert_int_equal(find(c, "usr/local/bin/demo")->tar.mode, 0755);
	assert_non_null(find(c, "usr/local/bin/win"));
}

/* Every row of the written RECORD is what lies there, and every file has a row. */
static void test_the_new_record_tells_what_is_installed(void **state)
{
	static const struct file files[] = {
		{ .name = "demo/", .text = "" },
		{ .name = "demo/a,b.py", .text = "x" },
		{ .name = "demo-1.0.data/scripts/tool", .text = "#!python\n" },
		{ .name = "demo-1.0.data/data/etc/demo.conf", .text = "y" },
		{ .name = INFO "/INSTALLER", .text = "pip\n" },
		{ .name = INFO "/REQUESTED", .text = "?" },
		{ .name = INFO "/direct_url.json", .text = "{}" },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new();
	cleanup_strbuf struct strbuf text = { 0 }, want = { 0 };
	struct error err = { 0 };
	cleanup_component struct component *c = NULL;
	struct digest d;

	(void)state;
	f.input.requested = true;
	c = open_demo(&f, files, &err);
	assert_ok(c ? 0 : -1, err);
	d = digest_of(slice_str("x"));
	wheel_record_line(&want, "demo/a,b.py", &d, 1);
	d = digest_of(slice_str("#!/usr/bin/python3.11\n"));
	wheel_record_line(&want, "../../../bin/tool", &d, 22);
	d = digest_of(slice_str("y"));
	wheel_record_line(&want, "../../../etc/demo.conf", &d, 1);
	d = digest_of(slice_str("gpuimg\n"));
	wheel_record_line(&want, INFO "/INSTALLER", &d, 7);
	d = digest_of(slice_str("Name: demo\nVersion: 1.0\n"));
	wheel_record_line(&want, INFO "/METADATA", &d, 24);
	wheel_record_line(&want, INFO "/RECORD", NULL, 0);
	d = digest_of(slice_str(""));
	wheel_record_line(&want, INFO "/REQUESTED", &d, 0);
	d = digest_of(slice_str(WHEEL_1));
	wheel_record_line(&want, INFO "/WHEEL", &d, strlen(WHEEL_1));
	content_of(c, SITE "/" INFO "/RECORD", &text);
	assert_string_equal(strbuf_text(&text), strbuf_text(&want));
	assert_text(c, SITE "/" INFO "/INSTALLER", "gpuimg\n");
	assert_text(c, SITE "/" INFO "/REQUESTED", "");
	assert_null(find(c, SITE "/" INFO "/direct_url.json"));
}

static void test_only_what_the_manifest_names_is_marked_requested(void **state)
{
	static const struct file files[] = { { 0 } };
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);

	(void)state;
	assert_ok(c ? 0 : -1, err);
	assert_null(find(c, SITE "/" INFO "/REQUESTED"));
	assert_false(c->requested);
}

static void test_a_directory_entry_places_nothing(void **state)
{
	static const struct file files[] = { { .name = "demo/empty/", .text = "" }, { 0 } };
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);

	(void)state;
	assert_ok(c ? 0 : -1, err);
	assert_null(find(c, SITE "/demo/empty"));
}

static const struct file toolkit_files[] = {
	{ .name = "nvidia/__init__.py", .text = "" },
	{ .name = "nvidia/cu13/__init__.py", .text = "" },
	{ .name = "nvidia/cu13/lib/libx.so.1", .text = "lib", .mode = 0100755 },
	{ .name = "nvidia/cu13/lib/liby.so.2", .text = "y" },
	{ .name = "nvidia/cu13/lib/liby.so", .text = "INPUT(liby.so.2)" },
	{ .name = "nvidia/cu13/lib/libx_static.a", .text = "a" },
	{ .name = "nvidia/cu13/include/x.h", .text = "h" },
	{ .name = "nvidia/cu13/bin/nvcc", .text = "n", .mode = 0100755 },
	{ .name = INFO "/License.txt", .text = "licence" },
	{ .name = INFO "/licenses/License.txt", .text = "another" },
	{ .name = INFO "/licenses/EULA", .text = "third" },
	{ 0 },
};

static struct component *open_toolkit(struct fixture *f, enum stack_profile profile)
{
	struct error err = { 0 };
	struct component *c;

	f->placing.toolkit = "usr/local/cuda-13.0";
	f->placing.target = "x86_64-linux";
	f->placing.profile = profile;
	c = open_demo(f, toolkit_files, &err);
	assert_ok(c ? 0 : -1, err);
	assert_true(c->toolkit);
	return c;
}

#define LIB "usr/local/cuda-13.0/targets/x86_64-linux/lib"

static void test_a_runtime_toolkit_has_the_libraries_and_licences(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new();
	cleanup_component struct component *c = open_toolkit(&f, PROFILE_RUNTIME);

	(void)state;
	assert_text(c, LIB "/libx.so.1", "lib");
	assert_int_equal(find(c, LIB "/libx.so.1")->tar.mode, 0755);
	assert_text(c, LIB "/liby.so.2", "y");
	assert_text(c, "usr/share/doc/demo/License.txt", "licence");
	assert_text(c, "usr/share/doc/demo/licenses/License.txt", "another");
	assert_text(c, "usr/share/doc/demo/EULA", "third");
	assert_int_equal(c->entries.len, 5);
}

static void test_a_devel_toolkit_has_everything_and_links_for_the_linker(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new();
	cleanup_component struct component *c = open_toolkit(&f, PROFILE_DEVEL);

	(void)state;
	assert_int_equal(find(c, LIB "/libx.so")->tar.type, TAR_SYMLINK);
	assert_string_equal(find(c, LIB "/libx.so")->tar.link, "libx.so.1");
	assert_int_equal(find(c, LIB "/liby.so")->tar.type, TAR_FILE);
	assert_non_null(find(c, LIB "/libx_static.a"));
	assert_text(c, "usr/local/cuda-13.0/targets/x86_64-linux/include/x.h", "h");
	assert_text(c, "usr/local/cuda-13.0/bin/nvcc", "n");
	assert_null(find(c, SITE "/" INFO "/RECORD"));
	assert_int_equal(c->entries.len, 10);
}

static void test_the_key_follows_the_place_and_the_request(void **state)
{
	static const struct file files[] = { { .name = "x.py", .text = "x" }, { 0 } };
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *a = open_demo(&f, files, &err), *b = NULL, *c = NULL,
					   *d = NULL;

	(void)state;
	b = open_demo(&f, files, &err);
	f.input.requested = true;
	c = open_demo(&f, files, &err);
	f.placing.python = "/usr/bin/python3.12";
	d = open_demo(&f, files, &err);
	assert_true(a && b && c && d);
	assert_true(digest_equal(&a->key, &b->key));
	assert_false(digest_equal(&a->key, &c->key));
	assert_false(digest_equal(&c->key, &d->key));
}

static void test_a_file_that_is_not_what_record_says_is_found_when_read(void **state)
{
	static const struct file files[] = {
		{ .name = "x.py",
		  .text = "abc",
		  .record = "x.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,3\n" },
		{ 0 },
	};
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = open_demo(&f, files, &err);
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_stream struct stream *s = NULL;
	const struct component_entry *e;

	(void)state;
	assert_ok(c ? 0 : -1, err);
	e = find(c, SITE "/x.py");
	s = content_open(&e->content, e->tar.size, &err);
	assert_non_null(s);
	assert_int_equal(stream_read_all(s, MIB, &text, &err), -1);
	assert_int_equal(err.code, ERROR_INTEGRITY);
}

static void test_a_script_that_is_not_what_record_says_is_refused(void **state)
{
	static const struct file files[] = {
		{ .name = "demo-1.0.data/scripts/x",
		  .text = "abc",
		  .record = "demo-1.0.data/scripts/x,"
			    "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,3\n" },
		{ 0 },
	};

	(void)state;
	assert_refused(files, ERROR_INTEGRITY, "demo-1.0.data/scripts/x is not what RECORD says");
}

static void test_a_size_that_differs_from_record_is_refused(void **state)
{
	static const struct file files[] = {
		{ .name = "x.py",
		  .text = "abc",
		  .record = "x.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,4\n" },
		{ 0 },
	};

	(void)state;
	assert_refused(files, ERROR_INTEGRITY, "x.py holds 3 bytes, RECORD says 4");
}

static void test_files_and_record_name_the_same(void **state)
{
	static const struct file extra[] = { { .name = "x.py", .text = "abc", .record = "" },
					     { 0 } };
	static const struct file missing[] = {
		{ .name = "x.py",
		  .text = "abc",
		  .record = "y.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n" },
		{ .name = "x.py2", .text = "", .record = "x.py,,\n" },
		{ 0 },
	};
	static const struct file folder[] = { { .name = "x/", .text = "", .record = "x,,\n" },
					      { 0 } };

	(void)state;
	assert_refused(extra, ERROR_FORMAT, "x.py is not in RECORD");
	assert_refused(missing, ERROR_FORMAT, "x.py is not in RECORD");
	assert_refused(folder, ERROR_FORMAT, "RECORD names x, which is missing");
}

static void test_rows_without_a_good_hash_are_refused(void **state)
{
	static const struct file none[] = { { .name = "x", .text = "", .record = "x,,\n" }, { 0 } };
	static const struct file md5[] = {
		{ .name = "x", .text = "", .record = "x,md5=1B2M2Y8AsgTpgAmY7PhCfg,0\n" }, { 0 }
	};
	static const struct file up[] = { { .name = "x", .text = "", .record = "../x,,\n" },
					  { 0 } };

	(void)state;
	assert_refused(none, ERROR_FORMAT, "x is not in RECORD with a hash");
	assert_refused(md5, ERROR_FORMAT, "md5=");
	assert_refused(up, ERROR_FORMAT, "unsafe path '../x'");
}

static void test_hostile_archives_are_refused(void **state)
{
	static const struct file up[] = { { .name = "demo/../../x", .text = "" }, { 0 } };
	static const struct file data_up[] = {
		{ .name = "demo-1.0.data/data/../../../etc/x", .text = "" }, { 0 }
	};
	static const struct file absolute[] = { { .name = "/etc/x", .text = "" }, { 0 } };
	static const struct file link[] = {
		{ .name = "demo/l", .text = "/etc/passwd", .mode = 0120777 }, { 0 }
	};

	(void)state;
	assert_refused(up, ERROR_FORMAT, "demo/../../x");
	assert_refused(data_up, ERROR_FORMAT, "..");
	assert_refused(absolute, ERROR_FORMAT, "/etc/x");
	assert_refused(link, ERROR_FORMAT, "demo/l");
}

static void test_unknown_schemes_are_refused(void **state)
{
	static const struct file unknown[] = { { .name = "demo-1.0.data/root/x", .text = "" },
					       { 0 } };
	static const struct file none[] = { { .name = "demo-1.0.data/x", .text = "" }, { 0 } };

	(void)state;
	assert_refused(unknown, ERROR_FORMAT, "'root' is no known scheme");
	assert_refused(none, ERROR_FORMAT, "lies in no scheme folder");
}

static void test_two_files_for_one_place_are_refused(void **state)
{
	static const struct file files[] = {
		{ .name = "x.py", .text = "a" },
		{ .name = "demo-1.0.data/platlib/x.py", .text = "b" },
		{ 0 },
	};

	(void)state;
	assert_refused(files, ERROR_FORMAT, "brings two files for /" SITE "/x.py");
}

static void test_two_dist_info_folders_are_refused(void **state)
{
	static const struct file files[] = { { .name = "other-2.dist-info/METADATA", .text = "" },
					     { 0 } };

	(void)state;
	assert_refused(files, ERROR_FORMAT, "two .dist-info folders");
}

/* Files alone, without those that open_demo adds. */
static void assert_files_refused(const struct file *files, const char *name, const char *part)
{
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = NULL;

	f.input.name = name;
	c = open_files(&f, files, &err);
	if (c)
		fail_msg("accepted, without: %s", part);
	assert_contains(err.text, part);
	assert_int_equal(err.code, ERROR_FORMAT);
}

static void test_what_is_no_wheel_of_version_1_is_refused(void **state)
{
	static const struct file version[] = {
		{ .name = INFO "/WHEEL", .text = "Root-Is-Purelib: true\nWheel-Version: 2.0\n" },
		{ 0 }
	};
	static const struct file none[] = { { .name = INFO "/WHEEL", .text = "Tag: x\n" }, { 0 } };
	static const struct file missing[] = { { .name = "x.py", .text = "" }, { 0 } };
	static const struct file no_info[] = { { .name = "x.py", .text = "" },
					       { .name = "other/.dist-info/RECORD", .text = "" },
					       { 0 } };
	/* what lies deeper is no RECORD of the wheel */
	static const struct file no_record[] = { { .name = INFO "/WHEEL", .text = WHEEL_1 },
						 { .name = INFO "/METADATA",
						   .text = "Name: demo\nVersion: 1.0\n" },
						 { .name = "demo/x.dist-info/RECORD", .text = "" },
						 { 0 } };
	static const struct file good[] = { { .name = INFO "/WHEEL", .text = WHEEL_1 }, { 0 } };

	(void)state;
	assert_files_refused(version, "demo", "Wheel-Version '2.0'");
	assert_files_refused(none, "demo", "Wheel-Version ''");
	assert_files_refused(missing, "demo", "WHEEL is missing");
	assert_files_refused(no_record, "demo", "RECORD is missing");
	assert_files_refused(no_info, "demo", "no .dist-info folder");
	assert_files_refused(good, "another", "is the distribution demo, not another");
}

static void test_names_agree_after_normalisation(void **state)
{
	static const struct file files[] = {
		{ .name = "NVIDIA_cuda.X-1.0.dist-info/WHEEL", .text = WHEEL_1, .record = "" },
		{ .name = "NVIDIA_cuda.X-1.0.dist-info/RECORD", .text = "", .record = "" },
		{ 0 }
	};
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };
	cleanup_component struct component *c = NULL;

	(void)state;
	f.input.name = "nvidia-cuda-x";
	c = open_files(&f, files, &err);
	assert_null(c);
	assert_contains(err.text, "WHEEL is not in RECORD"); /* past the check of names */
}

static void test_bad_entry_points_are_refused(void **state)
{
	static const struct file files[] = { { .name = INFO "/entry_points.txt",
					       .text = "[console_scripts]\n../../x = m:f\n" },
					     { 0 } };

	(void)state;
	assert_refused(files, ERROR_FORMAT, "entry_points.txt line 2");
}

static void test_an_input_that_is_not_in_the_store_is_named(void **state)
{
	cleanup(fixture_release) struct fixture f = fixture_new();
	struct error err = { 0 };

	(void)state;
	f.input.digest = digest_of(slice_str("nothing"));
	f.input.size = 7;
	assert_null(wheel_open(f.store, &f.input, &f.placing, &err));
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	assert_contains(err.text, "wheel demo 1.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_scheme_has_its_place),
		cmocka_unit_test(test_modes_come_from_the_executable_bit_alone),
		cmocka_unit_test(test_python_scripts_get_the_interpreter_and_others_stay),
		cmocka_unit_test(test_entry_points_become_programs),
		cmocka_unit_test(test_the_new_record_tells_what_is_installed),
		cmocka_unit_test(test_only_what_the_manifest_names_is_marked_requested),
		cmocka_unit_test(test_a_directory_entry_places_nothing),
		cmocka_unit_test(test_a_runtime_toolkit_has_the_libraries_and_licences),
		cmocka_unit_test(test_a_devel_toolkit_has_everything_and_links_for_the_linker),
		cmocka_unit_test(test_the_key_follows_the_place_and_the_request),
		cmocka_unit_test(test_a_file_that_is_not_what_record_says_is_found_when_read),
		cmocka_unit_test(test_a_script_that_is_not_what_record_says_is_refused),
		cmocka_unit_test(test_a_size_that_differs_from_record_is_refused),
		cmocka_unit_test(test_files_and_record_name_the_same),
		cmocka_unit_test(test_rows_without_a_good_hash_are_refused),
		cmocka_unit_test(test_hostile_archives_are_refused),
		cmocka_unit_test(test_unknown_schemes_are_refused),
		cmocka_unit_test(test_two_files_for_one_place_are_refused),
		cmocka_unit_test(test_two_dist_info_folders_are_refused),
		cmocka_unit_test(test_what_is_no_wheel_of_version_1_is_refused),
		cmocka_unit_test(test_names_agree_after_normalisation),
		cmocka_unit_test(test_bad_entry_points_are_refused),
		cmocka_unit_test(test_an_input_that_is_not_in_the_store_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
