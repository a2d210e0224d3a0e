#include "tests/support/test.h"

#include "base/process.h"
#include "formats/ldcache.h"

enum { LIB64 = LDCACHE_X86_64_LIB64 };

static const struct ldcache_entry sample[] = {
	{ "libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6", LIB64, "" },
	{ "liba.so.2", "/usr/lib/liba.so.2", LIB64, "" },
	{ "liba.so.10", "/usr/lib/liba.so.10", LIB64, "" },
	{ "liba.so.2", "/opt/lib/liba.so.2", LIB64, "" },
	{ "liba.so.2", "/usr/lib/glibc-hwcaps/x86-64-v3/liba.so.2", LIB64, "x86-64-v3" },
	{ "liba.so.2", "/usr/lib/glibc-hwcaps/x86-64-v2/liba.so.2", LIB64, "x86-64-v2" },
};

static void write_sample(struct strbuf *out)
{
	ldcache_write(sample, ARRAY_LEN(sample), out);
}

static void test_names_compare_by_numbers(void **state)
{
	(void)state;
	assert_true(ldcache_compare("liba.so.10", "liba.so.9") > 0);
	assert_true(ldcache_compare("liba.so.9", "liba.so.10") < 0);
	assert_int_equal(ldcache_compare("liba.so.1", "liba.so.1"), 0);
	assert_true(ldcache_compare("lib1", "liba") > 0); /* digits come after letters */
	assert_true(ldcache_compare("liba.so.1", "liba.so") > 0);
	assert_int_equal(ldcache_compare("a4294967296", "a0"), 0); /* wraps like the loader's int */
}

static void test_a_written_cache_reads_back_in_the_loaders_order(void **state)
{
	static const char *const want[] = {
		"/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/liba.so.10",
		"/usr/lib/glibc-hwcaps/x86-64-v2/liba.so.2",
		"/usr/lib/glibc-hwcaps/x86-64-v3/liba.so.2",
		"/usr/lib/liba.so.2",
		"/opt/lib/liba.so.2",
	};
	cleanup(ldcache_release) struct ldcache cache = { 0 };
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error err = { 0 };

	(void)state;
	write_sample(&bytes);
	assert_ok(ldcache_read(strbuf_slice(&bytes), &cache, &err), err);
	assert_int_equal(cache.len, ARRAY_LEN(want));
	for (size_t i = 0; i < cache.len; i++)
		assert_string_equal(cache.items[i].path, want[i]);
	assert_string_equal(cache.items[2].hwcaps, "x86-64-v2");
	assert_string_equal(cache.items[4].hwcaps, "");
	assert_int_equal(cache.items[0].flags, LIB64);
}

static void test_an_empty_cache_is_valid(void **state)
{
	cleanup(ldcache_release) struct ldcache cache = { 0 };
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error err = { 0 };

	(void)state;
	ldcache_write(NULL, 0, &bytes);
	assert_ok(ldcache_read(strbuf_slice(&bytes), &cache, &err), err);
	assert_int_equal(cache.len, 0);
}

static void test_no_truncation_is_read_beyond_its_end(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };

	(void)state;
	write_sample(&bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		cleanup_free uint8_t *copy = xmemdup(bytes.data, len);
		struct ldcache cache = { 0 };
		struct error err = { 0 };

		if (ldcache_read(slice_of(copy, len), &cache, &err) < 0)
			assert_int_equal(err.code, ERROR_FORMAT);
		ldcache_release(&cache);
	}
}

static void test_every_changed_byte_is_survived(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };

	(void)state;
	write_sample(&bytes);
	for (size_t i = 0; i < bytes.len; i++) {
		cleanup_free uint8_t *copy = xmemdup(bytes.data, bytes.len);
		struct ldcache cache = { 0 };
		struct error err = { 0 };

		copy[i] ^= 0xff;
		if (ldcache_read(slice_of(copy, bytes.len), &cache, &err) < 0)
			assert_int_equal(err.code, ERROR_FORMAT);
		ldcache_release(&cache);
	}
}

static void test_a_count_beyond_the_file_is_refused(void **state)
{
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct ldcache cache = { 0 };
	struct error err = { 0 };

	(void)state;
	write_sample(&bytes);
	memset(bytes.data + 20, 0xff, 4);
	assert_int_equal(ldcache_read(strbuf_slice(&bytes), &cache, &err), -1);
	assert_contains(err.text, "4294967295 entries");
}

