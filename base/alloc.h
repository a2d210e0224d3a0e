/*
 * Allocation that ends the program when memory is short. That is honest only because every size
 * that comes from input met a limit before it reached one of these.
 *
 * All results are the caller's, to be released with free(). None returns NULL.
 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include "base/base.h"

/*
 * Says so on standard error and ends the program with status 3. Also for what a library could not
 * make because memory is short.
 */
void NORETURN out_of_memory(void);

void *xmalloc(size_t bytes) __attribute__((malloc, returns_nonnull));
/* `count * bytes` zeroed bytes; ends the program when the product overflows. */
void *xcalloc(size_t count, size_t bytes) __attribute__((malloc, returns_nonnull));
void *xreallocarray(void *old, size_t count, size_t bytes) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
/* At most `len` bytes of `s`, then a NUL. */
char *xstrndup(const char *s, size_t len) __attribute__((malloc, returns_nonnull));
void *xmemdup(const void *data, size_t bytes) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((malloc, returns_nonnull));
char *xvasprintf(const char *fmt, va_list ap) PRINTF_LIKE(1, 0)
	__attribute__((malloc, returns_nonnull));

#endif
