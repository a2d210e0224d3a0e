#include "tests/support/test.h"

#include <time.h>

#include "builder/store_audit.h"

struct bench {
	char *dir;
	struct store *store;
	struct arena arena;
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
	arena_release(&b->arena);
	test_dir_free(b->dir);
}

static struct digest put(struct bench *b, const char *text)
{
	struct error err = { 0 };
	struct digest d;

	assert_ok(store_put_bytes(b->store, slice_str(text), &d, &err), err);
	return d;
}

static char *object_path(struct bench *b, const struct digest *d)
{
	char hex[DIGEST_HEX_MAX];

	digest_hex(d, hex);
	return xasprintf("%s/objects/sha256/%.2s/%s", b->dir, hex, hex);
}

/* The object was used so many days ago. */
static void age(struct bench *b, const struct digest *d, int days)
{
	cleanup_free char *path = object_path(b, d);
	const struct timespec times[2] = { { time(NULL) - days * 86400, 0 }, { 0, UTIME_OMIT } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void gc(struct bench *b, struct store_gc_request request, struct store_gc_result *out)
{
	struct error err = { 0 };

	assert_ok(store_audit_gc(b->store, &request, out, &err), err);
}

static void test_objects_and_records_are_counted_by_place(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct store_places places = { 0 };
	struct error err = { 0 };
	struct digest d;

	(void)state;
	open_bench(&b);
	d = put(&b, "hello");
	put(&b, "you");
	assert_ok(store_put_record(b.store, "layers", &d, slice_str("{}"), &err), err);
	assert_ok(store_audit_list(b.store, &b.arena, &places, &err), err);
	assert_int_equal(places.len, 2);
	assert_string_equal(places.items[0].name, "layers");
	assert_string_equal(places.items[1].name, "objects");
	assert_int_equal(places.items[1].files, 2);
	assert_int_equal(places.items[1].bytes, 8);
	vec_release(&places);
}

static void test_damage_that_keeps_the_seal_is_found_by_verify_and_removed(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	cleanup_pool struct pool *pool = pool_new(2);
	struct store_faults faults = { 0 };
	cleanup_free char *path = NULL;
	struct error err = { 0 };
	struct timespec times[2];
	struct digest d;
	struct stat st;
	int fd;

	(void)state;
	open_bench(&b);
	put(&b, "whole");
	d = put(&b, "hello");
	path = object_path(&b, &d);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(chmod(path, 0644), 0);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "J", 1, 0), 1);
	close(fd);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_true(store_intact(b.store, &d, 5)); /* what a disk does behind our back */
	assert_ok(store_audit_verify(b.store, pool, &b.arena, &faults, &err), err);
	assert_int_equal(faults.files, 2);
	assert_int_equal(faults.len, 1);
	assert_contains(faults.items[0], strrchr(path, '/') + 1);
	assert_false(store_has(b.store, &d, 5));
	vec_release(&faults);
}

static void test_what_was_not_used_for_long_goes(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct store_gc_result result;
	struct digest old, young;

	(void)state;
	open_bench(&b);
	old = put(&b, "old one");
	young = put(&b, "young");
	age(&b, &old, 31);
	age(&b, &young, 29);
	gc(&b, (struct store_gc_request){ .days = 30, .max_bytes = UINT64_MAX, .dry = true },
	   &result);
	assert_int_equal(result.files, 1);
	gc(&b, (struct store_gc_request){ .days = 30, .max_bytes = UINT64_MAX }, &result);
	assert_int_equal(result.bytes, 7);
	assert_int_equal(result.bytes_left, 5);
	assert_false(store_has(b.store, &old, 7));
	assert_true(store_has(b.store, &young, 5));
}

static void test_a_use_saves_an_object(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct store_gc_result result;
	struct digest d;

	(void)state;
	open_bench(&b);
	d = put(&b, "hello");
	age(&b, &d, 31);
	assert_true(store_has(b.store, &d, 5));
	gc(&b, (struct store_gc_request){ .days = 30, .max_bytes = UINT64_MAX }, &result);
	assert_int_equal(result.files, 0);
	assert_true(store_intact(b.store, &d, 5)); /* and it is still sealed */
}

static void test_a_size_takes_the_least_recently_used_first(void **state)
{
	cleanup(bench_release) struct bench b = { 0 };
	struct store_gc_result result;
	struct digest first, second;

	(void)state;
	open_bench(&b);
	first = put(&b, "12345");
	second = put(&b, "67890");
	age(&b, &first, 2);
	age(&b, &second, 3);
	gc(&b, (struct store_gc_request){ .days = 30, .max_bytes = 5 }, &result);
	assert_int_equal(result.files, 1);
	assert_true(store_has(b.store, &first, 5));
	assert_false(store_has(b.store, &second, 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_objects_and_records_are_counted_by_place),
		cmocka_unit_test(test_damage_that_keeps_the_seal_is_found_by_verify_and_removed),
		cmocka_unit_test(test_what_was_not_used_for_long_goes),
		cmocka_unit_test(test_a_use_saves_an_object),
		cmocka_unit_test(test_a_size_takes_the_least_recently_used_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
