#include "tests/support/test.h"

#include "formats/elf.h"

/*
 * A shared object of either class, made here: header, three program headers, interpreter,
 * strings, dynamic section, section headers.
 */
struct maker {
	struct strbuf bytes;
	bool is64, big;
};

static void put(struct maker *m, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		strbuf_addc(&m->bytes, (char)(v >> 8 * (m->big ? bytes - 1 - i : i)));
}

static void put_word(struct maker *m, uint64_t v)
{
	put(m, v, m->is64 ? 8 : 4);
}

static void put_segment(struct maker *m, uint32_t type, uint64_t offset, uint64_t size)
{
	put(m, type, 4);
	if (m->is64)
		put(m, 4, 4);
	put_word(m, offset);
	put_word(m, 0x10000 + offset);
	put_word(m, 0);
	put_word(m, size);
	put_word(m, size);
	if (!m->is64)
		put(m, 4, 4);
	put_word(m, 8);
}

static void put_section(struct maker *m, uint32_t name, uint32_t type, uint64_t offset,
			uint64_t size)
{
	put(m, name, 4);
	put(m, type, 4);
	put_word(m, 0);
	put_word(m, 0);
	put_word(m, offset);
	put_word(m, size);
	put(m, 0, 4);
	put(m, 0, 4);
	put_word(m, 1);
	put_word(m, 0);
}

static const char strings[] = "\0libfoo.so.1\0liba.so.1\0libb.so.2\0$ORIGIN/../lib\0/opt/lib";
static const char names[] = "\0.shstrtab\0.nv_fatbin\0.dynstr";

static void make(struct maker *m)
{
	uint64_t word = m->is64 ? 8 : 4, header = m->is64 ? 64 : 52, phent = m->is64 ? 56 : 32;
	uint64_t shent = m->is64 ? 64 : 40, interp = header + 3 * phent, strtab = interp + 16;
	uint64_t dynamic = strtab + sizeof(strings), dynamic_size = 9 * 2 * word;
	uint64_t shstr = dynamic + dynamic_size, sections = shstr + sizeof(names);
	const struct {
		uint64_t tag, value;
	} entries[] = {
		{ 14, 1 },
		{ 1, 13 },
		{ 1, 23 },
		{ 15, 48 },
		{ 29, 33 },
		{ 5, 0x10000 + strtab },
		{ 10, sizeof(strings) },
		{ 0x6ffffffb, 1 },
		{ 0, 0 },
	};

	strbuf_add(&m->bytes,
		   "\x7f"
		   "ELF",
		   4);
	put(m, m->is64 ? 2 : 1, 1);
	put(m, m->big ? 2 : 1, 1);
	put(m, 1, 1);
	put(m, 3, 1);
	put(m, 0, 8);
	put(m, ELF_TYPE_DYN, 2);
	put(m, ELF_MACHINE_X86_64, 2);
	put(m, 1, 4);
	put_word(m, 0);
	put_word(m, header);
	put_word(m, sections);
	put(m, 0, 4);
	put(m, header, 2);
	put(m, phent, 2);
	put(m, 3, 2);
	put(m, shent, 2);
	put(m, 4, 2);
	put(m, 1, 2);
	put_segment(m, 1, 0, sections);
	put_segment(m, 3, interp, 16);
	put_segment(m, 2, dynamic, dynamic_size);
	strbuf_add(&m->bytes, "/lib/ld-test.so\0", 16);
	strbuf_add(&m->bytes, strings, sizeof(strings));
	for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
		put_word(m, entries[i].tag);
		put_word(m, entries[i].value);
	}
	strbuf_add(&m->bytes, names, sizeof(names));
	put_section(m, 0, 0, 0, 0);
	put_section(m, 1, 3, shstr, sizeof(names));
	put_section(m, 11, 1, interp, 16);
	put_section(m, 22, 3, strtab, sizeof(strings));
}

static void assert_is(struct slice s, const char *text)
{
	if (!slice_is(s, text))
		fail_msg("\"%.*s\" is not \"%s\"", (int)s.len, s.data ? (const char *)s.data : "",
			 text);
}

