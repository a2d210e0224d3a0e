#include "tests/support/test.h"

#include "builder/stat_cache.h"

static const struct file_stamp stamp = {
	.device = 1, .inode = 2, .size = 3, .mtime = 1000000001, .ctime = 1000000002
};

enum { LATE = 2000000000 };

struct bench {
	char *dir;
	struct store *store;
};

static void open_bench(struct bench *b)
{
	b->dir = test_dir();
	b->store = store_open(b->dir, &(struct error){ 0 });
	assert_non_null(b->store);
}

static void bench_release(struct bench *b)
{
	store_close(b->store);
	test_dir_free(b->dir);
}

static void note(struct bench *b, const char *const *paths, size_t count, int64_t read_at)
{
	cleanup_stat_cache struct stat_cache *c = stat_cache_open(b->store, b->dir);

	for (size_t i = 0; i < count; i++) {
		struct digest d = digest_of(slice_str(paths[i]));

		stat_cache_note(c, paths[i], &stamp, &d, read_at);
	}
	stat_cache_keep(c);
}

static bool finds(struct stat_cache *c, const char *path, const struct file_stamp *s)
{
	struct digest got, want = digest_of(slice_str(path));

	return stat_cache_find(c, path, s, &got) && digest_equal(&got, &want);
}

static const char *const three[] = { "a/b", "a.txt", "c" };

static void test_what_was_noted_is_found(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_stat_cache struct stat_cache *c = NULL;

	(void)state;
	open_bench(&b);
	note(&b, three, 3, LATE);
	c = stat_cache_open(b.store, b.dir);
	assert_true(finds(c, "a/b", &stamp));
	assert_false(finds(c, "a/c", &stamp));
	assert_true(finds(c, "a.txt", &stamp));
	assert_true(finds(c, "c", &stamp));
	assert_false(finds(c, "d", &stamp));
}

static void test_another_stamp_is_another_file(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };

	(void)state;
	open_bench(&b);
	note(&b, three, 3, LATE);
	for (int field = 0; field < 5; field++) {
		cleanup_stat_cache struct stat_cache *c = stat_cache_open(b.store, b.dir);
		struct file_stamp other = stamp;

		other.device += field == 0;
		other.inode += field == 1;
		other.size += field == 2;
		other.mtime += field == 3;
		other.ctime += field == 4;
		assert_false(finds(c, "c", &other));
	}
}

static void test_a_file_that_was_read_right_after_a_write_is_not_trusted(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_stat_cache struct stat_cache *c = NULL;

	(void)state;
	open_bench(&b);
	note(&b, three, 3, stamp.ctime + 50000000);
	c = stat_cache_open(b.store, b.dir);
	assert_false(finds(c, "a/b", &stamp));
}

static void test_whole_seconds_need_two_seconds(void **state)
{
	struct file_stamp whole = { .mtime = 1000000000, .ctime = 1000000000 };

	(void)state;
	assert_false(file_stamp_is_settled(&whole, 2900000000));
	assert_true(file_stamp_is_settled(&whole, 3000000000));
	assert_true(file_stamp_is_settled(&stamp, 1100000002));
	assert_false(file_stamp_is_settled(&stamp, 1100000001));
}

static void test_a_damaged_line_is_no_entry(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *dir = NULL, *file = NULL;
	struct fs_names names = { 0 };
	struct error err = { 0 };

	(void)state;
	open_bench(&b);
	note(&b, three, 3, LATE);
	dir = fs_join(b.dir, "keys/stat");
	assert_ok(fs_list(AT_FDCWD, dir, &names, &err), err);
	assert_int_equal(names.len, 1);
	file = fs_join(dir, names.items[0]);
	fs_names_release(&names);
	assert_ok(fs_read(AT_FDCWD, file, MIB, &text, &err), err);
	for (size_t i = 14; i < text.len; i++) { /* behind the heading */
		cleanup_stat_cache struct stat_cache *c = NULL;
		struct digest got, want;
		uint8_t was = (uint8_t)text.data[i];

		text.data[i] = (uint8_t)(was ^ 1);
		assert_ok(fs_write(AT_FDCWD, file, strbuf_slice(&text), 0644, &err), err);
		text.data[i] = was;
		c = stat_cache_open(b.store, b.dir);
		for (size_t k = 0; k < 3; k++) {
			want = digest_of(slice_str(three[k]));
			if (stat_cache_find(c, three[k], &stamp, &got))
				assert_true(digest_equal(&got, &want));
		}
	}
}

static void test_without_a_store_nothing_is_found(void **state)
{
	cleanup_stat_cache struct stat_cache *c = stat_cache_open(NULL, "/");

	(void)state;
	assert_false(finds(c, "a", &stamp));
	stat_cache_note(c, "a", &stamp, &(struct digest){ 0 }, LATE);
	stat_cache_keep(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_noted_is_found),
		cmocka_unit_test(test_another_stamp_is_another_file),
		cmocka_unit_test(test_a_file_that_was_read_right_after_a_write_is_not_trusted),
		cmocka_unit_test(test_whole_seconds_need_two_seconds),
		cmocka_unit_test(test_a_damaged_line_is_no_entry),
		cmocka_unit_test(test_without_a_store_nothing_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
