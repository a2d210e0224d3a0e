#include "tests/support/test.h"

#include "base/fs.h"
#include "formats/pkgdb.h"
#include "tests/support/rpm.h"

#ifndef FIXTURES
#define FIXTURES "tests/fixtures/rpmdb"
#endif

struct reading {
	struct arena arena;
	struct pkgdb db;
	struct error err;
};

static void reading_release(struct reading *r)
{
	pkgdb_release(&r->db);
	arena_release(&r->arena);
}
#define CLEAN cleanup(reading_release) struct reading

/* ---- dpkg ---- */

static void test_dpkg_packages_that_are_installed_are_read(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_ok(pkgdb_dpkg(slice_str("Package: libc6\nStatus: install ok installed\n"
				       "Installed-Size: 10\nArchitecture: amd64\n"
				       "Source: glibc (2.36)\nVersion: 2.36-9\n\n"
				       "Package: gone\nStatus: deinstall ok config-files\n"
				       "Version: 1\n\n"
				       "Package: held\nStatus: hold ok installed\nVersion: 2\n"),
			     &r.arena, &r.db, &r.err),
		  r.err);
	assert_int_equal(r.db.len, 2);
	assert_string_equal(r.db.items[0].name, "libc6");
	assert_string_equal(r.db.items[0].version, "2.36-9");
	assert_string_equal(r.db.items[0].arch, "amd64");
	assert_string_equal(r.db.items[0].source, "glibc");
	assert_int_equal(r.db.items[0].bytes, 10240);
	assert_string_equal(r.db.items[1].name, "held");
}

static void test_dpkg_files_come_from_lists_and_from_sums(void **state)
{
	CLEAN r = { 0 };
	struct pkgdb_package *p = pkgdb_add(&r.db, "dpkg", &r.err);

	(void)state;
	assert_ok(pkgdb_dpkg_files(slice_str("/.\n/usr\n/usr/lib/libz.so.1\n"), false, &r.arena,
				   &r.db, p, &r.err),
		  r.err);
	assert_int_equal(p->file_count, 2);
	assert_string_equal(p->files[1], "/usr/lib/libz.so.1");
	p = pkgdb_add(&r.db, "dpkg", &r.err);
	assert_ok(pkgdb_dpkg_files(
			  slice_str("0123456789abcdef0123456789abcdef  usr/bin/a b\nshort\n"), true,
			  &r.arena, &r.db, p, &r.err),
		  r.err);
	assert_int_equal(p->file_count, 1);
	assert_string_equal(p->files[0], "/usr/bin/a b");
}

static void test_dpkg_names_with_control_characters_are_left_out(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_ok(
		pkgdb_dpkg(slice_str("Package: a\x1b[2Jb\nVersion: 1\n\nPackage: ok\nVersion: 1\n"),
			   &r.arena, &r.db, &r.err),
		r.err);
	assert_int_equal(r.db.len, 1);
	assert_string_equal(r.db.items[0].name, "ok");
}

static void test_a_damaged_status_keeps_what_was_read_before(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_int_equal(pkgdb_dpkg(slice_str("Package: a\nVersion: 1\n\nno field at all\n"),
				    &r.arena, &r.db, &r.err),
			 -1);
	assert_int_equal(r.db.len, 1);
	assert_true(*r.err.text);
}

/* ---- apk ---- */

#define APK                                                                                  \
	"C:Q1abc=\nP:musl\nV:1.2.4-r2\nA:x86_64\nS:1\nI:622592\nT:the C library\nL:MIT\n"    \
	"o:musl\nF:lib\nR:ld-musl-x86_64.so.1\na:0:0:755\nZ:Q1x=\nR:libc.musl-x86_64.so.1\n" \
	"F:usr/lib\nR:libx.so\n\nP:busybox\nV:1.36\nA:x86_64\nF:\nR:top\n\n"

