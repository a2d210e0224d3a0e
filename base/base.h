/*
 * The ground every other file stands on: attributes, checked arithmetic, clean-up at the end of a
 * scope, and the functions nobody may call.
 *
 * Always included first, through the header of the file's own module.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define UNUSED __attribute__((unused))
#define NORETURN __attribute__((noreturn))

/* For the rare call whose failure changes nothing: say at the call why. */
#define ignore_result(call) \
	do {                \
		if (call) { \
		}           \
	} while (0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* True when `a + b` does not fit; otherwise *out holds the sum. */
#define add_overflows(a, b, out) __builtin_add_overflow((a), (b), (out))
/* True when `a * b` does not fit; otherwise *out holds the product. */
#define mul_overflows(a, b, out) __builtin_mul_overflow((a), (b), (out))

static inline bool str_equal(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

static inline bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && strcmp(s + n - k, suffix) == 0;
}

/*
 * Resources bound to a scope. Declare such a variable with a value; move it out with steal_*().
 *   cleanup_free char *name = xstrdup(tag);
 *   cleanup_fd int fd = -1;
 * A module with a `_release`, `_free` or `_close` declares its own cleanup with DEFINE_CLEANUP.
 */
static inline void cleanup_free_fn(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fd_fn(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

#define cleanup(fn) __attribute__((cleanup(fn)))
#define cleanup_free cleanup(cleanup_free_fn)
#define cleanup_fd cleanup(cleanup_fd_fn)

static inline void *steal_ptr_fn(void *p)
{
	void **pp = p, *v = *pp;

	*pp = NULL;
	return v;
}

#define steal_ptr(pp) ((__typeof__(*(pp)))steal_ptr_fn(pp))

static inline int steal_fd(int *fd)
{
	int v = *fd;

	*fd = -1;
	return v;
}

/* For `void name(TYPE *)` taking NULL: cleanup_NAME(TYPE *var) calls it on a heap pointer. */
#define DEFINE_CLEANUP(type, free_fn)                  \
	UNUSED static inline void free_fn##_p(type *p) \
	{                                              \
		free_fn(*p);                           \
	}

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll gets strncpy strncat \
	mktemp tmpnam setlocale

#endif