static void test_the_old_header_before_the_new_one_is_skipped(void **state)
{
	cleanup(ldcache_release) struct ldcache cache = { 0 };
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error err = { 0 };

	(void)state;
	strbuf_add(&bytes, "ld.so-1.7.0\0\1\0\0\0", 16);
	strbuf_add_zeros(&bytes, 12 + 4); /* one entry, padding to 8 */
	write_sample(&bytes);
	assert_ok(ldcache_read(strbuf_slice(&bytes), &cache, &err), err);
	assert_int_equal(cache.len, ARRAY_LEN(sample));
}

static void test_the_old_format_alone_is_read(void **state)
{
	static const uint8_t old[] = "ld.so-1.7.0\0\1\0\0\0" /* one entry */
				     "\1\0\0\0"
				     "\0\0\0\0"
				     "\5\0\0\0" /* flags, name, path */
				     "l.so\0/l.so";
	cleanup(ldcache_release) struct ldcache cache = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_ok(ldcache_read(slice_of(old, sizeof(old)), &cache, &err), err);
	assert_string_equal(cache.items[0].soname, "l.so");
	assert_string_equal(cache.items[0].path, "/l.so");
}

static bool have_ldconfig(const char **out)
{
	*out = access("/sbin/ldconfig", X_OK) == 0 ? "/sbin/ldconfig" : "ldconfig";
	return access("/sbin/ldconfig", X_OK) == 0 || process_available("ldconfig");
}

static void test_ldconfig_prints_a_written_cache(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "cache");
	cleanup_process struct process_result result = { 0 };
	cleanup_strbuf struct strbuf bytes = { 0 };
	struct error err = { 0 };
	const char *ldconfig;

	(void)state;
	if (!have_ldconfig(&ldconfig))
		skip();
	write_sample(&bytes);
	assert_ok(fs_write(AT_FDCWD, file, strbuf_slice(&bytes), 0644, &err), err);
	{
		const char *argv[] = { ldconfig, "-p", "-C", file, NULL };
		struct process p = { .argv = argv };

		assert_ok(process_run(&p, &result, &err), err);
	}
	assert_int_equal(result.exit_status, 0);
	assert_contains(strbuf_text(&result.out_stdout), "6 libs found in cache");
	assert_contains(strbuf_text(&result.out_stdout),
			"liba.so.2 (libc6,x86-64, hwcap: \"x86-64-v3\") => "
			"/usr/lib/glibc-hwcaps/x86-64-v3/liba.so.2");
	assert_contains(strbuf_text(&result.out_stdout), "Cache generated by: gpuimg");
}

/* Where the strings end and the extensions, which name their writer, begin. */
static uint32_t extension_offset(const struct strbuf *b)
{
	const uint8_t *p = (const uint8_t *)b->data + 32;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void test_ldconfigs_own_cache_is_written_again_byte_for_byte(void **state)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free char *file = fs_join(dir, "cache");
	cleanup(ldcache_release) struct ldcache cache = { 0 };
	cleanup_process struct process_result result = { 0 };
	cleanup_strbuf struct strbuf theirs = { 0 }, ours = { 0 };
	struct error err = { 0 };
	const char *ldconfig;

	(void)state;
	if (!have_ldconfig(&ldconfig))
		skip();
	{
		const char *argv[] = { ldconfig, "-X", "-C", file, NULL };
		struct process p = { .argv = argv };

		assert_ok(process_run(&p, &result, &err), err);
	}
	if (result.exit_status != 0)
		skip();
	assert_ok(fs_read(AT_FDCWD, file, 64 * MIB, &theirs, &err), err);
	assert_ok(ldcache_read(strbuf_slice(&theirs), &cache, &err), err);
	assert_true(cache.len > 0);
	ldcache_write(cache.items, cache.len, &ours);
	assert_int_equal(extension_offset(&ours), extension_offset(&theirs));
	assert_memory_equal(ours.data, theirs.data, extension_offset(&theirs));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_compare_by_numbers),
		cmocka_unit_test(test_a_written_cache_reads_back_in_the_loaders_order),
		cmocka_unit_test(test_an_empty_cache_is_valid),
		cmocka_unit_test(test_no_truncation_is_read_beyond_its_end),
		cmocka_unit_test(test_every_changed_byte_is_survived),
		cmocka_unit_test(test_a_count_beyond_the_file_is_refused),
		cmocka_unit_test(test_the_old_header_before_the_new_one_is_skipped),
		cmocka_unit_test(test_the_old_format_alone_is_read),
		cmocka_unit_test(test_ldconfig_prints_a_written_cache),
		cmocka_unit_test(test_ldconfigs_own_cache_is_written_again_byte_for_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
