#include "tests/support/test.h"

#include "builder/digest_ahead.h"

enum { FILES = 90 };

/* Around blocks of SHA-256 and around what is read at once. */
static const size_t sizes[] = { 0,      1,      63,     64,     65,      4096,   131071,
				131072, 131073, 262144, 700001, 1048583, 100000, 17 };

struct sample {
	char *paths[FILES];
	struct digest expected[FILES];
	struct digest_ahead_file files[FILES];
};

static void sample_release(struct sample *s)
{
	for (size_t i = 0; i < FILES; i++)
		free(s->paths[i]);
}

static void sample_make(struct sample *s, const char *dir)
{
	for (size_t i = 0; i < FILES; i++) {
		size_t len = sizes[i % ARRAY_LEN(sizes)];
		cleanup_free uint8_t *bytes = xmalloc(len + 1);
		cleanup_free char *name = xasprintf("f%zu", i);
		struct error err = { 0 };

		for (size_t k = 0; k < len; k++)
			bytes[k] = (uint8_t)(k * 31 + k / 251 + i);
		s->paths[i] = fs_join(dir, name);
		assert_ok(fs_write(AT_FDCWD, s->paths[i], slice_of(bytes, len), 0600, &err), err);
		s->expected[i] = digest_of(slice_of(bytes, len));
		s->files[i] = (struct digest_ahead_file){ .path = s->paths[i], .size = len };
	}
}

static void assert_digest(struct digest_ahead *d, struct sample *s, size_t i)
{
	assert_ok(digest_ahead_wait(d, &s->files[i]), s->files[i].error);
	assert_true(digest_equal(&s->files[i].digest, &s->expected[i]));
	assert_true(s->files[i].stamp.size == s->files[i].size);
}

static void each_file_gets_its_digest(unsigned threads)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free struct sample *s = xcalloc(1, sizeof(*s));
	cleanup_pool struct pool *pool = threads ? pool_new(threads) : NULL;
	struct digest_ahead *d = digest_ahead_new(pool);

	sample_make(s, dir);
	for (size_t i = 0; i < FILES; i++) /* all, then the last first */
		digest_ahead_submit(d, &s->files[i]);
	for (size_t i = FILES; i-- > 0;)
		assert_digest(d, s, i);
	for (size_t i = 0; i < FILES; i++) { /* a few ahead */
		digest_ahead_submit(d, &s->files[i]);
		if (i >= 5)
			assert_digest(d, s, i - 5);
	}
	for (size_t i = FILES - 5; i < FILES; i++)
		assert_digest(d, s, i);
	digest_ahead_free(d);
	sample_release(s);
}

static void test_each_file_gets_its_digest(void **state)
{
	(void)state;
	each_file_gets_its_digest(0);
	each_file_gets_its_digest(1);
	each_file_gets_its_digest(4);
}

/* Their neighbours, which are read in turn with them, are none the worse for it. */
static void files_that_cannot_be_read(unsigned threads)
{
	cleanup_test_dir char *dir = test_dir();
	cleanup_free struct sample *s = xcalloc(1, sizeof(*s));
	cleanup_free char *nowhere = fs_join(dir, "nowhere");
	cleanup_pool struct pool *pool = threads ? pool_new(threads) : NULL;
	struct digest_ahead *d = digest_ahead_new(pool);

	sample_make(s, dir);
	s->files[10].path = nowhere;
	s->files[25].size++; /* it was longer when the caller looked */
	s->files[39].size--;
	s->files[60].path = dir;
	for (size_t i = 0; i < FILES; i++)
		digest_ahead_submit(d, &s->files[i]);
	for (size_t i = 0; i < FILES; i++) {
		const char *text = s->files[i].error.text;

		if (i != 10 && i != 25 && i != 39 && i != 60) {
			assert_digest(d, s, i);
			continue;
		}
		assert_int_equal(digest_ahead_wait(d, &s->files[i]), -1);
		assert_contains(text, s->files[i].path);
		if (i == 25 || i == 39) {
			assert_int_equal(s->files[i].error.code, ERROR_INTEGRITY);
			assert_contains(text, "changed while it was read");
		}
	}
	digest_ahead_free(d);
	sample_release(s);
}

static void test_what_cannot_be_read_is_named(void **state)
{
	(void)state;
	files_that_cannot_be_read(0);
	files_that_cannot_be_read(3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_file_gets_its_digest),
		cmocka_unit_test(test_what_cannot_be_read_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
