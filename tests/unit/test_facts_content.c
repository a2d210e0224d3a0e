#include "tests/support/test.h"

#include "lint/facts_parts.h"

static const struct file_facts *facts_of(const char *path, struct slice bytes, struct arena *arena)
{
	struct tar_entry entry = { .type = TAR_FILE, .path = path, .link = "", .size = bytes.len };
	cleanup_stream struct stream *content = stream_memory(bytes);
	cleanup_strbuf struct strbuf buffer = { 0 };
	struct file_facts *facts = NULL;
	struct error err = { 0 };

	assert_ok(content_facts_read(&entry, content, &buffer, arena, &facts, &err), err);
	return facts;
}

static void test_a_file_of_ptx_says_what_it_is_for(void **state)
{
	static const struct {
		const char *text;
		unsigned sm, major, minor;
		char suffix;
	} cases[] = {
		{ "//\n// made by a compiler\n//\n.version 8.5\n.target sm_90a\n.address_size 64\n",
		  90, 8, 5, 'a' },
		{ ".version\t7.0\r\n.target sm_75, debug\n", 75, 7, 0, 0 },
		{ ".version 8.5\n", 0, 0, 0, 0 },
		{ ".target sm_90\n.version x\n", 0, 0, 0, 0 },
		{ "say .version 8.5 and .target sm_90\n", 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cleanup_arena struct arena arena = { 0 };
		const struct file_facts *f =
			facts_of("opt/k.ptx", slice_str(cases[i].text), &arena);
		const struct gpu_row *row = f && f->gpu ? f->gpu->rows : NULL;

		assert_int_equal(row != NULL, cases[i].sm != 0);
		if (!row)
			continue;
		assert_int_equal(row->kind, FATBIN_PTX);
		assert_int_equal(row->sm, cases[i].sm);
		assert_int_equal(row->suffix, cases[i].suffix);
		assert_int_equal(row->ptx_major, cases[i].major);
		assert_int_equal(row->ptx_minor, cases[i].minor);
		assert_int_equal(row->stored, strlen(cases[i].text));
	}
}

static void put(struct strbuf *b, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		strbuf_addc(b, (char)(i < 8 ? value >> 8 * i : 0));
}

/* A member with a container of one cubin behind 16 bytes of something else. */
static void put_member(struct strbuf *ar, const char *name, unsigned sm, size_t odd)
{
	cleanup_strbuf struct strbuf body = { 0 };

	strbuf_add_zeros(&body, 16);
	put(&body, 0xBA55ED50, 4);
	put(&body, 1, 2);
	put(&body, 16, 2);
	put(&body, 64 + 128, 8);
	put(&body, 2, 2);
	put(&body, 0x0101, 2);
	put(&body, 64, 4);
	put(&body, 128, 4);
	put(&body, 0, 12);
	put(&body, 0x00080005, 4);
	put(&body, sm, 4);
	put(&body, 0, 8);
	put(&body, 0x11, 8);
	put(&body, 0, 16);
	strbuf_add_zeros(&body, 128 + odd);
	strbuf_addf(ar, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644, body.len);
	strbuf_add(ar, body.data, body.len);
	if (body.len & 1)
		strbuf_addc(ar, '\n');
}

/* Members begin at even offsets of the archive, code at multiples of eight of its member. */
static void test_gpu_code_in_members_of_a_static_library_is_found(void **state)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf ar = { 0 };
	const struct file_facts *f;

	(void)state;
	strbuf_adds(&ar, "!<arch>\n");
	put_member(&ar, "a.o/", 80, 1);
	put_member(&ar, "b.o/", 90, 0);
	put_member(&ar, "c.o/", 80, 3);
	f = facts_of("usr/lib/libx.a", strbuf_slice(&ar), &arena);
	assert_non_null(f);
	assert_non_null(f->gpu);
	assert_int_equal(f->gpu->count, 2);
	assert_int_equal(f->gpu->containers, 3);
	assert_int_equal(f->gpu->rows[0].sm, 80);
	assert_int_equal(f->gpu->rows[0].count, 2);
	assert_int_equal(f->gpu->rows[1].sm, 90);
}

static void test_static_libraries_may_be_cut_or_lie_about_sizes(void **state)
{
	cleanup_strbuf struct strbuf ar = { 0 };

	(void)state;
	strbuf_adds(&ar, "!<arch>\n");
	put_member(&ar, "a.o/", 80, 1);
	for (size_t len = 8; len < ar.len; len++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_free uint8_t *exact = xmemdup(ar.data, len);

		facts_of("usr/lib/libx.a", slice_of(exact, len), &arena);
	}
	for (size_t i = 8; i < 68; i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_free uint8_t *other = xmemdup(ar.data, ar.len);

		other[i] = '9';
		facts_of("usr/lib/libx.a", slice_of(other, ar.len), &arena);
	}
}

