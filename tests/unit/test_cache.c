#include "tests/support/test.h"

#include "base/alloc.h"
#include "registry/cache.h"

static const char object_text[] = "an object";

static struct cache_entry make_entry(void)
{
	struct cache_entry e = { .kind = "layers", .key = digest_of(slice_str("a recipe")) };

	strbuf_adds(&e.record, "{\"diff_id\":\"é\"}");
	vec_push(&e.objects,
		 ((struct cache_object){ digest_of(slice_str(object_text)), sizeof(object_text) }));
	return e;
}

struct bench {
	struct cache_entry entry;
	struct key *key, *other;
	struct strbuf text; /* the entry, signed by `key` */
	struct error err;
};

static void open_bench(struct bench *b, bool sign)
{
	*b = (struct bench){ .entry = make_entry(), .key = key_new(), .other = key_new() };
	assert_ok(cache_entry_write(&b->entry, sign ? b->key : NULL, &b->text, &b->err), b->err);
}

static void close_bench(struct bench *b)
{
	cache_entry_release(&b->entry);
	key_free(b->key);
	key_free(b->other);
	strbuf_release(&b->text);
}

static int read_as(struct bench *b, const char *kind, const char *recipe, const struct key *key,
		   struct cache_entry *out)
{
	struct digest asked = digest_of(slice_str(recipe));
	const struct key *const keys[] = { key };

	return cache_entry_read(strbuf_slice(&b->text), kind, &asked, keys, key ? 1 : 0, out,
				&b->err);
}

static void test_an_entry_comes_back(void **state)
{
	struct bench b;
	cleanup_cache_entry struct cache_entry got = { 0 };

	(void)state;
	open_bench(&b, true);
	assert_ok(read_as(&b, "layers", "a recipe", b.key, &got), b.err);
	assert_string_equal(got.record.data, b.entry.record.data);
	assert_int_equal(got.objects.len, 1);
	assert_true(digest_equal(&got.objects.items[0].digest, &b.entry.objects.items[0].digest));
	close_bench(&b);
}

static void refused(const char *kind, const char *recipe, bool sign, bool by_other, const char *why)
{
	struct bench b;
	cleanup_cache_entry struct cache_entry got = { 0 };

	open_bench(&b, sign);
	assert_int_equal(read_as(&b, kind, recipe, by_other ? b.other : b.key, &got), -1);
	assert_int_equal(b.err.code, ERROR_INTEGRITY);
	assert_contains(b.err.text, why);
	close_bench(&b);
}

static void test_entries_of_others_unsigned_ones_and_moved_ones_are_refused(void **state)
{
	(void)state;
	refused("layers", "a recipe", true, true, "is signed by none of the keys");
	refused("layers", "a recipe", false, false, "is not signed");
	refused("layers", "another recipe", true, false, "is an entry for something else");
	refused("images", "a recipe", true, false, "is an entry for something else");
}

static void test_an_unsigned_entry_is_read_where_no_key_is_asked_for(void **state)
{
	struct bench b;
	cleanup_cache_entry struct cache_entry got = { 0 };

	(void)state;
	open_bench(&b, false);
	assert_ok(read_as(&b, "layers", "a recipe", NULL, &got), b.err);
	close_bench(&b);
}

static void test_an_altered_entry_is_refused(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b, true);
	for (size_t i = 0; i < b.text.len; i += 3) {
		cleanup_cache_entry struct cache_entry got = { 0 };
		char before = b.text.data[i];

		b.text.data[i] = before == 'A' ? 'B' : 'A';
		assert_int_equal(read_as(&b, "layers", "a recipe", b.key, &got), -1);
		b.text.data[i] = before;
	}
	close_bench(&b);
}

static void test_every_truncation_is_refused(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b, false);
	for (size_t len = 0; len < b.text.len; len++) {
		cleanup_free char *copy = xmemdup(b.text.data, len + 1);
		struct digest key = digest_of(slice_str("a recipe"));
		cleanup_cache_entry struct cache_entry got = { 0 };
		struct error err = { 0 };

		assert_int_equal(cache_entry_read(slice_of(copy, len), "layers", &key, NULL, 0,
						  &got, &err),
				 -1);
	}
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_entry_comes_back),
		cmocka_unit_test(test_entries_of_others_unsigned_ones_and_moved_ones_are_refused),
		cmocka_unit_test(test_an_unsigned_entry_is_read_where_no_key_is_asked_for),
		cmocka_unit_test(test_an_altered_entry_is_refused),
		cmocka_unit_test(test_every_truncation_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