static void test_apk_packages_and_their_files_are_read(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_ok(pkgdb_apk(slice_str(APK), &r.arena, &r.db, &r.err), r.err);
	assert_int_equal(r.db.len, 2);
	assert_string_equal(r.db.items[0].name, "musl");
	assert_string_equal(r.db.items[0].version, "1.2.4-r2");
	assert_string_equal(r.db.items[0].license, "MIT");
	assert_string_equal(r.db.items[0].source, "musl");
	assert_int_equal(r.db.items[0].bytes, 622592);
	assert_int_equal(r.db.items[0].file_count, 3);
	assert_string_equal(r.db.items[0].files[1], "/lib/libc.musl-x86_64.so.1");
	assert_string_equal(r.db.items[0].files[2], "/usr/lib/libx.so");
	assert_string_equal(r.db.items[1].files[0], "/top");
}

static void test_an_apk_database_that_ends_early_keeps_its_last_package(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_ok(pkgdb_apk(slice_str("P:a\nV:1\nF:lib\nR:x"), &r.arena, &r.db, &r.err), r.err);
	assert_int_equal(r.db.len, 1);
	assert_string_equal(r.db.items[0].files[0], "/lib/x");
}

static void test_apk_records_without_name_or_version_are_left_out(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_ok(pkgdb_apk(slice_str("P:a\n\nV:1\n\nP:b\nV:2\n\n"), &r.arena, &r.db, &r.err),
		  r.err);
	assert_int_equal(r.db.len, 1);
	assert_string_equal(r.db.items[0].name, "b");
	assert_int_equal(pkgdb_apk(slice_str("P:c\nV:1\nnonsense\n"), &r.arena, &r.db, &r.err), -1);
}

/* ---- conda ---- */

static void test_a_conda_record_is_read(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_ok(
		pkgdb_conda(
			slice_str("{\"name\": \"cudnn\", \"version\": \"9.1.0.70\", \"build\": "
				  "\"cuda12\", \"subdir\": \"linux-64\", \"license\": \"NVIDIA\", "
				  "\"files\": [\"lib/libcudnn.so.9\", \"/etc/x\", 7]}"),
			&r.arena, &r.db, &r.err),
		r.err);
	assert_int_equal(r.db.len, 1);
	assert_string_equal(r.db.items[0].name, "cudnn");
	assert_string_equal(r.db.items[0].arch, "linux-64");
	assert_string_equal(r.db.items[0].license, "NVIDIA");
	assert_int_equal(r.db.items[0].file_count, 1);
	assert_string_equal(r.db.items[0].files[0], "lib/libcudnn.so.9");
}

static void test_conda_records_that_are_none_are_told(void **state)
{
	static const char *const texts[] = { "",
					     "[]",
					     "{\"name\": \"x\"}",
					     "{\"name\": 1}",
					     "{",
					     "{\"name\": \"a b\", \"version\": \"1\"}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEAN r = { 0 };

		assert_int_equal(pkgdb_conda(slice_str(texts[i]), &r.arena, &r.db, &r.err), -1);
		assert_int_equal(r.db.len, 0);
	}
}

/* ---- rpm ---- */

static void make_header(struct strbuf *out, const char *name)
{
	cleanup_test_header struct test_header h = { 0 };

	test_header_identity(&h, name, "1.0", "x86_64");
	test_header_texts(&h, RPMTAG_BASENAMES, (const char *[]){ "libz.so.1", "share" }, 2);
	test_header_texts(&h, RPMTAG_DIRNAMES, (const char *[]){ "/usr/lib64/", "/usr/" }, 2);
	test_header_numbers(&h, RPMTAG_DIRINDEXES, 4, (uint64_t[]){ 0, 1 }, 2);
	test_header_numbers(&h, RPMTAG_FILEMODES, 2, (uint64_t[]){ 0100644, 040755 }, 2);
	test_header_blob(&h, out);
}

static void assert_zlib(const struct reading *r, size_t count)
{
	assert_int_equal(r->db.len, count);
	assert_string_equal(r->db.items[0].name, "zlib");
	assert_string_equal(r->db.items[0].version, "1.0-3");
	assert_string_equal(r->db.items[0].license, "MIT");
	assert_int_equal(r->db.items[0].bytes, 12345);
	assert_int_equal(r->db.items[0].file_count, 1); /* folders are not listed */
	assert_string_equal(r->db.items[0].files[0], "/usr/lib64/libz.so.1");
}

