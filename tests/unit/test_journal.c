#include "tests/support/test.h"

#include "registry/journal.h"

static struct digest digest;

static struct journal_key key(void)
{
	digest = digest_of(slice_str("blob"));
	return (struct journal_key){
		.registry = "r.example.org", .repository = "a/b", .digest = &digest, .size = 100
	};
}

/* NULL: another has it. */
static struct journal *opened(const char *dir, const struct journal_key *k)
{
	struct error err = { 0 };
	struct journal *j;

	assert_ok(journal_open(dir, k, &j, &err), err);
	return j;
}

static void test_an_entry_is_read_back(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct journal_key k = key();
	cleanup_journal_entry struct journal_entry entry = { 0 };
	struct journal *j = opened(dir, &k);

	(void)state;
	assert_non_null(j);
	assert_false(journal_read(j, &entry));
	journal_write(j, "https://r.example.org/up?_state=a%2Fb", 42);
	journal_close(j);
	j = opened(dir, &k);
	assert_true(journal_read(j, &entry));
	assert_string_equal(entry.location, "https://r.example.org/up?_state=a%2Fb");
	assert_int_equal(entry.offset, 42);
	journal_close(j);
}

static void test_only_the_owner_may_read_it(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *uploads = fs_join(dir, "uploads");
	struct journal_key k = key();
	struct journal *j = opened(dir, &k);
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	journal_write(j, "https://r.example.org/up", 0);
	assert_ok(fs_list(AT_FDCWD, uploads, &names, &err), err);
	assert_int_equal(names.len, 2); /* and its lock */
	for (size_t i = 0; i < names.len; i++) {
		cleanup_free char *path = fs_join(uploads, names.items[i]);
		struct stat st;

		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	fs_names_release(&names);
	journal_clear(j);
	journal_close(j);
	assert_ok(fs_list(AT_FDCWD, uploads, &names, &err), err);
	assert_int_equal(names.len, 0);
	fs_names_release(&names);
}

static void test_one_at_a_time(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	struct journal_key k = key(), other = key();
	struct journal *j = opened(dir, &k);
	cleanup_journal struct journal *beside = NULL;

	(void)state;
	other.repository = "a/c";
	beside = opened(dir, &other);
	assert_non_null(j);
	assert_non_null(beside);
	assert_null(opened(dir, &k));
	journal_close(j);
	j = opened(dir, &k);
	assert_non_null(j);
	journal_close(j);
}

static void test_no_directory_no_journal(void **state)
{
	struct journal_key k = key();
	struct journal_entry entry;

	(void)state;
	assert_null(opened(NULL, &k));
	assert_false(journal_read(NULL, &entry));
	journal_write(NULL, "https://r.example.org/", 0);
	journal_clear(NULL);
	journal_close(NULL);
}

/* Another process that has it is no error, and an error is not another process. */
static void test_why_there_is_none_is_told(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *uploads = fs_join(dir, "uploads"), *lock = NULL;
	struct journal_key k = key();
	struct journal *j;
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(journal_open("/proc/nowhere", &k, &j, &err), -1);
	assert_null(j);
	assert_int_equal(err.code, ERROR_SYSTEM);
	assert_contains(err.text, "/proc/nowhere");

	j = opened(dir, &k);
	assert_ok(fs_list(AT_FDCWD, uploads, &names, &err), err);
	assert_int_equal(names.len, 1);
	lock = fs_join(uploads, names.items[0]);
	fs_names_release(&names);
	journal_close(j);
	assert_int_equal(mkdir(lock, 0700), 0);
	assert_int_equal(journal_open(dir, &k, &j, &err), -1);
	assert_null(j);
	assert_int_equal(err.sys_errno, EISDIR);
	assert_contains(err.text, uploads);
}

static bool parses(const char *text, uint64_t now_s)
{
	struct journal_key k = key();
	struct journal_entry entry;
	bool ok = journal_parse(slice_str(text), &k, now_s, &entry);

	journal_entry_release(&entry);
	return ok;
}

static void test_entries_of_others_old_and_damaged_ones_count_as_none(void **state)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct journal_key k = key();
	struct digest other = digest_of(slice_str("x"));

	(void)state;
	journal_print(&k, "https://r.example.org/up", 42, 1000, &text);
	assert_true(parses(text.data, 1000));
	assert_true(parses(text.data, 1000 + 7 * 86400));
	assert_false(parses(text.data, 1001 + 7 * 86400));
	assert_false(parses(text.data, 999));
	for (size_t len = 0; len + 2 < text.len; len++) {
		cleanup_free char *cut = xstrndup(text.data, len);

		assert_false(parses(cut, 1000));
	}
	strbuf_truncate(&text, 0);
	k.digest = &other;
	journal_print(&k, "https://r.example.org/up", 42, 1000, &text);
	assert_false(parses(text.data, 1000));
	k = key();
	strbuf_truncate(&text, 0);
	journal_print(&k, "https://r.example.org/up", 101, 1000, &text); /* beyond the blob */
	assert_false(parses(text.data, 1000));
	strbuf_truncate(&text, 0);
	journal_print(&k, "file:///etc/passwd", 1, 1000, &text);
	assert_false(parses(text.data, 1000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_entry_is_read_back),
		cmocka_unit_test(test_only_the_owner_may_read_it),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_no_directory_no_journal),
		cmocka_unit_test(test_why_there_is_none_is_told),
		cmocka_unit_test(test_entries_of_others_old_and_damaged_ones_count_as_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
