#include "tests/support/test.h"

#include "formats/fatbin.h"
#include "tests/support/bytes.h"

enum { A = 1 << 20, F = 1 << 21, LZ4 = 1 << 13 };

static void add_number(struct strbuf *b, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		strbuf_addc(b, (char)(value >> 8 * i));
}

/* An entry with a payload of `size` bytes, zeros unless `payload` has some. */
static void add_entry(struct strbuf *b, unsigned kind, unsigned sm, unsigned flags, unsigned size,
		      struct slice payload)
{
	size_t start = b->len;

	add_number(b, kind, 2);
	add_number(b, 0x0101, 2);
	add_number(b, 64, 4);
	add_number(b, size, 4);
	add_number(b, 0, 4);
	add_number(b, flags & LZ4 ? payload.len : 0, 4);
	add_number(b, 0, 4);
	add_number(b, 5, 2); /* minor */
	add_number(b, 8, 2);
	add_number(b, sm, 4);
	add_number(b, 0, 8);
	add_number(b, 0x11u | flags, 8);
	add_number(b, 0, 8);
	add_number(b, flags & LZ4 ? 100 : 0, 8);
	assert_int_equal(b->len - start, 64);
	strbuf_add(b, payload.data, payload.len);
	strbuf_add_zeros(b, size - payload.len);
}

static void add_container(struct strbuf *b, const struct strbuf *entries)
{
	add_number(b, 0xBA55ED50, 4);
	add_number(b, 1, 2);
	add_number(b, 16, 2);
	add_number(b, entries->len, 8);
	strbuf_add(b, entries->data, entries->len);
}

static void scan_in_pieces(struct slice bytes, size_t piece, struct fatbin *out)
{
	struct fatbin_scan *scan = fatbin_scan_new(bytes.len);

	for (size_t at = 0; at < bytes.len; at += piece)
		fatbin_scan_feed(scan, slice_of(bytes.data + at, MIN(piece, bytes.len - at)));
	fatbin_scan_end(scan, out);
}

/* The head of a cubin for the GPU, 64 bytes. */
static void add_cubin(struct strbuf *b, unsigned type, unsigned abi, unsigned flags)
{
	size_t start = b->len;

	strbuf_add(b,
		   "\x7f"
		   "ELF\x02\x01\x01",
		   7);
	add_number(b, abi >= 8 ? 0x41 : 0x33, 1);
	add_number(b, abi, 1);
	strbuf_add_zeros(b, 7);
	add_number(b, type, 2);
	add_number(b, 190, 2);
	add_number(b, 1, 4);
	strbuf_add_zeros(b, 16);
	add_number(b, 512, 8); /* section headers */
	add_number(b, flags, 4);
	add_number(b, 64, 2);
	strbuf_add_zeros(b, 6);
	add_number(b, 3, 2);
	add_number(b, 0, 2);
	assert_int_equal(b->len - start, 64);
}

static void test_kinds_architectures_and_suffixes_are_read(void **state)
{
	cleanup_strbuf struct strbuf entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_entry(&entries, FATBIN_CUBIN, 90, A, 8000, slice_str(""));
	add_entry(&entries, FATBIN_CUBIN, 100, F, 5000, slice_str(""));
	add_entry(&entries, FATBIN_PTX, 80, 0, 240, slice_str(".version 8.5"));
	strbuf_add_zeros(&file, 24);
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), file.len, &f);
	assert_int_equal(f.containers, 1);
	assert_int_equal(f.entries.len, 3);
	assert_int_equal(f.entries.items[0].sm, 90);
	assert_int_equal(f.entries.items[0].suffix, 'a');
	assert_int_equal(f.entries.items[1].suffix, 'f');
	assert_int_equal(f.entries.items[2].kind, FATBIN_PTX);
	assert_int_equal(f.entries.items[2].suffix, 0);
	assert_int_equal(f.entries.items[2].major, 8);
	assert_int_equal(f.entries.items[2].minor, 5);
	assert_int_equal(f.entries.items[2].stored, 240);
	assert_int_equal(f.broken, 0);
}

static void test_pieces_of_any_size_give_the_same(void **state)
{
	cleanup_strbuf struct strbuf entries = { 0 }, file = { 0 };

	(void)state;
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 2000,
		  slice_str("\x7f"
			    "ELF"));
	add_entry(&entries, FATBIN_PTX, 80, 0, 12000, slice_str(""));
	strbuf_add_zeros(&file, 1000);
	add_container(&file, &entries);
	strbuf_add_zeros(&file, 4001 - 1);
	add_container(&file, &entries);
	add_cubin(&file, 2, 8, 0x06005a04);
	strbuf_add_zeros(&file, 700);
	for (size_t piece = 1; piece < 9000; piece += piece < 100 ? 1 : 997) {
		cleanup_fatbin struct fatbin f = { 0 };

		scan_in_pieces(strbuf_slice(&file), piece, &f);
		assert_int_equal(f.containers, 2);
		assert_int_equal(f.entries.len, 5);
		assert_true(f.entries.items[4].bare);
	}
}

