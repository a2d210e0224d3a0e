#include "tests/support/test.h"

#include "base/process.h"
#include "builder/sources/deb_package.h"
#include "builder/sources/package_source.h"

#define CONTROL                                                                        \
	"Package: demo\nVersion: 1:2-3\nArchitecture: amd64\nSource: demo-src (1:2)\n" \
	"Description: x\n"

/* A tar header of one entry, and its content; written here so that it can be as hostile as needed.
 */
static void add_entry(struct strbuf *tar, char type, const char *name, const char *link,
		      const char *content)
{
	char header[512] = { 0 };
	size_t len = strlen(content);
	unsigned sum = 0;

	snprintf(header, 100, "%s", name);
	snprintf(header + 100, 8, "%07o", 0755);
	snprintf(header + 108, 8, "%07o", 0);
	snprintf(header + 116, 8, "%07o", 0);
	snprintf(header + 124, 12, "%011o", (unsigned)len);
	snprintf(header + 136, 12, "%011o", 1000000u);
	memset(header + 148, ' ', 8);
	header[156] = type;
	snprintf(header + 157, 100, "%s", link);
	memcpy(header + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	strbuf_add(tar, header, sizeof(header));
	strbuf_add(tar, content, len);
	strbuf_add_zeros(tar, (512 - len % 512) % 512);
}

static void add_member(struct strbuf *deb, const char *name, struct slice content)
{
	if (!deb->len)
		strbuf_adds(deb, "!<arch>\n");
	strbuf_addf(deb, "%-16s%-12d%-6d%-6d%-8s%-10zu`\n", name, 0, 0, 0, "100644", content.len);
	strbuf_add(deb, content.data, content.len);
	if (content.len % 2)
		strbuf_addc(deb, '\n');
}

static void add_control(struct strbuf *deb)
{
	cleanup_strbuf struct strbuf tar = { 0 };

	add_entry(&tar, '5', "./", "", "");
	add_entry(&tar, '0', "./control", "", CONTROL);
	add_entry(&tar, '0', "./postinst", "", "#!/bin/sh\nldconfig\n");
	add_entry(&tar, '0', "./conffiles", "", "/etc/demo.conf\n");
	add_entry(&tar, '0', "./md5sums", "", "");
	add_entry(&tar, '0', "./triggers", "", "activate-noawait ldconfig\n");
	add_entry(&tar, '0', "./shlibs", "", "ignored\n");
	strbuf_add_zeros(&tar, 1024);
	add_member(deb, "debian-binary", slice_str("2.0\n"));
	add_member(deb, "control.tar", strbuf_slice(&tar));
}

static void end_deb(struct strbuf *deb, struct strbuf *data)
{
	strbuf_add_zeros(data, 1024);
	add_control(deb);
	add_member(deb, "data.tar", strbuf_slice(data));
	strbuf_release(data);
}

static void make_deb(struct strbuf *deb)
{
	struct strbuf data = { 0 };

	add_entry(&data, '5', "./", "", "");
	add_entry(&data, '5', "./usr/", "", "");
	add_entry(&data, '0', "./usr/hello", "", "hello");
	add_entry(&data, '0', "./usr/empty", "", "");
	add_entry(&data, '1', "./usr/again", "./usr/hello", "");
	add_entry(&data, '2', "./usr/link", "../../etc/passwd", "");
	add_entry(&data, '0', "./usr/world", "", "world!");
	end_deb(deb, &data);
}

static int read_deb(struct slice deb, struct component *c, struct strbuf *content,
		    struct error *err)
{
	cleanup_stream struct stream *file = stream_memory(deb);
	cleanup_sink struct sink *sink = sink_memory(content);

	return deb_read(file, sink, c, err);
}

static void test_a_package_becomes_a_component(void **state)
{
	cleanup_strbuf struct strbuf deb = { 0 }, content = { 0 };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
	struct error err = { 0 };

	(void)state;
	make_deb(&deb);
	assert_ok(read_deb(strbuf_slice(&deb), c, &content, &err), err);
	assert_string_equal(c->name, "demo");
	assert_string_equal(c->version, "1:2-3");
	assert_string_equal(c->arch, "amd64");
	assert_string_equal(c->source_name, "demo-src");
	assert_true(slice_is(c->control, CONTROL));
	assert_true(slice_is(c->conffiles, "/etc/demo.conf\n"));
	assert_true(slice_is(c->triggers, "activate-noawait ldconfig\n"));
	assert_int_equal(c->scripts.len, 1);
	assert_string_equal(c->scripts.items[0].name, "postinst");
	assert_string_equal(c->scripts.items[0].text, "#!/bin/sh\nldconfig\n");
	assert_int_equal(c->entries.len, 6);
	assert_string_equal(strbuf_text(&content), "helloworld!");
}

/* What is left of a package that the host brings. */
static void test_the_record_of_a_package_has_its_documentation_only(void **state)
{
	static const char *const left[] = { "usr",
					    "usr/share",
					    "usr/share/doc",
					    "usr/share/doc/cuda",
					    "usr/share/doc/cuda/copyright",
					    "usr/share/doc/cuda/news" };
	cleanup_strbuf struct strbuf deb = { 0 }, data = { 0 }, tar = { 0 }, content = { 0 };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
	cleanup_stream struct stream *file = NULL;
	cleanup_sink struct sink *sink = sink_memory(&content);
	struct error err = { 0 };

	(void)state;
	add_entry(&tar, '0', "./control", "",
		  "Package: cuda\nVersion: 1\nArchitecture: amd64\nInstalled-Size: 9\n"
		  "depends: a,\n b\nPre-Depends: c\nConflicts: d\nRecommends: e\n"
		  "Suggests: f\nDescription: x\n more\n");
	add_entry(&tar, '0', "./postinst", "", "#!/bin/sh\nldconfig\n");
	add_entry(&tar, '0', "./conffiles", "", "/etc/cuda.conf\n");
	add_entry(&tar, '0', "./triggers", "", "activate-noawait ldconfig\n");
	add_entry(&tar, '0', "./shlibs", "", "libcuda 1 cuda\n");
	add_entry(&tar, '0', "./md5sums", "",
		  "00000000000000000000000000000000  usr/lib/libcuda.so.1\n"
		  "11111111111111111111111111111111  usr/share/doc/cuda/copyright\n");
	strbuf_add_zeros(&tar, 1024);
	add_member(&deb, "debian-binary", slice_str("2.0\n"));
	add_member(&deb, "control.tar", strbuf_slice(&tar));
	add_entry(&data, '5', "./usr/", "", "");
	add_entry(&data, '5', "./usr/lib/", "", "");
	add_entry(&data, '0', "./usr/lib/libcuda.so.1", "", "library");
	add_entry(&data, '5', "./usr/share/", "", "");
	add_entry(&data, '5', "./usr/share/doc/", "", "");
	add_entry(&data, '5', "./usr/share/doc/cuda/", "", "");
	add_entry(&data, '0', "./usr/share/doc/cuda/copyright", "", "text");
	add_entry(&data, '1', "./usr/share/doc/cuda/again", "./usr/lib/libcuda.so.1", "");
	add_entry(&data, '2', "./usr/share/doc/cuda/news", "copyright", "");
	add_entry(&data, '0', "./usr/share/docs", "", "other");
	strbuf_add_zeros(&data, 1024);
	add_member(&deb, "data.tar", strbuf_slice(&data));
	file = stream_memory(strbuf_slice(&deb));
	assert_ok(deb_read_record(file, sink, c, &err), err);
	assert_int_equal(c->entries.len, ARRAY_LEN(left));
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		assert_string_equal(c->entries.items[i].tar.path, left[i]);
	assert_string_equal(strbuf_text(&content), "text");
	assert_true(slice_is(c->control, "Package: cuda\nVersion: 1\nArchitecture: amd64\n"
					 "Conflicts: d\nDescription: x\n more\n"));
	assert_true(slice_is(c->md5sums,
			     "11111111111111111111111111111111  usr/share/doc/cuda/copyright\n"));
	assert_int_equal(c->conffiles.len + c->triggers.len + c->scripts.len + c->controls.len, 0);
}

static void test_entries_are_as_packaged(void **state)
{
	cleanup_strbuf struct strbuf deb = { 0 }, content = { 0 };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
	const struct component_entry *e;
	struct error err = { 0 };

	(void)state;
	make_deb(&deb);
	assert_ok(read_deb(strbuf_slice(&deb), c, &content, &err), err);
	e = c->entries.items;
	assert_int_equal(e[0].tar.type, TAR_DIR);
	assert_string_equal(e[0].tar.path, "usr");
	assert_string_equal(e[1].tar.path, "usr/hello");
	assert_int_equal(e[1].tar.mtime, 1000000);
	assert_int_equal(e[3].tar.type, TAR_HARDLINK);
	assert_string_equal(e[3].tar.link, "usr/hello");
	assert_int_equal(e[4].tar.type, TAR_SYMLINK);
	assert_string_equal(e[4].tar.link, "../../etc/passwd");
	assert_int_equal(e[5].content.kind, CONTENT_RANGE);
	assert_int_equal(e[5].content.offset, 5);
	assert_int_equal(e[5].tar.size, 6);
}

struct hostile {
	char type;
	const char *name, *link;
};

static void expect_refused(const struct hostile *entries, size_t count, const char *part)
{
	cleanup_strbuf struct strbuf deb = { 0 }, content = { 0 };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
	struct strbuf data = { 0 };
	struct error err = { 0 };

	for (size_t i = 0; i < count; i++)
		add_entry(&data, entries[i].type, entries[i].name, entries[i].link, "");
	end_deb(&deb, &data);
	assert_int_equal(read_deb(strbuf_slice(&deb), c, &content, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, part);
}

#define REFUSED(part, ...)                                      \
	expect_refused((const struct hostile[]){ __VA_ARGS__ }, \
		       ARRAY_LEN(((const struct hostile[]){ __VA_ARGS__ })), part)

static void test_names_that_leave_the_root_are_refused(void **state)
{
	(void)state;
	REFUSED("outside", { '0', "../x", "" });
	REFUSED("outside", { '0', "./usr/../../x", "" });
	REFUSED("outside", { '0', "a", "" }, { '1', "b", "../a" });
}

static void test_files_below_a_link_of_the_package_are_refused(void **state)
{
	(void)state;
	REFUSED("no folder in this package", { '2', "./a", "/etc" }, { '0', "./a/passwd", "" });
	REFUSED("no folder in this package", { '0', "./a", "" }, { '0', "./a/b/c", "" });
}

static void test_a_path_twice_is_refused(void **state)
{
	(void)state;
	REFUSED("twice", { '0', "./a", "" }, { '0', "a", "" });
	REFUSED("twice", { '5', "./a", "" }, { '2', "./a", "/etc" });
	REFUSED("twice", { '2', "./a", "/etc" }, { '5', "./a/", "" });
}

static void test_a_hard_link_needs_a_file_before_it(void **state)
{
	(void)state;
	REFUSED("no file before it", { '1', "./a", "./etc/shadow" });
	REFUSED("no file before it", { '2', "./l", "/etc/shadow" }, { '1', "./a", "./l" });
}

static void test_devices_and_pipes_are_refused(void **state)
{
	(void)state;
	REFUSED("device node", { '3', "./null", "" });
	REFUSED("device node", { '4', "./disk", "" });
	REFUSED("device node", { '6', "./pipe", "" });
}

static void test_line_breaks_in_names_are_refused(void **state)
{
	(void)state;
	REFUSED("line break", { '0', "./a\n/etc/passwd", "" });
	REFUSED("line break", { '5', "./a\nb/", "" });
}

static void test_bytes_that_are_no_text_stay_as_they_are(void **state)
{
	cleanup_strbuf struct strbuf deb = { 0 }, content = { 0 };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
	struct strbuf data = { 0 };
	struct error err = { 0 };

	(void)state;
	add_entry(&data, '0', "./\377\t\033[31m", "", "x");
	end_deb(&deb, &data);
	assert_ok(read_deb(strbuf_slice(&deb), c, &content, &err), err);
	assert_string_equal(c->entries.items[0].tar.path, "\377\t\033[31m");
}

static void test_control_without_data_is_refused(void **state)
{
	cleanup_strbuf struct strbuf deb = { 0 }, content = { 0 };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
	struct strbuf data = { 0 };
	struct error err = { 0 };
	size_t whole;

	(void)state;
	end_deb(&deb, &data);
	whole = deb.len;
	/* the last member is data.tar: cut it and its header away */
	for (size_t len = whole; len > 0; len--) {
		if (memcmp(deb.data + len - 8, "data.tar", 8) == 0) {
			strbuf_truncate(&deb, len - 8);
			break;
		}
	}
	assert_true(deb.len < whole);
	assert_int_equal(read_deb(strbuf_slice(&deb), c, &content, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, "data.tar are missing");
}

static void test_absolute_names_stay_within_the_package(void **state)
{
	cleanup_strbuf struct strbuf deb = { 0 }, content = { 0 };
	cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
	struct strbuf data = { 0 };
	struct error err = { 0 };

	(void)state;
	add_entry(&data, '0', "/abs", "", "x");
	end_deb(&deb, &data);
	assert_ok(read_deb(strbuf_slice(&deb), c, &content, &err), err);
	assert_string_equal(c->entries.items[0].tar.path, "abs");
}

static void test_members_come_in_their_order(void **state)
{
	cleanup_strbuf struct strbuf first = { 0 }, none = { 0 }, late = { 0 }, content = { 0 };
	const struct {
		struct strbuf *deb;
		const char *part;
	} cases[] = { { &first, "begin with debian-binary" },
		      { &none, "are missing" },
		      { &late, "not expected" } };

	(void)state;
	add_member(&first, "control.tar", slice_str("x"));
	add_member(&none, "debian-binary", slice_str("2.0\n"));
	add_member(&late, "debian-binary", slice_str("2.0\n"));
	add_member(&late, "data.tar", slice_str("x"));
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
		struct error err = { 0 };

		assert_int_equal(read_deb(strbuf_slice(cases[i].deb), c, &content, &err), -1);
		assert_int_equal(err.code, ERROR_FORMAT);
		assert_contains(err.text, cases[i].part);
	}
}

static void test_every_truncation_is_refused(void **state)
{
	cleanup_strbuf struct strbuf deb = { 0 };
	size_t end;

	(void)state;
	make_deb(&deb);
	end = deb.len - 1024; /* what follows is the padding of data.tar */
	for (size_t len = 0; len < end; len += 7) {
		cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");
		cleanup_strbuf struct strbuf content = { 0 };
		cleanup_free uint8_t *copy = xmemdup(deb.data, len);
		struct error err = { 0 };

		if (read_deb(slice_of(copy, len), c, &content, &err) != -1)
			fail_msg("%zu of %zu bytes pass", len, deb.len);
		assert_int_equal(err.code, ERROR_FORMAT);
	}
}

static struct lock_input put_in_store(struct store *s, struct slice deb)
{
	struct lock_input input = { .kind = LOCK_DEB,
				    .name = "demo",
				    .version = "1:2-3",
				    .arch = "amd64",
				    .stage = "runtime",
				    .requested = true };
	cleanup_store_put struct store_pending p = { 0 };
	struct error err = { 0 };

	assert_ok(store_put_open(s, &p, &err), err);
	assert_ok(sink_write(p.sink, deb.data, deb.len, &err), err);
	assert_ok(store_put_commit(&p, NULL, UINT64_MAX, &input.digest, &input.size, &err), err);
	return input;
}

static void test_a_locked_package_opens_from_the_store(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct error err = { 0 };
	cleanup_store struct store *s = store_open(dir, &err);
	cleanup_strbuf struct strbuf deb = { 0 }, text = { 0 };
	cleanup_component struct component *c = NULL;
	cleanup_stream struct stream *content = NULL;
	struct lock_input input;

	(void)state;
	assert_non_null(s);
	make_deb(&deb);
	input = put_in_store(s, strbuf_slice(&deb));
	c = deb_open(s, &input, &err);
	assert_ok(c ? 0 : -1, err);
	assert_true(c->requested);
	assert_string_equal(c->stage, "runtime");
	content = content_open(&c->entries.items[5].content, c->entries.items[5].tar.size, &err);
	assert_ok(stream_read_all(content, 100, &text, &err), err);
	assert_string_equal(strbuf_text(&text), "world!");
}

static void test_another_package_than_the_index_said_is_refused(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct error err = { 0 };
	cleanup_store struct store *s = store_open(dir, &err);
	cleanup_strbuf struct strbuf deb = { 0 };
	struct lock_input input;

	(void)state;
	assert_non_null(s);
	make_deb(&deb);
	input = put_in_store(s, strbuf_slice(&deb));
	input.version = "1:2-4";
	assert_null(deb_open(s, &input, &err));
	assert_int_equal(err.code, ERROR_INTEGRITY);
	assert_contains(err.text, "demo 1:2-4: the file is demo 1:2-3 amd64");
}

static void test_what_dpkg_deb_builds_is_read(void **state)
{
	static const char *const kinds[] = { "none", "gzip", "xz", "zstd" };
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *tree = fs_join(dir, "tree");
	cleanup_free char *control = fs_join(dir, "tree/DEBIAN/control");
	cleanup_free char *file = fs_join(dir, "tree/usr/bin/demo");
	cleanup_free char *folder = fs_join(dir, "tree/DEBIAN");
	cleanup_free char *bin = fs_join(dir, "tree/usr/bin");
	cleanup_free char *out = fs_join(dir, "demo.deb");
	struct error err = { 0 };

	(void)state;
	if (!process_available("dpkg-deb"))
		skip();
	assert_ok(fs_mkdirs(AT_FDCWD, folder, &err), err);
	assert_ok(fs_mkdirs(AT_FDCWD, bin, &err), err);
	assert_ok(fs_write(AT_FDCWD, control,
			   slice_str("Package: demo\nVersion: 1\nArchitecture: all\n"
				     "Maintainer: x <x@example.org>\nDescription: x\n"),
			   0644, &err),
		  err);
	assert_ok(fs_write(AT_FDCWD, file, slice_str("#!/bin/sh\n"), 0755, &err), err);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		cleanup_free char *option = xasprintf("-Z%s", kinds[i]);
		const char *argv[] = { "dpkg-deb", "--root-owner-group", option, "-b", tree, out,
				       NULL };
		struct process p = { .argv = argv };
		cleanup_process struct process_result result = { 0 };
		cleanup_strbuf struct strbuf deb = { 0 }, content = { 0 };
		cleanup_component struct component *c = component_new(COMPONENT_DEB, "", "");

		assert_ok(process_run(&p, &result, &err), err);
		if (result.exit_status)
			continue; /* an older dpkg does not know zstd */
		assert_ok(fs_read(AT_FDCWD, out, MIB, &deb, &err), err);
		assert_ok(read_deb(strbuf_slice(&deb), c, &content, &err), err);
		assert_string_equal(strbuf_text(&content), "#!/bin/sh\n");
		assert_int_equal(c->entries.len, 3);
		assert_int_equal(c->entries.items[2].tar.mode, 0755);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_package_becomes_a_component),
		cmocka_unit_test(test_the_record_of_a_package_has_its_documentation_only),
		cmocka_unit_test(test_entries_are_as_packaged),
		cmocka_unit_test(test_names_that_leave_the_root_are_refused),
		cmocka_unit_test(test_files_below_a_link_of_the_package_are_refused),
		cmocka_unit_test(test_a_path_twice_is_refused),
		cmocka_unit_test(test_a_hard_link_needs_a_file_before_it),
		cmocka_unit_test(test_devices_and_pipes_are_refused),
		cmocka_unit_test(test_line_breaks_in_names_are_refused),
		cmocka_unit_test(test_bytes_that_are_no_text_stay_as_they_are),
		cmocka_unit_test(test_control_without_data_is_refused),
		cmocka_unit_test(test_absolute_names_stay_within_the_package),
		cmocka_unit_test(test_members_come_in_their_order),
		cmocka_unit_test(test_every_truncation_is_refused),
		cmocka_unit_test(test_a_locked_package_opens_from_the_store),
		cmocka_unit_test(test_another_package_than_the_index_said_is_refused),
		cmocka_unit_test(test_what_dpkg_deb_builds_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
