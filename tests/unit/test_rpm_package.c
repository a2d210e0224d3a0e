#include "tests/support/test.h"

#include <sys/stat.h>

#include "builder/sources/package_source.h"
#include "builder/sources/rpm_package.h"
#include "formats/file_caps.h"
#include "tests/support/rpm.h"

typedef int unpacker(struct stream *, struct sink *, struct component *, struct error *);

static int unpack_by(unpacker *how, const struct test_rpm_file *files, size_t count,
		     struct component *c, struct strbuf *content, struct error *err)
{
	const struct test_rpm rpm = { .files = files,
				      .file_count = count,
				      .compression = COMPRESSION_GZIP,
				      .post = "ldconfig\n",
				      .post_interpreter = "/bin/sh" };
	cleanup_strbuf struct strbuf bytes = { 0 };
	cleanup_stream struct stream *file = NULL;
	cleanup_sink struct sink *sink = sink_memory(content);

	test_rpm_make(&rpm, &bytes);
	file = stream_memory(strbuf_slice(&bytes));
	return how(file, sink, c, err);
}

static int unpack(const struct test_rpm_file *files, size_t count, struct component *c,
		  struct strbuf *content, struct error *err)
{
	return unpack_by(rpm_unpack, files, count, c, content, err);
}

static const struct test_rpm_file system_files[] = {
	{ .path = "/", .mode = S_IFDIR | 0555 },
	{ .path = "/usr/bin", .mode = S_IFDIR | 0555 },
	{ .path = "/usr/bin/a",
	  .content = "same",
	  .mode = S_IFREG | 04711,
	  .inode = 5,
	  .caps = "cap_net_raw,cap_net_admin=ep" },
	{ .path = "/usr/bin/b", .content = "same", .mode = S_IFREG | 04711, .inode = 5 },
	{ .path = "/usr/bin/c", .link = "a", .mode = S_IFLNK | 0777 },
	{ .path = "/var/lib/d", .content = "data", .user = "demo", .group = "mail" },
	{ .path = "/var/lib/ghost", .content = "", .flags = 64 },
};

static void test_a_package_becomes_a_component(void **state)
{
	cleanup_component struct component *c = component_new(COMPONENT_RPM, "", "");
	cleanup_strbuf struct strbuf content = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(unpack(system_files, ARRAY_LEN(system_files), c, &content, &err), err);
	assert_string_equal(c->name, "demo");
	assert_string_equal(c->version, "2:1.0-3");
	assert_string_equal(c->arch, "x86_64");
	assert_string_equal(c->source_name, "demo-1-1.src.rpm");
	assert_string_equal(c->license, "MIT");
	assert_int_equal(c->entries.len, 5); /* neither the root nor the ghost */
	assert_string_equal(strbuf_text(&content), "samedata");
	assert_int_equal(c->scripts.len, 1);
	assert_string_equal(c->scripts.items[0].name, "post");
	assert_string_equal(c->scripts.items[0].interpreter, "/bin/sh");
	assert_string_equal(c->scripts.items[0].text, "ldconfig\n");
	assert_true(c->rpm_header.len && c->rpm_signature.len);
}

static void test_files_that_are_one_become_hard_links_to_the_first(void **state)
{
	cleanup_component struct component *c = component_new(COMPONENT_RPM, "", "");
	cleanup_strbuf struct strbuf content = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(unpack(system_files, ARRAY_LEN(system_files), c, &content, &err), err);
	assert_string_equal(c->entries.items[1].tar.path, "usr/bin/a");
	assert_int_equal(c->entries.items[1].tar.type, TAR_FILE);
	assert_int_equal(c->entries.items[1].tar.size, 4);
	assert_int_equal(c->entries.items[1].tar.mode, 04711);
	assert_int_equal(c->entries.items[1].content.offset, 0);
	assert_true(c->entries.items[1].content.has_digest);
	assert_int_equal(c->entries.items[2].tar.type, TAR_HARDLINK);
	assert_string_equal(c->entries.items[2].tar.link, "usr/bin/a");
	assert_int_equal(c->entries.items[3].tar.type, TAR_SYMLINK);
	assert_int_equal(c->entries.items[4].content.offset, 4);
}

static void test_owners_are_kept_by_name(void **state)
{
	cleanup_component struct component *c = component_new(COMPONENT_RPM, "", "");
	cleanup_strbuf struct strbuf content = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(unpack(system_files, ARRAY_LEN(system_files), c, &content, &err), err);
	assert_int_equal(c->owners.len, 1);
	assert_int_equal(c->owners.items[0].entry, 4);
	assert_string_equal(c->owners.items[0].user, "demo");
	assert_string_equal(c->owners.items[0].group, "mail");
}

static void test_capabilities_are_an_extended_attribute_of_revision_2(void **state)
{
	static const uint8_t want[FILE_CAPS_BYTES] = { 1, 0, 0, 2, 0, 0x30 };
	cleanup_component struct component *c = component_new(COMPONENT_RPM, "", "");
	cleanup_strbuf struct strbuf content = { 0 };
	const struct tar_entry *tar;
	struct error err = { 0 };

	(void)state;
	assert_ok(unpack(system_files, ARRAY_LEN(system_files), c, &content, &err), err);
	tar = &c->entries.items[1].tar;
	assert_int_equal(tar_extras(tar)->xattr_count, 1);
	assert_string_equal(tar->extras->xattrs[0].name, "security.capability");
	assert_int_equal(tar->extras->xattrs[0].len, FILE_CAPS_BYTES);
	assert_memory_equal(tar->extras->xattrs[0].value, want, FILE_CAPS_BYTES);
}