static void put_section(struct strbuf *b, unsigned name, unsigned type, unsigned flags,
			size_t offset, size_t size)
{
	put(b, name, 4);
	put(b, type, 4);
	put(b, flags, 8);
	put(b, 0, 8);
	put(b, offset, 8);
	put(b, size, 8);
	put(b, 0, 8 + 8 + 8);
}

/* As lld lays a library out: the names of its sections before the many names of its symbols. */
static void make_unstripped(struct strbuf *b, size_t before, size_t symbol_names, bool patched)
{
	static const char names[] = "\0.rodata\0.debug_info\0.symtab\0.shstrtab\0.strtab";
	static const char text[] = "libcuda.so.1";
	size_t strings, headers;

	put(b, 0x00010102464c457f, 8);
	put(b, 0, 8);
	put(b, 3 | 62 << 16, 4);
	put(b, 1, 4);
	put(b, 0, 8);
	put(b, 64, 8);
	headers = 4096 + before + 2400 + sizeof(names) + symbol_names;
	put(b, headers, 8);
	put(b, 0, 4);
	put(b, 64 | 56 << 16, 4);
	put(b, (patched ? 2 : 1) | 64 << 16, 4);
	put(b, 6 | 4 << 16, 4);
	put(b, 1 | UINT64_C(4) << 32, 8); /* one segment, of the first 4096 bytes */
	put(b, 0, 24);
	put(b, 4096, 8);
	put(b, 4096, 8);
	put(b, 4096, 8);
	if (patched) {
		put(b, 1 | UINT64_C(6) << 32, 8); /* what patchelf adds behind all */
		put(b, headers + 6 * 64, 8);
		put(b, 0x10000000, 8);
		put(b, 0, 8);
		put(b, 4096, 8);
		put(b, 4096, 8);
		put(b, 4096, 8);
	}
	strbuf_add_zeros(b, 512 - b->len);
	strbuf_add(b, text, sizeof(text));
	strbuf_add_zeros(b, 4096 + before + 2400 - b->len);
	strings = b->len;
	strbuf_add(b, names, sizeof(names));
	strbuf_add_zeros(b, symbol_names);
	put_section(b, 0, 0, 0, 0, 0);
	put_section(b, 1, 1, 2, 512, sizeof(text));
	put_section(b, 9, 1, 0, 4096, before);
	put_section(b, 21, 2, 0, 4096 + before, 2400);
	put_section(b, 29, 3, 0, strings, sizeof(names));
	put_section(b, 39, 3, 0, strings + sizeof(names), symbol_names);
	strbuf_add_zeros(b, patched ? 4096 : 0);
}

static void test_names_of_sections_are_found_before_the_names_of_symbols(void **state)
{
	/* Beyond the window of the head; in one piece, in another's begin, and across two. */
	static const size_t before[] = { 5000000, 6000000,
					 1024 * (64 + 256 * 23) - 4096 - 2400 - 29,
					 1024 * (64 + 256 * 23) - 4096 - 2400 - 33 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		cleanup_strbuf struct strbuf file = { 0 };
		cleanup_arena struct arena arena = { 0 };
		const struct file_facts *f;

		make_unstripped(&file, before[i], 40 * MIB, i & 1);
		f = facts_of("usr/lib/libx.so", strbuf_slice(&file), &arena);
		assert_non_null(f);
		assert_non_null(f->elf);
		assert_int_equal(f->elf->debug_bytes, before[i] + 2400 + 40 * MIB);
		assert_true(f->elf->opens & OPENS_COMPUTE);
	}
}

/* What is kept of it is its beginning, however long it is: LNK009 names the damage by that. */
static void test_a_library_that_is_no_elf_file_keeps_its_head(void **state)
{
	static const size_t sizes[] = { 100, 70 * 1000, 70 * 1000 * 1000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		cleanup_arena struct arena arena = { 0 };
		cleanup_strbuf struct strbuf bytes = { 0 };
		const struct file_facts *f;

		strbuf_add(&bytes,
			   "\x7f"
			   "ELFbroken",
			   10);
		while (bytes.len < sizes[i])
			strbuf_addc(&bytes, 'x');
		f = facts_of("usr/lib/libx.so.1", strbuf_slice(&bytes), &arena);
		assert_non_null(f);
		assert_null(f->elf);
		assert_int_equal(f->text_len, MIN(bytes.len, (size_t)512));
		assert_memory_equal(f->text, bytes.data, f->text_len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_sections_are_found_before_the_names_of_symbols),
		cmocka_unit_test(test_a_file_of_ptx_says_what_it_is_for),
		cmocka_unit_test(test_gpu_code_in_members_of_a_static_library_is_found),
		cmocka_unit_test(test_static_libraries_may_be_cut_or_lie_about_sizes),
		cmocka_unit_test(test_a_library_that_is_no_elf_file_keeps_its_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
