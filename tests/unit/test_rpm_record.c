#include "tests/support/test.h"

#include "formats/rpm_record.h"
#include "tests/support/rpm.h"

enum {
	DIRS = 3,
	FILES = 4,
	TAG_PROVIDEFLAGS = 1112,
	TAG_PROVIDEVERSION = 1113,
	TAG_FILECLASS = 1141,
};

static void make_driver(struct strbuf *blob)
{
	static const char *const names[FILES] = { "nvidia-smi", "libcuda.so.1", "LICENSE", "NEWS" };
	static const char *const dirs[DIRS] = { "/usr/bin/", "/usr/lib64/", "/usr/share/doc/d/" };
	cleanup_test_header struct test_header h = { 0 };

	test_header_identity(&h, "driver", "580", "x86_64");
	test_header_text(&h, RPMTAG_PREIN, "useradd x");
	test_header_numbers(&h, RPMTAG_FILESIZES, 4, (uint64_t[]){ 1, 2, 3, 4 }, FILES);
	test_header_numbers(&h, RPMTAG_FILEMODES, 2, (uint64_t[]){ 1, 2, 3, 4 }, FILES);
	test_header_texts(&h, RPMTAG_FILEUSERNAME, (const char *[]){ "a", "bb", "ccc", "dd" },
			  FILES);
	test_header_texts(&h, RPMTAG_PROVIDENAME, (const char *[]){ "driver", "libcuda" }, 2);
	test_header_numbers(&h, RPMTAG_REQUIREFLAGS, 4, (uint64_t[]){ 0 }, 1);
	test_header_texts(&h, RPMTAG_REQUIRENAME, (const char *[]){ "kmod" }, 1);
	test_header_texts(&h, RPMTAG_CONFLICTNAME, (const char *[]){ "other" }, 1);
	test_header_texts(&h, RPMTAG_TRIGGERNAME, (const char *[]){ "other" }, 1);
	test_header_numbers(&h, TAG_PROVIDEFLAGS, 4, (uint64_t[]){ 8, 0 }, 2);
	test_header_texts(&h, TAG_PROVIDEVERSION, (const char *[]){ "580-3", "" }, 2);
	test_header_numbers(&h, RPMTAG_DIRINDEXES, 4, (uint64_t[]){ 0, 1, 2, 2 }, FILES);
	test_header_texts(&h, RPMTAG_BASENAMES, names, FILES);
	test_header_texts(&h, RPMTAG_DIRNAMES, dirs, DIRS);
	test_header_numbers(&h, TAG_FILECLASS, 4, (uint64_t[]){ 0, 1, 2, 2 }, FILES);
	test_header_texts(&h, RPMTAG_RECOMMENDNAME, (const char *[]){ "x11" }, 1);
	test_header_blob(&h, blob);
}

/* The record of the driver with those of its files. */
static void make_record(const uint8_t *kept, struct strbuf *out, struct rpm_header *h)
{
	cleanup_strbuf struct strbuf blob = { 0 };
	struct rpm_header whole;
	struct error err = { 0 };

	make_driver(&blob);
	assert_ok(rpm_header_parse(strbuf_slice(&blob), &whole, &err), err);
	rpm_record_header(&whole, kept, out);
	assert_ok(rpm_header_parse(strbuf_slice(out), h, &err), err);
}

static void expect_texts(const struct rpm_header *h, uint32_t tag, const char *want)
{
	cleanup_strbuf struct strbuf got = { 0 };
	struct rpm_value v = { 0 };
	const char *text;

	rpm_header_find(h, tag, &v);
	while ((text = rpm_value_next(&v)))
		strbuf_addf(&got, "[%s]", text);
	assert_string_equal(strbuf_text(&got), want);
}

static void expect_numbers(const struct rpm_header *h, uint32_t tag, const char *want)
{
	cleanup_strbuf struct strbuf got = { 0 };
	uint64_t number;

	for (size_t i = 0; rpm_header_number(h, tag, i, &number); i++)
		strbuf_addf(&got, "%" PRIu64 " ", number);
	assert_string_equal(strbuf_text(&got), want);
}

