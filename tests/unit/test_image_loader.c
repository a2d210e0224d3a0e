#include "tests/support/test.h"

#include <fcntl.h>

#include "base/arena.h"
#include "formats/ldcache.h"
#include "testkernels/image_loader.h"

struct fixture {
	char *dir;
	int rootfd;
	struct arena arena;
	struct image_loader loader;
	struct error err;
};

static void put(const struct fixture *f, const char *path, const char *text)
{
	struct error err = { 0 };
	cleanup_free char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');

	if (slash) {
		*slash = '\0';
		assert_ok(fs_mkdirs(f->rootfd, dir, &err), err);
	}
	assert_ok(fs_write(f->rootfd, path, slice_str(text), 0755, &err), err);
}

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	f->dir = test_dir();
	f->rootfd = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	put(f, "lib64/ld-linux-x86-64.so.2", "");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	image_loader_release(&f->loader);
	arena_release(&f->arena);
	close(f->rootfd);
	test_dir_free(f->dir);
	free(f);
	return 0;
}

static void put_cache(const struct fixture *f, const char *const *paths, size_t count)
{
	struct ldcache_entry entries[8] = { 0 };
	cleanup_strbuf struct strbuf cache = { 0 };
	struct error err = { 0 };

	for (size_t i = 0; i < count; i++)
		entries[i] = (struct ldcache_entry){ .soname = strrchr(paths[i], '/') + 1,
						     .path = paths[i],
						     .flags = LDCACHE_X86_64_LIB64,
						     .hwcaps = "" };
	ldcache_write(entries, count, &cache);
	assert_ok(fs_mkdirs(f->rootfd, "etc", &err), err);
	assert_ok(fs_write(f->rootfd, "etc/ld.so.cache", strbuf_slice(&cache), 0644, &err), err);
}

static void find(struct fixture *f, const char *library_path)
{
	assert_ok(image_loader_find(f->rootfd, library_path, &f->arena, &f->loader, &f->err),
		  f->err);
}

static void assert_dirs(const struct fixture *f, const char *want)
{
	cleanup_strbuf struct strbuf got = { 0 };

	for (size_t i = 0; i < f->loader.dirs.len; i++)
		strbuf_addf(&got, "%s%s", i ? ":" : "", f->loader.dirs.items[i]);
	assert_string_equal(strbuf_text(&got), want);
}

static void test_the_loader_is_found_through_links(void **state)
{
	struct fixture *f = *state;

	put(f, "usr/lib/real-loader", "");
	assert_int_equal(unlinkat(f->rootfd, "lib64/ld-linux-x86-64.so.2", 0), 0);
	assert_int_equal(symlinkat("/usr/lib/real-loader", f->rootfd, "lib64/ld-linux-x86-64.so.2"),
			 0);
	find(f, NULL);
	assert_string_equal(f->loader.path, "usr/lib/real-loader");
	assert_int_equal(f->loader.machine, ELF_MACHINE_X86_64);
	assert_false(f->loader.musl);
}

static void test_an_image_without_loader_is_no_error(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlinkat(f->rootfd, "lib64/ld-linux-x86-64.so.2", 0), 0);
	find(f, NULL);
	assert_null(f->loader.path);
}

static void test_the_library_path_comes_first(void **state)
{
	struct fixture *f = *state;

	put(f, "usr/lib/x86_64-linux-gnu/a", "");
	put(f, "opt/b/x", "");
	find(f, "/usr/lib/x86_64-linux-gnu:/missing:/opt/b:relative:");
	assert_dirs(f, "/usr/lib/x86_64-linux-gnu:/opt/b:/lib64:/usr/lib");
}

