#include <sqlite3.h>

#include "tests/support/test.h"

#include "base/digest.h"
#include "formats/pkgdb.h"
#include "formats/rpm_database.h"
#include "tests/support/rpm.h"

struct blobs {
	struct strbuf header, signature;
};

static void blobs_release(struct blobs *b)
{
	strbuf_release(&b->header);
	strbuf_release(&b->signature);
}

static void make(struct blobs *b, const char *name)
{
	cleanup_test_header struct test_header h = { 0 }, s = { 0 };

	test_header_identity(&h, name, "1.0", "x86_64");
	test_header_texts(&h, RPMTAG_BASENAMES, (const char *[]){ "liba.so.1", "a" }, 2);
	test_header_texts(&h, RPMTAG_DIRNAMES, (const char *[]){ "/usr/lib64/", "/usr/bin/" }, 2);
	test_header_numbers(&h, RPMTAG_DIRINDEXES, 4, (uint64_t[]){ 0, 1 }, 2);
	test_header_text(&s, RPMTAG_SHA1HEADER, "0123456789012345678901234567890123456789");
	test_header_add(&s, 1004, RPM_TYPE_BIN, 16, "0123456789abcdef", 16);
	test_header_numbers(&s, 1007, 4, (uint64_t[]){ 4242 }, 1);
	test_header_add(&s, 1008, RPM_TYPE_BIN, 9, "\0\0\0\0\0\0\0\0", 9);
	test_header_blob(&h, &b->header);
	test_header_blob(&s, &b->signature);
}

static struct rpm_installed item_of(const struct blobs *b)
{
	return (struct rpm_installed){ .header = strbuf_slice(&b->header),
				       .signature = strbuf_slice(&b->signature),
				       .color = 3 };
}

static void test_an_installed_header_says_what_the_signature_header_said(void **state)
{
	cleanup(blobs_release) struct blobs b = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct rpm_installed item;
	struct rpm_header h;
	struct rpm_value v;
	struct error err = { 0 };
	uint64_t number;

	(void)state;
	make(&b, "one");
	item = item_of(&b);
	item.absent = (const uint8_t[]){ 0, 1 };
	assert_ok(rpm_installed_header(&item, 77, &out, &err), err);
	assert_ok(rpm_header_parse(strbuf_slice(&out), &h, &err), err);
	assert_string_equal(rpm_header_text(&h, RPMTAG_NAME), "one");
	assert_string_equal(rpm_header_text(&h, RPMTAG_SHA1HEADER),
			    "0123456789012345678901234567890123456789");
	assert_true(rpm_header_number(&h, RPMTAG_ARCHIVESIZE, 0, &number));
	assert_int_equal(number, 4242);
	assert_true(rpm_header_number(&h, RPMTAG_INSTALLTIME, 0, &number));
	assert_int_equal(number, 77);
	assert_true(rpm_header_find(&h, RPMTAG_SIGMD5, &v));
	assert_int_equal(v.count, 16);
	assert_true(rpm_header_find(&h, RPMTAG_FILESTATES, &v));
	assert_int_equal(v.data.data[0], 0);
	assert_int_equal(v.data.data[1], 2);
	assert_memory_equal(out.data + 8, b.header.data + 8, 16); /* as it was */
}

static void test_what_is_written_is_read_again(void **state)
{
	cleanup(blobs_release) struct blobs one = { 0 };
	cleanup(blobs_release) struct blobs two = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_pkgdb struct pkgdb db = { 0 };
	cleanup_strbuf struct strbuf out = { 0 };
	struct rpm_installed items[2];
	struct error err = { 0 };

	(void)state;
	make(&one, "one");
	make(&two, "two");
	items[0] = item_of(&one);
	items[1] = item_of(&two);
	assert_ok(rpm_database_write(items, 2, 315532800, &out, &err), err);
	assert_ok(pkgdb_rpm(strbuf_slice(&out), &arena, &db, &err), err);
	assert_int_equal(db.len, 2);
	assert_string_equal(db.items[1].name, "two");
	assert_string_equal(db.items[1].version, "1.0-3");
	assert_int_equal(db.items[0].file_count, 2);
	assert_string_equal(db.items[0].files[1], "/usr/bin/a");
}