static void test_a_record_has_the_files_that_are_kept(void **state)
{
	cleanup_strbuf struct strbuf blob = { 0 };
	struct rpm_header h;

	(void)state;
	make_record((const uint8_t[]){ 0, 0, 1, 1 }, &blob, &h);
	expect_texts(&h, RPMTAG_BASENAMES, "[LICENSE][NEWS]");
	expect_texts(&h, RPMTAG_DIRNAMES, "[/usr/share/doc/d/]");
	expect_numbers(&h, RPMTAG_DIRINDEXES, "0 0 ");
	expect_numbers(&h, RPMTAG_FILESIZES, "3 4 ");
	expect_numbers(&h, RPMTAG_FILEMODES, "3 4 ");
	expect_texts(&h, RPMTAG_FILEUSERNAME, "[ccc][dd]");
}

static void test_it_says_who_the_package_is_and_what_it_provides(void **state)
{
	cleanup_strbuf struct strbuf blob = { 0 };
	struct rpm_header h;

	(void)state;
	make_record((const uint8_t[]){ 0, 0, 1, 0 }, &blob, &h);
	expect_texts(&h, RPMTAG_NAME, "[driver]");
	expect_texts(&h, RPMTAG_LICENSE, "[MIT]");
	expect_texts(&h, RPMTAG_CONFLICTNAME, "[other]");
	/* with the program that the host brings, which others may require by its path */
	expect_texts(&h, RPMTAG_PROVIDENAME, "[driver][libcuda][/usr/bin/nvidia-smi]");
	expect_numbers(&h, TAG_PROVIDEFLAGS, "8 0 0 ");
	expect_texts(&h, TAG_PROVIDEVERSION, "[580-3][][]");
}

static void test_it_needs_and_runs_nothing(void **state)
{
	static const uint32_t gone[] = { RPMTAG_REQUIRENAME,   RPMTAG_REQUIREFLAGS,
					 RPMTAG_RECOMMENDNAME, RPMTAG_PREIN,
					 RPMTAG_TRIGGERNAME,   RPMTAG_SIZE,
					 TAG_FILECLASS };
	cleanup_strbuf struct strbuf blob = { 0 };
	struct rpm_value v;
	struct rpm_header h;

	(void)state;
	make_record((const uint8_t[]){ 0, 0, 1, 0 }, &blob, &h);
	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		assert_false(rpm_header_find(&h, gone[i], &v));
}

static void test_a_record_without_files_has_no_list_of_them(void **state)
{
	static const uint32_t gone[] = { RPMTAG_BASENAMES, RPMTAG_DIRNAMES, RPMTAG_DIRINDEXES,
					 RPMTAG_FILEMODES };
	cleanup_strbuf struct strbuf blob = { 0 };
	struct rpm_value v;
	struct rpm_header h;

	(void)state;
	make_record((const uint8_t[FILES]){ 0 }, &blob, &h);
	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		assert_false(rpm_header_find(&h, gone[i], &v));
	expect_texts(&h, RPMTAG_NAME, "[driver]");
}

/* As rpm's hregions.md has it: the first entry's value, at the end, points back to the first. */
static void test_all_of_it_is_one_immutable_region(void **state)
{
	cleanup_strbuf struct strbuf blob = { 0 };
	struct rpm_header h;
	struct rpm_value v;
	uint8_t back[4];
	uint32_t bytes;

	(void)state;
	make_record((const uint8_t[FILES]){ 0 }, &blob, &h);
	v = rpm_header_entry(&h, 0);
	assert_int_equal(v.tag, RPMTAG_HEADERIMMUTABLE);
	assert_int_equal(v.type, RPM_TYPE_BIN);
	assert_int_equal(v.count, RPM_ENTRY_BYTES);
	assert_ptr_equal(v.data.data + v.data.len, h.store.data + h.store.len);
	bytes = -(h.count * RPM_ENTRY_BYTES);
	for (size_t i = 0; i < 4; i++)
		back[i] = (uint8_t)(bytes >> (24 - 8 * i));
	assert_memory_equal(v.data.data + 8, back, sizeof(back));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_record_has_the_files_that_are_kept),
		cmocka_unit_test(test_it_says_who_the_package_is_and_what_it_provides),
		cmocka_unit_test(test_it_needs_and_runs_nothing),
		cmocka_unit_test(test_a_record_without_files_has_no_list_of_them),
		cmocka_unit_test(test_all_of_it_is_one_immutable_region),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