static void put_u32(struct strbuf *out, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		strbuf_addc(out, (char)(v >> (8 * i)));
}

/* Packages.db with one package in the third of its slots. */
static void make_ndb(struct strbuf *out, const char *name)
{
	cleanup_strbuf struct strbuf blob = { 0 };

	make_header(&blob, name);
	strbuf_adds(out, "RpmP");
	put_u32(out, 0);
	put_u32(out, 1);
	put_u32(out, 1);
	strbuf_add_zeros(out, 16);
	while (out->len < 4096) {
		bool third = out->len == 64;

		strbuf_adds(out, "Slot");
		put_u32(out, third ? 9 : 0);
		put_u32(out, third ? 4096 / 16 : 0);
		put_u32(out, 0);
	}
	strbuf_adds(out, "BlbS");
	put_u32(out, 9);
	put_u32(out, 1);
	put_u32(out, (uint32_t)blob.len);
	strbuf_add(out, blob.data, blob.len);
}

static void test_ndb_is_read(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	CLEAN r = { 0 };

	(void)state;
	make_ndb(&bytes, "zlib");
	assert_ok(pkgdb_rpm(strbuf_slice(&bytes), &r.arena, &r.db, &r.err), r.err);
	assert_zlib(&r, 1);
}

static void test_every_truncation_of_ndb_ends_well(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };

	(void)state;
	make_ndb(&bytes, "zlib");
	for (size_t len = 12; len < bytes.len; len += len < 100 || len > 4090 ? 1 : 100) {
		cleanup_free uint8_t *copy = xcalloc(len, 1);
		CLEAN r = { 0 };

		memcpy(copy, bytes.data, len);
		if (pkgdb_rpm(slice_of(copy, len), &r.arena, &r.db, &r.err) == 0)
			assert_int_equal(r.db.len, 0); /* cut before its slot */
	}
}

static void test_an_ndb_slot_that_lies_is_told(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	CLEAN r = { 0 };

	(void)state;
	make_ndb(&bytes, "zlib");
	bytes.data[64 + 8] = 1;
	assert_int_equal(pkgdb_rpm(strbuf_slice(&bytes), &r.arena, &r.db, &r.err), -1);
	assert_contains(r.err.text, "package 9 is not where its slot says");
}

static void test_keys_of_signers_are_no_packages(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	CLEAN r = { 0 };

	(void)state;
	make_ndb(&bytes, "gpg-pubkey");
	assert_ok(pkgdb_rpm(strbuf_slice(&bytes), &r.arena, &r.db, &r.err), r.err);
	assert_int_equal(r.db.len, 0);
}

/* Made by db5.3_load of Berkeley DB from headers that rpm wrote. */
static void test_berkeley_db_is_read(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	CLEAN r = { 0 };

	(void)state;
	assert_ok(fs_read(AT_FDCWD, FIXTURES "/Packages", MIB, &bytes, &r.err), r.err);
	assert_ok(pkgdb_rpm(strbuf_slice(&bytes), &r.arena, &r.db, &r.err), r.err);
	assert_int_equal(r.db.len, 2);
	assert_string_equal(r.db.items[1].name, "hello");
	assert_string_equal(r.db.items[1].version, "1.0-1");
	assert_int_equal(r.db.items[1].file_count, 5);
}

static void test_damaged_berkeley_db_ends_well_wherever_the_damage_is(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(fs_read(AT_FDCWD, FIXTURES "/Packages", MIB, &bytes, &err), err);
	for (size_t page = 0; page < bytes.len; page += 4096) {
		for (size_t at = page; at < page + 64 && at < bytes.len; at++) {
			CLEAN r = { 0 };
			char was = bytes.data[at];

			bytes.data[at] = (char)(was ^ 0xff);
			if (pkgdb_rpm(strbuf_slice(&bytes), &r.arena, &r.db, &r.err) < 0)
				assert_true(*r.err.text);
			bytes.data[at] = was;
		}
	}
	for (size_t len = 16; len < bytes.len; len += 97) {
		CLEAN r = { 0 };
		cleanup_free uint8_t *copy = xcalloc(len, 1);

		memcpy(copy, bytes.data, len);
		if (pkgdb_rpm(slice_of(copy, len), &r.arena, &r.db, &r.err) < 0)
			assert_true(*r.err.text);
	}
}

