#include "tests/support/test.h"

#include "base/arena.h"
#include "base/out.h"
#include "base/strbuf.h"

static void test_an_empty_buffer_is_an_empty_text(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };

	(void)state;
	assert_string_equal(strbuf_text(&b), "");
	assert_int_equal(strbuf_slice(&b).len, 0);
	strbuf_add(&b, NULL, 0);
	assert_string_equal(b.data, "");
}

static void test_text_of_all_kinds_is_appended(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };

	(void)state;
	strbuf_adds(&b, "ab");
	strbuf_addc(&b, 'c');
	strbuf_addf(&b, "%d-%s", 42, "x");
	strbuf_add(&b, "yz", 1);
	assert_string_equal(b.data, "abc42-xy");
	assert_int_equal(b.len, 8);
}

static void test_it_grows_and_stays_terminated(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };

	(void)state;
	for (size_t i = 0; i < 10000; i++) {
		strbuf_addc(&b, (char)('a' + i % 26));
		assert_int_equal(b.data[b.len], 0);
	}
	for (size_t i = 0; i < 10000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
}

static void test_bytes_may_hold_nul(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };

	(void)state;
	strbuf_add(&b, "a\0b", 3);
	strbuf_add_zeros(&b, 2);
	assert_int_equal(b.len, 5);
	assert_memory_equal(b.data, "a\0b\0\0\0", 6);
}

static void test_cutting_keeps_the_beginning(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };

	(void)state;
	strbuf_truncate(&b, 0);
	strbuf_adds(&b, "abcdef");
	strbuf_truncate(&b, 2);
	assert_string_equal(b.data, "ab");
	strbuf_adds(&b, "x");
	assert_string_equal(b.data, "abx");
}

static void test_a_stolen_text_leaves_an_empty_buffer(void **state)
{
	cleanup_strbuf struct strbuf b = { 0 };
	cleanup_free char *first = strbuf_steal(&b);
	cleanup_free char *second = NULL;

	(void)state;
	assert_string_equal(first, "");
	strbuf_adds(&b, "x");
	second = strbuf_steal(&b);
	assert_string_equal(second, "x");
	assert_null(b.data);
	assert_int_equal(b.len, 0);
}

static void test_hostile_text_is_quoted_for_people(void **state)
{
	static const struct {
		const char *text;
		size_t limit;
		const char *want;
	} cases[] = {
		{ "", 10, "''" },
		{ "plain é", 10, "'plain é'" },
		{ "\x1b[31m\n\x7f", 10, "'\\x1b[31m\\x0a\\x7f'" },
		{ "abcdef", 6, "'abcdef'" },
		{ "abcdef", 5, "'abcde...'" },
		{ "abé", 3, "'ab...'" }, /* not half a character */
		{ "\x80\x80\x80", 1, "'...'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_strbuf struct strbuf b = { 0 };

		strbuf_add_quoted(&b, slice_str(cases[i].text), cases[i].limit);
		assert_string_equal(b.data, cases[i].want);
	}
}

static void test_an_arena_gives_zeroed_aligned_memory(void **state)
{
	cleanup_arena struct arena a = { 0 };

	(void)state;
	for (size_t bytes = 0; bytes < 3000; bytes += 7) {
		uint8_t *p = arena_alloc(&a, bytes);

		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < bytes; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, bytes);
	}
}

static void test_an_arena_never_moves_what_it_gave(void **state)
{
	cleanup_arena struct arena a = { 0 };
	const char *small = arena_strdup(&a, "small");
	char *big = arena_alloc(&a, 1 << 20);
	const char *after = arena_slice(&a, slice_of("after-", 5));

	(void)state;
	memset(big, 'x', 1 << 20);
	for (int i = 0; i < 10000; i++)
		arena_printf(&a, "%d", i);
	assert_string_equal(small, "small");
	assert_string_equal(after, "after");
	assert_int_equal(big[(1 << 20) - 1], 'x');
	assert_string_equal(arena_slice(&a, (struct slice){ 0 }), "");
}

static void test_sizes_are_written_for_people(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{ 0, "0 B" },           { 734, "734 B" },   { 1024, "1.0 KiB" },
		{ 2200000, "2.1 MiB" }, { GIB, "1.0 GiB" }, { UINT64_MAX, "16777216.0 TiB" },
	};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(out_size(cases[i].bytes, buf), cases[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_buffer_is_an_empty_text),
		cmocka_unit_test(test_text_of_all_kinds_is_appended),
		cmocka_unit_test(test_it_grows_and_stays_terminated),
		cmocka_unit_test(test_bytes_may_hold_nul),
		cmocka_unit_test(test_cutting_keeps_the_beginning),
		cmocka_unit_test(test_a_stolen_text_leaves_an_empty_buffer),
		cmocka_unit_test(test_hostile_text_is_quoted_for_people),
		cmocka_unit_test(test_an_arena_gives_zeroed_aligned_memory),
		cmocka_unit_test(test_an_arena_never_moves_what_it_gave),
		cmocka_unit_test(test_sizes_are_written_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