static void test_the_cache_gives_directories_in_the_order_of_the_configuration(void **state)
{
	static const char *const cached[] = { "/opt/a/liba.so.1", "/opt/b/libb.so.1",
					      "/opt/c/libc.so.1" };
	struct fixture *f = *state;

	put(f, "opt/a/liba.so.1", "");
	put(f, "opt/b/libb.so.1", "");
	put(f, "opt/c/libc.so.1", "");
	put(f, "opt/d/libd.so.1", "");
	put_cache(f, cached, 3);
	put(f, "etc/ld.so.conf", "# first\n/opt/c\ninclude /etc/ld.so.conf.d/*.conf\n");
	put(f, "etc/ld.so.conf.d/2.conf", "/opt/a # note\n");
	put(f, "etc/ld.so.conf.d/1.conf", "/opt/b\n/opt/d\n");
	put(f, "etc/ld.so.conf.d/3.other", "/opt/e\n");
	find(f, NULL);
	assert_true(f->loader.has_cache);
	assert_dirs(f, "/opt/c:/opt/b:/opt/a:/lib64");
	assert_int_equal(f->loader.forgotten.len, 1);
	assert_string_equal(f->loader.forgotten.items[0], "/opt/d");
}

static void test_without_a_cache_the_configuration_does_not_count(void **state)
{
	struct fixture *f = *state;

	put(f, "opt/c/x", "");
	put(f, "etc/ld.so.conf", "/opt/c\n");
	find(f, NULL);
	assert_false(f->loader.has_cache);
	assert_dirs(f, "/lib64");
}

static void test_a_configuration_that_includes_itself_ends(void **state)
{
	static const char *const cached[] = { "/opt/a/liba.so.1" };
	struct fixture *f = *state;

	put(f, "opt/a/liba.so.1", "");
	put_cache(f, cached, 1);
	put(f, "etc/ld.so.conf", "include /etc/ld.so.conf\n/opt/a\n");
	find(f, NULL);
	assert_dirs(f, "/opt/a:/lib64");
}

static void test_musl_has_a_path_file(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(unlinkat(f->rootfd, "lib64/ld-linux-x86-64.so.2", 0), 0);
	put(f, "lib/ld-musl-x86_64.so.1", "");
	put(f, "opt/a/x", "");
	put(f, "opt/b/x", "");
	put(f, "etc/ld-musl-x86_64.path", "/opt/a\n/opt/b\n");
	find(f, NULL);
	assert_true(f->loader.musl);
	assert_dirs(f, "/opt/a:/opt/b");
}

static void test_libraries_outside_the_search_path_are_found_by_path(void **state)
{
	struct fixture *f = *state;
	struct library_copies copies;
	static const char elf[] = "\177ELF"; /* cut off: a damaged library, not a script */

	put(f, "lib64/libcudart.so.12", elf);
	put(f, "opt/venv/libcudart.so.12", elf);
	put(f, "opt/venv/libcudnn.so.9", "/* GNU ld script */");
	put(f, "opt/stubs/libnccl.so.2", elf);
	put(f, "opt/libnvrtc-builtins.so.12", elf);
	put(f, "opt/libcublas-0123abcd.so.12", elf);
	find(f, NULL);
	assert_ok(image_libraries_find(f->rootfd, &f->loader, &f->arena, &copies, &f->err), f->err);
	assert_int_equal(copies.len, 3);
	assert_string_equal(copies.items[0].path, "/lib64/libcudart.so.12");
	assert_true(copies.items[0].found_by_name);
	assert_string_equal(copies.items[1].path, "/opt/venv/libcudart.so.12");
	assert_false(copies.items[1].found_by_name);
	assert_non_null(copies.items[1].damage);
	assert_string_equal(copies.items[2].path, "/opt/libcublas-0123abcd.so.12");
	vec_release(&copies);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_the_loader_is_found_through_links),
		CASE(test_an_image_without_loader_is_no_error),
		CASE(test_the_library_path_comes_first),
		CASE(test_the_cache_gives_directories_in_the_order_of_the_configuration),
		CASE(test_without_a_cache_the_configuration_does_not_count),
		CASE(test_a_configuration_that_includes_itself_ends),
		CASE(test_musl_has_a_path_file),
		CASE(test_libraries_outside_the_search_path_are_found_by_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
