#include "tests/support/test.h"

#include "formats/rpm_database.h"
#include "lint/facts_parts.h"
#include "tests/support/rpm.h"

/* A file of the image as one pass over a layer would see it. */
static void add_bytes(struct facts *facts, const char *path, struct slice bytes)
{
	cleanup_stream struct stream *content = stream_memory(bytes);
	struct tar_entry entry = {
		.type = TAR_FILE, .mode = 0644, .path = path, .link = "", .size = bytes.len
	};
	cleanup_strbuf struct strbuf buffer = { 0 };
	struct file_facts *f = NULL;
	struct error err = { 0 };

	assert_ok(content_facts_read(&entry, content, &buffer, &facts->arena, &f, &err), err);
	facts_add(facts, 0, &entry, f);
}

static void add_file(struct facts *facts, const char *path, const char *text)
{
	add_bytes(facts, path, slice_str(text));
}

static void add_link(struct facts *facts, const char *path, const char *target)
{
	struct tar_entry entry = {
		.type = TAR_SYMLINK, .mode = 0777, .path = path, .link = target
	};

	facts_add(facts, 0, &entry, NULL);
}

static const struct package *only(struct facts *facts)
{
	assert_int_equal(facts->packages.len, 1);
	return &facts->packages.items[0];
}

static void test_dpkg_packages_own_what_their_lists_say_through_links_of_the_root(void **state)
{
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	add_link(&facts, "lib", "usr/lib");
	add_file(&facts, "usr/lib/libz.so.1", "x");
	add_file(&facts, "var/lib/dpkg/status",
		 "Package: zlib1g\nStatus: install ok installed\nVersion: 1.2\n");
	add_file(&facts, "var/lib/dpkg/info/zlib1g:amd64.list",
		 "/.\n/lib\n/lib/libz.so.1\n/usr/share/doc/x\n");
	package_facts_derive(&facts);
	assert_string_equal(only(&facts)->kind, "dpkg");
	assert_int_equal(only(&facts)->file_count, 3);
	assert_string_equal(facts_owner(&facts, "/usr/lib/libz.so.1")->name, "zlib1g");
	assert_string_equal(facts_owner(&facts, "/lib/libz.so.1")->name, "zlib1g");
	assert_null(facts_owner(&facts, "/usr/share/doc/x"));
	assert_null(facts_owner(&facts, "/usr/lib/other.so"));
}

static void test_a_record_without_files_is_told_from_a_package_with_some(void **state)
{
	cleanup_facts struct facts facts = { 0 };
	static const bool want[] = { true, true, false, false, false };

	(void)state;
	add_file(&facts, "var/lib/dpkg/status",
		 "Package: a\nVersion: 1\n\nPackage: b\nVersion: 1\n\nPackage: c\nVersion: 1\n\n"
		 "Package: d\nVersion: 1\n\nPackage: e\nVersion: 1\n");
	add_file(&facts, "var/lib/dpkg/info/a.list",
		 "/.\n/usr\n/usr/share\n/usr/share/doc\n"
		 "/usr/share/doc/a\n/usr/share/doc/a/x\n");
	add_file(&facts, "var/lib/dpkg/info/b.list", "/.\n");
	add_file(&facts, "var/lib/dpkg/info/c.list", "/.\n/usr\n/usr/src\n");
	add_file(&facts, "var/lib/dpkg/info/d:amd64.list", "/.\n/usr\n");
	add_file(&facts, "var/lib/dpkg/info/d:i386.list", "/.\n/usr\n/usr/lib\n");
	package_facts_derive(&facts);
	assert_int_equal(facts.packages.len, ARRAY_LEN(want));
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		assert_int_equal(facts.packages.items[i].record_only, want[i]);
}

/* A header of a package with one file, and the empty one of its signature. */
static struct rpm_installed installed(const char *name, const char *dir, struct strbuf *header)
{
	cleanup_test_header struct test_header h = { 0 };

	test_header_identity(&h, name, "1", "x86_64");
	test_header_numbers(&h, RPMTAG_DIRINDEXES, 4, (uint64_t[]){ 0 }, 1);
	test_header_texts(&h, RPMTAG_BASENAMES, (const char *[]){ "x" }, 1);
	test_header_texts(&h, RPMTAG_DIRNAMES, &dir, 1);
	test_header_blob(&h, header);
	return (struct rpm_installed){ .header = strbuf_slice(header),
				       .signature = slice_of("\0\0\0\0\0\0\0\0", 8) };
}

static void test_so_is_one_of_rpm(void **state)
{
	cleanup_facts struct facts facts = { 0 };
	cleanup_strbuf struct strbuf a = { 0 }, b = { 0 }, database = { 0 };
	const struct rpm_installed items[] = { installed("a", "/usr/share/doc/a/", &a),
					       installed("b", "/usr/lib64/", &b) };
	struct error err = { 0 };

	(void)state;
	assert_ok(rpm_database_write(items, 2, 1, &database, &err), err);
	add_bytes(&facts, "var/lib/rpm/rpmdb.sqlite", strbuf_slice(&database));
	/* without lists: nobody knows */
	add_file(&facts, "var/lib/rpmmanifest/container-manifest-2",
		 "c\t1-1\t0\t0\tv\t(none)\t1\tx86_64\t0\tc-1-1.src.rpm\n");
	package_facts_derive(&facts);
	assert_int_equal(facts.packages.len, 3);
	assert_true(facts.packages.items[0].record_only);
	assert_false(facts.packages.items[1].record_only);
	assert_false(facts.packages.items[2].record_only);
}