static void test_a_chain_of_berkeley_db_that_bites_its_tail_ends(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	CLEAN r = { 0 };

	(void)state;
	assert_ok(fs_read(AT_FDCWD, FIXTURES "/Packages", MIB, &bytes, &r.err), r.err);
	for (size_t page = 1; page < bytes.len / 4096; page++) {
		char *at = bytes.data + page * 4096;

		if (at[25] == 7)
			memcpy(at + 16, (const uint8_t[]){ (uint8_t)page, 0, 0, 0 }, 4);
	}
	if (pkgdb_rpm(strbuf_slice(&bytes), &r.arena, &r.db, &r.err) < 0)
		assert_true(*r.err.text);
}

static void test_sqlite_without_the_table_is_told(void **state)
{
	static const char *const texts[] = { "SQLite format 3",
					     "SQLite format 3\0 and then nothing" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		CLEAN r = { 0 };
		uint8_t page[4096] = { 0 };

		memcpy(page, texts[i], strlen(texts[i]));
		assert_int_equal(pkgdb_rpm(slice_of(page, i ? sizeof(page) : 15), &r.arena, &r.db,
					   &r.err),
				 -1);
		assert_contains(r.err.text, "SQLite");
	}
}

static void test_what_is_no_database_is_told(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_int_equal(pkgdb_rpm(slice_str("#!/bin/sh\n"), &r.arena, &r.db, &r.err), -1);
	assert_contains(r.err.text, "neither SQLite");
}

static void test_a_container_manifest_is_read(void **state)
{
	CLEAN r = { 0 };

	(void)state;
	assert_ok(pkgdb_rpm_manifest(
			  slice_str("glibc\t2.38-3.azl3\t1700000000\t1690000000\tVendor\t(none)\t"
				    "1234\tx86_64\t0\tglibc-2.38-3.azl3.src.rpm\n"
				    "vim\t9-1\t1\t1\tV\t2\t5\tnoarch\t2\tvim-9-1.src.rpm\n"),
			  &r.arena, &r.db, &r.err),
		  r.err);
	assert_int_equal(r.db.len, 2);
	assert_string_equal(r.db.items[0].version, "2.38-3.azl3");
	assert_string_equal(r.db.items[0].arch, "x86_64");
	assert_int_equal(r.db.items[0].bytes, 1234);
	assert_string_equal(r.db.items[1].version, "2:9-1");
	assert_int_equal(pkgdb_rpm_manifest(slice_str("half\ta line\n"), &r.arena, &r.db, &r.err),
			 -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dpkg_packages_that_are_installed_are_read),
		cmocka_unit_test(test_dpkg_files_come_from_lists_and_from_sums),
		cmocka_unit_test(test_dpkg_names_with_control_characters_are_left_out),
		cmocka_unit_test(test_a_damaged_status_keeps_what_was_read_before),
		cmocka_unit_test(test_apk_packages_and_their_files_are_read),
		cmocka_unit_test(test_an_apk_database_that_ends_early_keeps_its_last_package),
		cmocka_unit_test(test_apk_records_without_name_or_version_are_left_out),
		cmocka_unit_test(test_a_conda_record_is_read),
		cmocka_unit_test(test_conda_records_that_are_none_are_told),
		cmocka_unit_test(test_ndb_is_read),
		cmocka_unit_test(test_every_truncation_of_ndb_ends_well),
		cmocka_unit_test(test_an_ndb_slot_that_lies_is_told),
		cmocka_unit_test(test_keys_of_signers_are_no_packages),
		cmocka_unit_test(test_berkeley_db_is_read),
		cmocka_unit_test(test_damaged_berkeley_db_ends_well_wherever_the_damage_is),
		cmocka_unit_test(test_a_chain_of_berkeley_db_that_bites_its_tail_ends),
		cmocka_unit_test(test_sqlite_without_the_table_is_told),
		cmocka_unit_test(test_what_is_no_database_is_told),
		cmocka_unit_test(test_a_container_manifest_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
