/*
 * GPU code of an image's own: which files count, and what is made of sizes that cannot be.
 */
#include "tests/support/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "testkernels/image_code.h"

enum { ELF_HEADER = 64, SECTION = 64 };

static void put_number(struct strbuf *out, uint64_t value, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		strbuf_addc(out, (char)(value >> (8 * i)));
}

static void put_section(struct strbuf *out, uint32_t name, uint32_t type, uint64_t offset,
			uint64_t size)
{
	put_number(out, name, 4);
	put_number(out, type, 4);
	put_number(out, 2, 8); /* SHF_ALLOC */
	put_number(out, 0, 8);
	put_number(out, offset, 8);
	put_number(out, size, 8);
	put_number(out, 0, 8);
	put_number(out, 8, 8);
	put_number(out, 0, 8);
}

/* A library whose section `name` holds `code`. */
static void put_library(const char *dir, const char *file, const char *name, struct slice code)
{
	cleanup_strbuf struct strbuf out = { 0 };
	cleanup_free char *path = fs_join(dir, file);
	struct error err = { 0 };
	size_t names = ELF_HEADER + code.len, names_len = 1 + strlen(name) + 1 + 10, table;

	table = (names + names_len + 4096 + 7) & ~(size_t)7;
	strbuf_add(&out, "\177ELF\2\1\1\0\0\0\0\0\0\0\0", 16);
	put_number(&out, 3, 2);
	put_number(&out, 62, 2);
	put_number(&out, 1, 4);
	put_number(&out, 0, 8);
	put_number(&out, 0, 8);
	put_number(&out, table, 8);
	put_number(&out, 0, 4);
	put_number(&out, ELF_HEADER, 2);
	put_number(&out, 56, 2);
	put_number(&out, 0, 2);
	put_number(&out, SECTION, 2);
	put_number(&out, 3, 2);
	put_number(&out, 2, 2);
	strbuf_add(&out, code.data, code.len);
	strbuf_addc(&out, '\0');
	strbuf_add(&out, name, strlen(name) + 1);
	strbuf_add(&out, ".shstrtab", 10);
	put_number(&out, 0, 8);
	while (out.len < table)
		strbuf_addc(&out, '\0');
	put_section(&out, 0, 0, 0, 0);
	put_section(&out, 1, 1, ELF_HEADER, code.len);
	put_section(&out, (uint32_t)(2 + strlen(name)), 3, names, names_len);
	assert_ok(fs_write(AT_FDCWD, path, strbuf_slice(&out), 0755, &err), err);
}

static void put_container(struct strbuf *out, uint64_t stated, size_t actual)
{
	put_number(out, 0xBA55ED50, 4);
	put_number(out, 1, 2);
	put_number(out, 16, 2);
	put_number(out, stated, 8);
	for (size_t i = 0; i < actual; i++)
		strbuf_addc(out, 'c');
}

struct fixture {
	char *dir;
	struct arena arena;
	struct code_objects code;
};

static void find(struct fixture *f)
{
	cleanup_fd int fd = open(f->dir, O_RDONLY | O_DIRECTORY);
	struct error err = { 0 };

	vec_release(&f->code);
	assert_ok(image_code_find(fd, &f->arena, &f->code, &err), err);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = test_dir();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	vec_release(&f->code);
	arena_release(&f->arena);
	test_dir_free(f->dir);
	free(f);
	return 0;
}

static void test_containers_are_found_where_they_stand(void **state)
{
	struct fixture *f = *state;
	cleanup_strbuf struct strbuf code = { 0 };

	put_container(&code, 24, 24);
	put_container(&code, 0, 0);
	put_container(&code, 8, 8);
	put_library(f->dir, "libmine.so", ".nv_fatbin", strbuf_slice(&code));
	put_library(f->dir, "program", ".nv_fatbin", strbuf_slice(&code));
	put_library(f->dir, "libcublas.so.13", ".nv_fatbin", strbuf_slice(&code));
	put_library(f->dir, "librelocatable.so", "__nv_relfatbin", strbuf_slice(&code));
	find(f);
	assert_int_equal(f->code.len, 2);
	assert_string_equal(f->code.items[0].path, "/libmine.so");
	assert_string_equal(f->code.items[1].path, "/program");
	assert_int_equal(f->code.items[0].count, 3);
	assert_int_equal(f->code.items[0].containers[0].offset, ELF_HEADER);
	assert_int_equal(f->code.items[0].containers[0].size, 40);
	assert_int_equal(f->code.items[0].containers[2].offset, ELF_HEADER + 40 + 16);
}

static void test_of_many_containers_every_so_many_th_is_kept(void **state)
{
	struct fixture *f = *state;
	cleanup_strbuf struct strbuf code = { 0 };

	for (size_t i = 0; i < 1000; i++)
		put_container(&code, 8, 8);
	put_library(f->dir, "libmany.so", ".nv_fatbin", strbuf_slice(&code));
	find(f);
	assert_int_equal(f->code.items[0].total, 1000);
	assert_in_range(f->code.items[0].count, CODE_CONTAINERS_MAX / 2, CODE_CONTAINERS_MAX);
	assert_in_range(f->code.items[0].containers[f->code.items[0].count - 1].offset,
			ELF_HEADER + 24 * 900, ELF_HEADER + 24 * 1000);
}

static void test_sizes_that_cannot_be_end_the_search(void **state)
{
	static const uint64_t sizes[] = { 9, 1 << 30, UINT64_MAX, UINT64_MAX - 16 };
	struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		cleanup_strbuf struct strbuf code = { 0 };

		put_container(&code, 8, 8);
		put_container(&code, sizes[i], 8);
		put_library(f->dir, "libbad.so", ".nv_fatbin", strbuf_slice(&code));
		find(f);
		assert_int_equal(f->code.len, 1);
		assert_int_equal(f->code.items[0].total, 1);
	}
	put_library(f->dir, "libbad.so", ".nv_fatbin", slice_str("no container at all, but text"));
	find(f);
	assert_int_equal(f->code.len, 0);
}

static void test_a_file_that_is_cut_off_is_read_as_far_as_it_goes(void **state)
{
	struct fixture *f = *state;
	cleanup_free char *path = fs_join(f->dir, "libcut.so");
	cleanup_strbuf struct strbuf code = { 0 };

	for (size_t i = 0; i < 200; i++)
		put_container(&code, 24, 24);
	for (off_t size = 12000; size > 4096; size -= 500) {
		put_library(f->dir, "libcut.so", ".nv_fatbin", strbuf_slice(&code));
		assert_int_equal(truncate(path, size), 0);
		find(f);
		assert_true(f->code.len <= 1);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_containers_are_found_where_they_stand),
		TEST(test_of_many_containers_every_so_many_th_is_kept),
		TEST(test_sizes_that_cannot_be_end_the_search),
		TEST(test_a_file_that_is_cut_off_is_read_as_far_as_it_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