/* Diversions and alternatives: the link is of one package, what it leads to of another. */
static void test_who_brings_a_link_does_not_own_what_it_leads_to(void **state)
{
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	add_link(&facts, "usr/lib/libGLX_indirect.so.0", "nvidia/libGLX_nvidia.so.535.1");
	add_file(&facts, "usr/lib/nvidia/libGLX_nvidia.so.535.1", "x");
	add_file(&facts, "var/lib/dpkg/status",
		 "Package: mesa\nStatus: install ok installed\nVersion: 1\n\n"
		 "Package: nvidia\nStatus: install ok installed\nVersion: 2\n");
	add_file(&facts, "var/lib/dpkg/info/mesa.list", "/usr/lib/libGLX_indirect.so.0\n");
	add_file(&facts, "var/lib/dpkg/info/nvidia.list",
		 "/usr/lib/nvidia/libGLX_nvidia.so.535.1\n");
	package_facts_derive(&facts);
	assert_string_equal(facts_owner(&facts, "/usr/lib/nvidia/libGLX_nvidia.so.535.1")->name,
			    "nvidia");
}

static void test_status_d_names_packages_and_their_files(void **state)
{
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	add_file(&facts, "var/lib/dpkg/status.d/libssl3", "Package: libssl3\nVersion: 3.0.11\n");
	add_file(&facts, "var/lib/dpkg/status.d/libssl3.md5sums",
		 "0123456789abcdef0123456789abcdef  usr/lib/libssl.so.3\n");
	package_facts_derive(&facts);
	assert_string_equal(only(&facts)->path, "/var/lib/dpkg/status.d/libssl3");
	assert_string_equal(facts_owner(&facts, "/usr/lib/libssl.so.3")->version, "3.0.11");
}

static void test_apk_packages_are_facts(void **state)
{
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	add_file(&facts, "lib/apk/db/installed",
		 "P:musl\nV:1.2.4-r2\nA:x86_64\nF:lib\nR:ld-musl-x86_64.so.1\n\n");
	package_facts_derive(&facts);
	assert_string_equal(only(&facts)->kind, "apk");
	assert_string_equal(only(&facts)->arch, "x86_64");
	assert_string_equal(facts_owner(&facts, "/lib/ld-musl-x86_64.so.1")->name, "musl");
}

static void test_conda_packages_own_files_below_their_prefix(void **state)
{
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	add_file(&facts, "opt/conda/conda-meta/cudnn-9.1-0.json",
		 "{\"name\": \"cudnn\", \"version\": \"9.1\", \"files\": [\"lib/libcudnn.so.9\"]}");
	add_file(&facts, "opt/conda/conda-meta/history", "not read");
	package_facts_derive(&facts);
	assert_string_equal(only(&facts)->kind, "conda");
	assert_string_equal(facts_owner(&facts, "/opt/conda/lib/libcudnn.so.9")->name, "cudnn");
}

static void test_wheels_are_facts(void **state)
{
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	add_file(&facts, "usr/lib/python3/site-packages/torch-2.7.dist-info/METADATA",
		 "Metadata-Version: 2.1\nName: torch\nVersion: 2.7\n\nName: not this\n");
	package_facts_derive(&facts);
	assert_string_equal(only(&facts)->kind, "wheel");
	assert_string_equal(only(&facts)->version, "2.7");
}

static void test_what_cannot_be_read_is_told_and_the_rest_stays(void **state)
{
	cleanup_facts struct facts facts = { 0 };

	(void)state;
	add_file(&facts, "var/lib/rpm/rpmdb.sqlite", "SQLite format 3");
	add_file(&facts, "lib/apk/db/installed", "P:a\nV:1\n\n???\n");
	package_facts_derive(&facts);
	assert_string_equal(only(&facts)->name, "a");
	assert_int_equal(facts.package_problems.len, 2);
	assert_contains(facts.package_problems.items[0], "/lib/apk/db/installed: ");
	assert_contains(facts.package_problems.items[1], "/var/lib/rpm/rpmdb.sqlite: ");
}

static void test_only_databases_are_read_as_such(void **state)
{
	static const struct {
		const char *path;
		bool is;
	} cases[] = {
		{ "var/lib/dpkg/status", true },
		{ "var/lib/dpkg/status.d/base", true },
		{ "var/lib/dpkg/status-old", false },
		{ "usr/share/doc/var/lib/dpkg/status", false },
		{ "var/lib/rpm/Packages", true },
		{ "var/lib/rpm/Packages.db", true },
		{ "usr/lib/sysimage/rpm/rpmdb.sqlite", true },
		{ "var/lib/rpm/rpmdb.sqlite-wal", false },
		{ "var/lib/rpm/backup/Packages", false },
		{ "usr/lib/apk/db/installed", true },
		{ "opt/conda/conda-meta/x.json", true },
		{ "opt/conda/envs/a/conda-meta/x.json", true },
		{ "conda-meta/x.json", true },
		{ "opt/my-conda-meta/x.json", false },
		{ "opt/conda/conda-meta/sub/x.json", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(package_database_is(cases[i].path), cases[i].is);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_dpkg_packages_own_what_their_lists_say_through_links_of_the_root),
		cmocka_unit_test(test_a_record_without_files_is_told_from_a_package_with_some),
		cmocka_unit_test(test_so_is_one_of_rpm),
		cmocka_unit_test(test_who_brings_a_link_does_not_own_what_it_leads_to),
		cmocka_unit_test(test_status_d_names_packages_and_their_files),
		cmocka_unit_test(test_apk_packages_are_facts),
		cmocka_unit_test(test_conda_packages_own_files_below_their_prefix),
		cmocka_unit_test(test_wheels_are_facts),
		cmocka_unit_test(test_what_cannot_be_read_is_told_and_the_rest_stays),
		cmocka_unit_test(test_only_databases_are_read_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
