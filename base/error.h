/*
 * The error value and its chain of context.
 *
 * A function that can fail takes `struct error *err` last and returns 0 or -1 (a constructor
 * returns NULL). On success *err is untouched; on failure it is set once, where the cause is
 * known, and each caller that knows more prepends it. Nothing is allocated, nothing to free.
 *
 * Headers name the codes that a function gives of itself. Not repeated there is ERROR_SYSTEM of
 * what it reads and writes, and what comes from a stream, a sink or a callback that it was handed.
 * Only cli/ shows errors; the code picks the exit status.
 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "base/base.h"

enum error_code {
	ERROR_NONE = 0,
	ERROR_USAGE,     /* the user's request or manifest is wrong: exit 2 */
	ERROR_FORMAT,    /* input is not what its format says */
	ERROR_LIMIT,     /* input exceeds a limit of ours */
	ERROR_INTEGRITY, /* a digest, size or signature does not match */
	ERROR_NOT_FOUND, /* something that was named does not exist */
	ERROR_SYSTEM,    /* a system call failed: see sys_errno */
	ERROR_NETWORK,   /* a peer refused, or could not be reached */
	ERROR_VERDICT,   /* judged, and the verdict is against (unsatisfiable, findings): exit 1 */
};

struct error {
	enum error_code code;
	int sys_errno;  /* 0 unless code is ERROR_SYSTEM */
	char text[480]; /* "outer: inner: cause"; when full, the head is cut and the cause kept */
};

/* Set the cause. Returns -1, so that a caller may `return error_set(…)`. */
int error_set(struct error *err, enum error_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Set the cause from `sys_errno`: the text is followed by ": " and its strerror. Returns -1. */
int error_set_errno(struct error *err, int sys_errno, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Prepend "text: " to what is there. Returns -1. */
int error_wrap(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Exit status for `code`: 1 ERROR_VERDICT, 2 ERROR_USAGE, else 3. */
int error_exit_status(enum error_code code);

#endif