static void check_made(bool is64, bool big)
{
	struct maker m = { .is64 = is64, .big = big };
	cleanup_free char *bytes = NULL;
	struct error err = { 0 };
	struct elf elf = { 0 };

	make(&m);
	bytes = xmemdup(m.bytes.data, m.bytes.len);
	assert_ok(elf_read(slice_of(bytes, m.bytes.len), &elf, &err), err);
	assert_int_equal(elf.is64, is64);
	assert_int_equal(elf.big_endian, big);
	assert_int_equal(elf.type, ELF_TYPE_DYN);
	assert_int_equal(elf.machine, ELF_MACHINE_X86_64);
	assert_false(elf.truncated);
	assert_is(elf.interp, "/lib/ld-test.so");
	assert_is(elf.soname, "libfoo.so.1");
	assert_is(elf.rpath, "/opt/lib");
	assert_is(elf.runpath, "$ORIGIN/../lib");
	assert_int_equal(elf.needed.len, 2);
	assert_is(elf.needed.items[0], "liba.so.1");
	assert_is(elf.needed.items[1], "libb.so.2");
	assert_int_equal(elf.flags_1, 1);
	assert_int_equal(elf.sections.len, 4);
	assert_non_null(elf_section(&elf, ".nv_fatbin"));
	assert_null(elf_section(&elf, ".text"));
	elf_release(&elf);
	strbuf_release(&m.bytes);
}

static void test_both_classes_and_byte_orders_are_read(void **state)
{
	(void)state;
	check_made(true, false);
	check_made(true, true);
	check_made(false, false);
	check_made(false, true);
}

static void test_every_truncation_is_refused_or_noted(void **state)
{
	struct maker m = { .is64 = true };

	(void)state;
	make(&m);
	for (size_t len = 0; len < m.bytes.len; len++) {
		cleanup_free uint8_t *copy = xmemdup(m.bytes.data, len);
		struct error err = { 0 };
		struct elf elf = { 0 };

		if (elf_read(slice_of(copy, len), &elf, &err) < 0) {
			assert_int_equal(err.code, ERROR_FORMAT);
			assert_true(len < 64);
			continue;
		}
		assert_true(len >= 64);
		assert_true(elf.truncated);
		elf_release(&elf);
	}
	strbuf_release(&m.bytes);
}

static void test_every_changed_byte_is_survived(void **state)
{
	struct maker m = { .is64 = true };

	(void)state;
	make(&m);
	for (size_t i = 0; i < m.bytes.len; i++) {
		cleanup_free uint8_t *copy = xmemdup(m.bytes.data, m.bytes.len);
		struct elf_symbols symbols = { 0 };
		struct error err = { 0 };
		struct elf elf = { 0 };

		copy[i] ^= 0xff;
		elf_dynamic_end(slice_of(copy, m.bytes.len));
		if (elf_read(slice_of(copy, m.bytes.len), &elf, &err) < 0)
			continue;
		if (elf_dynamic_symbols(&elf, &symbols, &err) == 0)
			vec_release(&symbols);
		elf_release(&elf);
	}
	strbuf_release(&m.bytes);
}

static void test_the_dynamic_part_ends_before_the_sections(void **state)
{
	struct maker m = { .is64 = true };
	struct error err = { 0 };
	struct elf elf = { 0 };
	uint64_t end;

	(void)state;
	make(&m);
	end = elf_dynamic_end(strbuf_slice(&m.bytes));
	assert_true(end < m.bytes.len);
	assert_ok(elf_read(slice_of(m.bytes.data, (size_t)end), &elf, &err), err);
	assert_true(elf.truncated); /* the sections are not there */
	assert_int_equal(elf.needed.len, 2);
	assert_is(elf.soname, "libfoo.so.1");
	elf_release(&elf);
	assert_int_equal(elf_dynamic_end(slice_of(m.bytes.data, 100)), 0);
	strbuf_release(&m.bytes);
}

static void test_a_table_beyond_any_file_is_refused(void **state)
{
	struct maker m = { .is64 = true };
	struct error err = { 0 };
	struct elf elf = { 0 };

	(void)state;
	make(&m);
	memset(m.bytes.data + 32, 0xff, 8); /* offset of the program headers */
	assert_int_equal(elf_read(strbuf_slice(&m.bytes), &elf, &err), -1);
	assert_int_equal(err.code, ERROR_FORMAT);
	assert_contains(err.text, "beyond any file");
	strbuf_release(&m.bytes);
}

static void test_a_real_program_is_read(void **state)
{
	cleanup_strbuf struct strbuf file = { 0 };
	struct elf_symbols symbols = { 0 };
	struct error err = { 0 };
	struct elf elf = { 0 };
	bool uses_libc_start = false;

	(void)state;
	assert_ok(fs_read(AT_FDCWD, "/proc/self/exe", 256 * MIB, &file, &err), err);
	assert_ok(elf_read(strbuf_slice(&file), &elf, &err), err);
	assert_false(elf.truncated);
	assert_true(elf.interp.len > 0);
	assert_true(elf.needed.len > 0);
	assert_ok(elf_dynamic_symbols(&elf, &symbols, &err), err);
	for (size_t i = 0; i < symbols.len; i++)
		uses_libc_start |= slice_starts(symbols.items[i].name, "__libc_start_main");
	assert_true(uses_libc_start);
	vec_release(&symbols);
	elf_release(&elf);
}

