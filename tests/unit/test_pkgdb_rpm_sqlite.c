#include <sqlite3.h>

#include "tests/support/test.h"

#include "formats/pkgdb.h"
#include "tests/support/rpm.h"

/* A database that `sql` makes; ?1 of its last statement is the header of a package. */
static void make(const char *sql, struct strbuf *out)
{
	cleanup_test_header struct test_header h = { 0 };
	cleanup_strbuf struct strbuf blob = { 0 };
	sqlite3 *db = NULL;
	sqlite3_int64 len = 0;
	unsigned char *bytes;

	test_header_identity(&h, "zlib", "1.0", "x86_64");
	test_header_blob(&h, &blob);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	while (*sql) {
		sqlite3_stmt *s = NULL;

		assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, &sql), SQLITE_OK);
		if (sqlite3_bind_parameter_count(s))
			sqlite3_bind_blob(s, 1, blob.data, (int)blob.len, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(s), SQLITE_DONE);
		sqlite3_finalize(s);
	}
	bytes = sqlite3_serialize(db, "main", &len, 0);
	strbuf_add(out, bytes, (size_t)len);
	sqlite3_free(bytes);
	sqlite3_close(db);
}

static int read_of(const char *sql, struct pkgdb *db, struct arena *arena, struct error *err)
{
	cleanup_strbuf struct strbuf bytes = { 0 };

	make(sql, &bytes);
	return pkgdb_rpm(strbuf_slice(&bytes), arena, db, err);
}

static void test_headers_of_the_table_are_packages(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(read_of("CREATE TABLE Packages(hnum INTEGER PRIMARY KEY, blob BLOB);"
			  "INSERT INTO Packages VALUES(1, ?1)",
			  &db, &arena, &err),
		  err);
	assert_int_equal(db.len, 1);
	assert_string_equal(db.items[0].name, "zlib");
}

static void test_a_row_that_is_no_header_does_not_hide_the_others(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		read_of("CREATE TABLE Packages(hnum INTEGER PRIMARY KEY, blob BLOB);"
			"INSERT INTO Packages VALUES(1, NULL); INSERT INTO Packages VALUES(2, 'x');"
			"INSERT INTO Packages VALUES(3, ?1)",
			&db, &arena, &err),
		-1);
	assert_int_equal(db.len, 1);
	assert_contains(err.text, "header");
}

static void test_a_log_beside_the_file_is_not_asked_for(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error err = { 0 };

	(void)state;
	make("CREATE TABLE Packages(hnum INTEGER PRIMARY KEY, blob BLOB);"
	     "INSERT INTO Packages VALUES(1, ?1)",
	     &bytes);
	bytes.data[18] = bytes.data[19] = 2;
	assert_ok(pkgdb_rpm(strbuf_slice(&bytes), &arena, &db, &err), err);
	assert_int_equal(db.len, 1);
}

static void test_a_view_in_place_of_the_table_is_refused(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		read_of("CREATE VIEW Packages AS WITH RECURSIVE c(blob) AS (SELECT 1 UNION "
			"ALL SELECT blob + 1 FROM c) SELECT blob FROM c",
			&db, &arena, &err),
		-1);
	assert_contains(err.text, "no table Packages");
}

static void test_a_column_that_computes_is_refused(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		read_of("CREATE TABLE Packages(hnum INTEGER PRIMARY KEY, blob BLOB AS "
			"(zeroblob(1000000000)) VIRTUAL); INSERT INTO Packages(hnum) VALUES(1)",
			&db, &arena, &err),
		-1);
	assert_int_equal(db.len, 0);
}

static void test_flipped_bytes_end_well(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };

	(void)state;
	make("PRAGMA page_size = 512; CREATE TABLE Packages(hnum INTEGER PRIMARY KEY, blob BLOB);"
	     "INSERT INTO Packages VALUES(1, ?1)",
	     &bytes);
	for (size_t at = 0; at < bytes.len; at++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_pkgdb struct pkgdb db = { 0 };
		struct error err = { 0 };

		bytes.data[at] ^= 0x55;
		if (pkgdb_rpm(strbuf_slice(&bytes), &arena, &db, &err) < 0)
			assert_true(*err.text);
		bytes.data[at] ^= 0x55;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers_of_the_table_are_packages),
		cmocka_unit_test(test_a_row_that_is_no_header_does_not_hide_the_others),
		cmocka_unit_test(test_a_log_beside_the_file_is_not_asked_for),
		cmocka_unit_test(test_a_view_in_place_of_the_table_is_refused),
		cmocka_unit_test(test_a_column_that_computes_is_refused),
		cmocka_unit_test(test_flipped_bytes_end_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
