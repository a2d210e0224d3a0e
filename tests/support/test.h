/*
 * What every unit test includes first: cmocka, in the order it wants, and the helpers of
 * tests/support/.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fs.h"

/* Whether this is a program of `make check-asan`, for tests that take minutes in one. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* Fails with the error's text when `rc` is negative. */
#define assert_ok(rc, err)                                      \
	do {                                                    \
		if ((rc) < 0)                                   \
			fail_msg("unexpected: %s", (err).text); \
	} while (0)

/* Fails unless `text` holds `part`, showing both. */
#define assert_contains(text, part)                                              \
	do {                                                                     \
		if (!strstr((text), (part)))                                     \
			fail_msg("\"%s\" does not hold \"%s\"", (text), (part)); \
	} while (0)

/* A fresh directory under $TMPDIR; the caller removes it with test_dir_free. Heap. */
char *test_dir(void);
void test_dir_free(char *dir);
static inline void test_dir_free_p(char **dir)
{
	test_dir_free(*dir);
}
#define cleanup_test_dir cleanup(test_dir_free_p)

#endif