static void test_a_container_that_is_not_aligned_is_none(void **state)
{
	cleanup_strbuf struct strbuf entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 80, slice_str(""));
	strbuf_add_zeros(&file, 12);
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), file.len, &f);
	assert_int_equal(f.containers, 0);
}

static void test_sizes_that_do_not_fit_end_a_container(void **state)
{
	cleanup_strbuf struct strbuf entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 80, slice_str(""));
	add_entry(&entries, FATBIN_CUBIN, 80, 0, 80, slice_str(""));
	entries.data[144 + 8] = 120; /* the second says more than is left */
	add_container(&file, &entries);
	strbuf_add_zeros(&file, 800);
	scan_in_pieces(strbuf_slice(&file), file.len, &f);
	assert_int_equal(f.entries.len, 1);
	assert_int_equal(f.broken, 1);
}

static void test_a_container_longer_than_the_file_is_none(void **state)
{
	cleanup_strbuf struct strbuf entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 80, slice_str(""));
	add_container(&file, &entries);
	scan_in_pieces(slice_of(file.data, file.len - 8), file.len, &f);
	assert_int_equal(f.containers, 0);
}

static void test_every_truncation_ends_in_order(void **state)
{
	cleanup_strbuf struct strbuf entries = { 0 }, file = { 0 };

	(void)state;
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 80, slice_str(""));
	add_entry(&entries, FATBIN_PTX, 75, 0, 80, slice_str(""));
	add_container(&file, &entries);
	for (size_t len = 0; len < file.len; len++) {
		cleanup_free uint8_t *copy = xcalloc(len, 1);
		cleanup_fatbin struct fatbin f = { 0 };
		struct fatbin_scan *scan = fatbin_scan_new(file.len);

		memcpy(copy, file.data, len);
		fatbin_scan_feed(scan, slice_of(copy, len));
		fatbin_scan_end(scan, &f);
		assert_true(f.entries.len <= 2);
	}
}

static void test_the_cubin_of_a_link_step_is_a_stub(void **state)
{
	cleanup_strbuf struct strbuf cubin = { 0 }, entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_cubin(&cubin, 2, 8, 0x05004b04);
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 1200, strbuf_slice(&cubin));
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), 100, &f);
	assert_int_equal(f.entries.len, 1);
	assert_true(f.entries.items[0].link_stub);
}

static void test_a_cubin_with_code_is_no_stub(void **state)
{
	cleanup_strbuf struct strbuf cubin = { 0 }, entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_cubin(&cubin, 2, 8, 0x05004b04);
	strbuf_adds(&cubin, ".text.kernel");
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 1200, strbuf_slice(&cubin));
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), 100, &f);
	assert_false(f.entries.items[0].link_stub);
}

static void test_a_stub_next_to_real_code_does_not_hide_it(void **state)
{
	cleanup_strbuf struct strbuf cubin = { 0 }, entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_cubin(&cubin, 2, 8, 0x05004b04);
	add_entry(&entries, FATBIN_CUBIN, 75, 0, 1200, strbuf_slice(&cubin));
	add_entry(&entries, FATBIN_PTX, 75, 0, 1200, slice_str(""));
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), 100, &f);
	assert_false(f.entries.items[0].link_stub);
}

/* 64 literals of the cubin's head, as one LZ4 sequence. */
static void test_a_stub_stored_by_lz4_is_seen(void **state)
{
	cleanup_strbuf struct strbuf cubin = { 0 }, packed = { 0 }, entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_cubin(&cubin, 2, 8, 0x05004b04);
	add_number(&packed, 0xf0, 1);
	add_number(&packed, 64 - 15, 1);
	strbuf_add(&packed, cubin.data, 64);
	add_entry(&entries, FATBIN_CUBIN, 75, LZ4, 72, strbuf_slice(&packed));
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), file.len, &f);
	assert_true(f.entries.items[0].link_stub);
}