static void test_the_same_packages_give_the_same_bytes(void **state)
{
	cleanup(blobs_release) struct blobs b = { 0 };
	cleanup_strbuf struct strbuf first = { 0 }, second = { 0 };
	struct rpm_installed item;
	struct digest digest;
	char text[DIGEST_TEXT_MAX];
	struct error err = { 0 };

	(void)state;
	make(&b, "one");
	item = item_of(&b);
	assert_ok(rpm_database_write(&item, 1, 315532800, &first, &err), err);
	assert_ok(rpm_database_write(&item, 1, 315532800, &second, &err), err);
	assert_true(slice_equal(strbuf_slice(&first), strbuf_slice(&second)));
	/* a version of SQLite that writes it otherwise asks for a new assembly version */
	digest = digest_of(strbuf_slice(&first));
	assert_string_equal(
		digest_text(&digest, text),
		"sha256:b777f2da91dcc23dd7cfe130d9145ace4c9223b8b7e9a2a45bc1db242cb71b67");
}

/* The keys of a package under one kind of dependency, with blanks between. */
static char *keys_of(struct slice database, const char *sql)
{
	cleanup_strbuf struct strbuf out = { 0 };
	sqlite3_stmt *s = NULL;
	sqlite3 *db = NULL;
	unsigned char *copy = sqlite3_malloc64(database.len);

	memcpy(copy, database.data, database.len);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_deserialize(db, "main", copy, (sqlite3_int64)database.len,
					     (sqlite3_int64)database.len,
					     SQLITE_DESERIALIZE_FREEONCLOSE),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	while (sqlite3_step(s) == SQLITE_ROW)
		strbuf_addf(&out, "%s ", (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	sqlite3_close(db);
	strbuf_adds(&out, "");
	return strbuf_steal(&out);
}

static void test_dependencies_that_are_expressions_are_found_by_what_stands_in_them(void **state)
{
	static const struct {
		const char *text, *keys;
	} cases[] = {
		{ "plain", "plain " },
		{ "(a if b)", "(a if b) a !b " },
		{ "(gcc >= 8 with gcc < 9)", "(gcc >= 8 with gcc < 9) gcc " },
		{ "(a if b else c)", "(a if b else c) a !b c " },
		{ "((a or b) unless (c and d))", "((a or b) unless (c and d)) a b !c !d " },
		{ "(libz.so.1()(64bit) and perl(A::B))",
		  "(libz.so.1()(64bit) and perl(A::B)) libz.so.1()(64bit) perl(A::B) " },
		{ "((((", "(((( " },
		{ "(", "( " },
		{ "a)b(", "a)b( " },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_test_header struct test_header h = { 0 }, none = { 0 };
		cleanup_strbuf struct strbuf header = { 0 }, signature = { 0 }, out = { 0 };
		cleanup_free char *keys = NULL;
		struct rpm_installed item = { 0 };
		struct error err = { 0 };

		test_header_identity(&h, "one", "1.0", "x86_64");
		test_header_texts(&h, RPMTAG_REQUIRENAME, &cases[i].text, 1);
		test_header_blob(&h, &header);
		test_header_blob(&none, &signature);
		item.header = strbuf_slice(&header);
		item.signature = strbuf_slice(&signature);
		assert_ok(rpm_database_write(&item, 1, 1, &out, &err), err);
		keys = keys_of(strbuf_slice(&out), "SELECT key FROM Requirename ORDER BY rowid");
		assert_string_equal(keys, cases[i].keys);
	}
}

static void test_a_header_that_is_none_is_refused(void **state)
{
	const struct rpm_installed item = { .header = slice_str("no header"),
					    .signature = slice_str("") };
	cleanup_strbuf struct strbuf out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(rpm_database_write(&item, 1, 0, &out, &err), -1);
	assert_contains(err.text, "number 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_installed_header_says_what_the_signature_header_said),
		cmocka_unit_test(test_what_is_written_is_read_again),
		cmocka_unit_test(test_the_same_packages_give_the_same_bytes),
		cmocka_unit_test(
			test_dependencies_that_are_expressions_are_found_by_what_stands_in_them),
		cmocka_unit_test(test_a_header_that_is_none_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