static void read_self(const char *path, struct strbuf *file, struct elf *elf)
{
	struct error err = { 0 };

	assert_ok(fs_read(AT_FDCWD, path, 256 * MIB, file, &err), err);
	assert_ok(elf_read(strbuf_slice(file), elf, &err), err);
}

static bool has_version(const struct elf_versions *versions, const char *file, const char *start)
{
	for (size_t i = 0; i < versions->len; i++) {
		if ((!file || slice_is(versions->items[i].file, file)) &&
		    slice_starts(versions->items[i].name, start))
			return true;
	}
	return false;
}

static void test_the_versions_that_a_program_needs_are_read(void **state)
{
	cleanup_strbuf struct strbuf file = { 0 };
	cleanup_elf struct elf elf = { 0 };
	struct elf_versions needs = { 0 }, defs = { 0 };

	(void)state;
	read_self("/proc/self/exe", &file, &elf);
	elf_version_needs(&elf, &needs);
	elf_version_definitions(&elf, &defs);
	assert_true(has_version(&needs, "libc.so.6", "GLIBC_2."));
	assert_int_equal(defs.len, 0);
	assert_false(elf.exec_stack);
	assert_false(elf.cut_short);
	vec_release(&needs);
	vec_release(&defs);
}

static void test_the_versions_that_a_library_defines_are_read(void **state)
{
	static const char *const places[] = { "/lib/x86_64-linux-gnu/libc.so.6",
					      "/lib/aarch64-linux-gnu/libc.so.6",
					      "/lib64/libc.so.6" };
	cleanup_strbuf struct strbuf file = { 0 };
	cleanup_elf struct elf elf = { 0 };
	struct elf_versions defs = { 0 };
	size_t i = 0;

	(void)state;
	while (i < ARRAY_LEN(places) && !fs_exists(AT_FDCWD, places[i]))
		i++;
	if (i == ARRAY_LEN(places))
		skip();
	read_self(places[i], &file, &elf);
	elf_version_definitions(&elf, &defs);
	assert_true(defs.len > 10);
	assert_true(slice_is(defs.items[0].name, "libc.so.6"));
	assert_true(has_version(&defs, NULL, "GLIBC_2.17"));
	vec_release(&defs);
}

static void test_a_file_that_was_cut_says_so(void **state)
{
	cleanup_strbuf struct strbuf file = { 0 };
	cleanup_elf struct elf whole = { 0 }, elf = { 0 };
	const struct elf_section *text;
	struct error err = { 0 };

	(void)state;
	read_self("/proc/self/exe", &file, &whole);
	text = elf_section(&whole, ".text");
	assert_non_null(text);
	assert_ok(elf_read(slice_of(file.data, (size_t)text->offset + 10), &elf, &err), err);
	assert_true(elf.cut_short);
}

static void test_changed_versions_are_survived(void **state)
{
	cleanup_strbuf struct strbuf file = { 0 };
	struct error err = { 0 };
	uint32_t seed = 7;

	(void)state;
	assert_ok(fs_read(AT_FDCWD, "/proc/self/exe", 256 * MIB, &file, &err), err);
	for (size_t n = 0; n < 300; n++) {
		cleanup_elf struct elf elf = { 0 };
		struct elf_versions needs = { 0 };
		const struct elf_section *s;
		char kept;
		size_t at;

		assert_ok(elf_read(strbuf_slice(&file), &elf, &err), err);
		s = elf_section(&elf, ".gnu.version_r");
		assert_non_null(s);
		seed = seed * 1103515245u + 12345u;
		at = (size_t)s->offset + (seed >> 8) % (size_t)s->size;
		kept = file.data[at];
		file.data[at] = (char)(seed >> 4);
		elf_version_needs(&elf, &needs);
		file.data[at] = kept;
		vec_release(&needs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_classes_and_byte_orders_are_read),
		cmocka_unit_test(test_every_truncation_is_refused_or_noted),
		cmocka_unit_test(test_every_changed_byte_is_survived),
		cmocka_unit_test(test_the_dynamic_part_ends_before_the_sections),
		cmocka_unit_test(test_a_table_beyond_any_file_is_refused),
		cmocka_unit_test(test_a_real_program_is_read),
		cmocka_unit_test(test_the_versions_that_a_program_needs_are_read),
		cmocka_unit_test(test_the_versions_that_a_library_defines_are_read),
		cmocka_unit_test(test_a_file_that_was_cut_says_so),
		cmocka_unit_test(test_changed_versions_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