static void test_what_an_entry_holds_is_unpacked(void **state)
{
	cleanup_strbuf struct strbuf packed = { 0 }, entries = { 0 }, file = { 0 }, out = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };
	struct error err = { 0 };

	(void)state;
	add_number(&packed, 0x1f, 1); /* one literal, then 4 + 15 + 80 bytes from one before */
	strbuf_adds(&packed, "x");
	add_number(&packed, 1, 2);
	add_number(&packed, 80, 1);
	add_entry(&entries, FATBIN_PTX, 80, 0, 16, slice_str(".version 8.5"));
	add_entry(&entries, FATBIN_PTX, 90, LZ4, 72, strbuf_slice(&packed));
	strbuf_add_zeros(&file, 8);
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), file.len, &f);
	assert_int_equal(fatbin_unpack(strbuf_slice(&file), &f.entries.items[0], 100, &out, &err),
			 0);
	assert_int_equal(out.len, 16);
	assert_memory_equal(out.data, ".version 8.5", 12);
	assert_int_equal(fatbin_unpack(strbuf_slice(&file), &f.entries.items[1], 100, &out, &err),
			 0);
	assert_int_equal(out.len, 116);
	for (size_t i = 16; i < out.len; i++)
		assert_int_equal(out.data[i], 'x');
}

static void test_an_entry_that_does_not_unpack_leaves_nothing(void **state)
{
	cleanup_strbuf struct strbuf packed = { 0 }, entries = { 0 }, file = { 0 }, out = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };
	struct fatbin_entry e;
	struct error err = { 0 };

	(void)state;
	strbuf_adds(&packed, "\x10x"); /* one literal, where 100 bytes are promised */
	add_entry(&entries, FATBIN_PTX, 90, LZ4, 72, strbuf_slice(&packed));
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), file.len, &f);
	e = f.entries.items[0];
	strbuf_adds(&out, "before");
	assert_int_equal(fatbin_unpack(strbuf_slice(&file), &e, 100, &out, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_int_equal(fatbin_unpack(strbuf_slice(&file), &e, 99, &out, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	e.payload = file.len - 1;
	assert_int_equal(fatbin_unpack(strbuf_slice(&file), &e, 100, &out, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	e = f.entries.items[0];
	e.scrambled = true;
	assert_int_equal(fatbin_unpack(strbuf_slice(&file), &e, 100, &out, &err), -1);
	assert_contains(err.text, "scrambled");
	assert_string_equal(strbuf_text(&out), "before");
}

static void test_the_architecture_of_a_bare_cubin(void **state)
{
	static const struct {
		unsigned abi, flags, sm;
		char suffix;
	} cases[] = {
		{ 8, 0x06005a04, 90, 0 },
		{ 8, 0x06006402, 100, 0 },
		{ 7, 0x00500550, 80, 0 },
		{ 7, 0x005a0d5a, 90, 'a' },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_strbuf struct strbuf file = { 0 };
		cleanup_fatbin struct fatbin f = { 0 };

		add_cubin(&file, 2, cases[i].abi, cases[i].flags);
		strbuf_add_zeros(&file, 2000);
		scan_in_pieces(strbuf_slice(&file), file.len, &f);
		assert_int_equal(f.entries.len, 1);
		assert_true(f.entries.items[0].bare);
		assert_int_equal(f.entries.items[0].sm, cases[i].sm);
		assert_int_equal(f.entries.items[0].suffix, cases[i].suffix);
		assert_int_equal(f.entries.items[0].stored, 512 + 3 * 64);
	}
}

static void test_unknown_kinds_are_counted(void **state)
{
	cleanup_strbuf struct strbuf entries = { 0 }, file = { 0 };
	cleanup_fatbin struct fatbin f = { 0 };

	(void)state;
	add_entry(&entries, 0x40, 90, 0, 80, slice_str(""));
	add_container(&file, &entries);
	scan_in_pieces(strbuf_slice(&file), file.len, &f);
	assert_int_equal(f.unknown, 1);
	assert_int_equal(f.entries.len, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_architectures_and_suffixes_are_read),
		cmocka_unit_test(test_pieces_of_any_size_give_the_same),
		cmocka_unit_test(test_a_container_that_is_not_aligned_is_none),
		cmocka_unit_test(test_sizes_that_do_not_fit_end_a_container),
		cmocka_unit_test(test_a_container_longer_than_the_file_is_none),
		cmocka_unit_test(test_every_truncation_ends_in_order),
		cmocka_unit_test(test_the_cubin_of_a_link_step_is_a_stub),
		cmocka_unit_test(test_a_cubin_with_code_is_no_stub),
		cmocka_unit_test(test_a_stub_next_to_real_code_does_not_hide_it),
		cmocka_unit_test(test_a_stub_stored_by_lz4_is_seen),
		cmocka_unit_test(test_what_an_entry_holds_is_unpacked),
		cmocka_unit_test(test_an_entry_that_does_not_unpack_leaves_nothing),
		cmocka_unit_test(test_the_architecture_of_a_bare_cubin),
		cmocka_unit_test(test_unknown_kinds_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