static void test_capabilities_in_words(void **state)
{
	static const struct {
		const char *text;
		uint32_t magic, permitted, inheritable, permitted_high;
		bool ok;
	} cases[] = {
		{ "cap_net_raw=p", 0x02000000, 1 << 13, 0, 0, true },
		{ "cap_net_raw+ep", 0x02000001, 1 << 13, 0, 0, true },
		{ "cap_chown=ei", 0x02000001, 0, 1, 0, true },
		{ "=p cap_chown-p", 0x02000000, 0xfffffffe, 0, 0x1ff, true },
		{ "cap_bpf=p", 0x02000000, 0, 0, 1 << 7, true },
		{ "cap_chown=p cap_kill=p", 0x02000000, 1 | 1 << 5, 0, 0, true },
		{ "cap_of_the_day=p", 0, 0, 0, 0, false },
		{ "cap_chown=x", 0, 0, 0, 0, false },
		{ "cap_chown", 0, 0, 0, 0, false },
		{ "cap_chown=ep cap_kill=p", 0, 0, 0, 0, false },
		{ "", 0, 0, 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		uint8_t out[FILE_CAPS_BYTES] = { 0 };
		uint32_t words[5];

		assert_int_equal(file_caps_encode(cases[i].text, out), cases[i].ok);
		if (!cases[i].ok)
			continue;
		for (size_t k = 0; k < 5; k++)
			words[k] = (uint32_t)out[4 * k] | (uint32_t)out[4 * k + 1] << 8 |
				   (uint32_t)out[4 * k + 2] << 16 | (uint32_t)out[4 * k + 3] << 24;
		assert_int_equal(words[0], cases[i].magic);
		assert_int_equal(words[1], cases[i].permitted);
		assert_int_equal(words[2], cases[i].inheritable);
		assert_int_equal(words[3], cases[i].permitted_high);
	}
}

/* What is left of a package that the host brings. */
static void test_the_record_of_a_package_has_its_documentation_only(void **state)
{
	static const struct test_rpm_file files[] = {
		{ .path = "/usr/bin/smi",
		  .content = "bin",
		  .mode = S_IFREG | 04711,
		  .inode = 5,
		  .caps = "cap_net_raw=ep" },
		{ .path = "/usr/lib64/libcuda.so.1", .content = "lib", .user = "demo" },
		{ .path = "/usr/share/doc/d", .mode = S_IFDIR | 0755 },
		{ .path = "/usr/share/doc/d/README", .content = "text", .user = "doc" },
		{ .path = "/usr/share/doc/d/smi",
		  .content = "bin",
		  .mode = S_IFREG | 04711,
		  .inode = 5 },
		{ .path = "/usr/share/licenses/d", .content = "terms", .inode = 6 },
		{ .path = "/usr/share/terms", .content = "terms", .inode = 6 },
	};
	static const char *const left[] = { "usr/share/doc/d", "usr/share/doc/d/README",
					    "usr/share/licenses/d" };
	cleanup_component struct component *c = component_new(COMPONENT_RPM, "", "");
	cleanup_strbuf struct strbuf content = { 0 };
	struct rpm_header header, signature;
	struct rpm_value names = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(unpack_by(rpm_unpack_record, files, ARRAY_LEN(files), c, &content, &err), err);
	assert_int_equal(c->entries.len, ARRAY_LEN(left));
	for (size_t i = 0; i < ARRAY_LEN(left); i++)
		assert_string_equal(c->entries.items[i].tar.path, left[i]);
	assert_string_equal(strbuf_text(&content), "textterms");
	assert_int_equal(c->entries.items[2].content.offset, 4);
	assert_int_equal(c->owners.len, 1);
	assert_string_equal(c->owners.items[0].user, "doc");
	assert_int_equal(c->scripts.len, 0);
	assert_ok(rpm_header_parse(c->rpm_header, &header, &err), err);
	assert_ok(rpm_header_parse(c->rpm_signature, &signature, &err), err);
	assert_true(rpm_header_find(&header, RPMTAG_BASENAMES, &names));
	assert_int_equal(names.count, ARRAY_LEN(left));
	assert_int_equal(signature.count, 0);
}

static void refuse(const struct test_rpm_file *files, size_t count, const char *words)
{
	cleanup_component struct component *c = component_new(COMPONENT_RPM, "", "");
	cleanup_strbuf struct strbuf content = { 0 };
	struct error err = { 0 };

	assert_int_equal(unpack(files, count, c, &content, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, words);
}

static void test_hostile_packages_are_refused(void **state)
{
	static const struct test_rpm_file device[] = { { .path = "/dev/x",
							 .mode = S_IFCHR | 0600 } };
	static const struct test_rpm_file pipe_file[] = { { .path = "/run/x",
							    .mode = S_IFIFO | 0600 } };
	static const struct test_rpm_file below[] = {
		{ .path = "/a", .link = "/etc", .mode = S_IFLNK | 0777 },
		{ .path = "/a/passwd", .content = "x" },
	};
	static const struct test_rpm_file caps[] = {
		{ .path = "/a", .content = "x", .caps = "cap_everything=ep" }
	};

	(void)state;
	refuse(device, 1, "device node");
	refuse(pipe_file, 1, "pipe");
	refuse(below, 2, "which is no folder");
	refuse(caps, 1, "cap_everything");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_package_becomes_a_component),
		cmocka_unit_test(test_files_that_are_one_become_hard_links_to_the_first),
		cmocka_unit_test(test_owners_are_kept_by_name),
		cmocka_unit_test(test_capabilities_are_an_extended_attribute_of_revision_2),
		cmocka_unit_test(test_capabilities_in_words),
		cmocka_unit_test(test_the_record_of_a_package_has_its_documentation_only),
		cmocka_unit_test(test_hostile_packages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
