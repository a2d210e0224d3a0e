/*
 * Where text goes. Passed in, never global, so that tests capture it. Reports go to `out`;
 * progress, notes and warnings go to `err`.
 */
#ifndef BASE_OUT_H
#define BASE_OUT_H

#include "base/base.h"

struct out {
	FILE *out;     /* what was asked for */
	FILE *err;     /* what the user should also know */
	int verbosity; /* -1 quiet, 0 normal, 1 and more verbose */
	bool colour;   /* ANSI colours may be used on `out` */
	bool err_colour;
};

/* To out->out. */
void out_print(const struct out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* In what follows `o` may be NULL: nothing is said then. */
/* A line about progress, to out->err, unless quiet. A newline is added. */
void out_note(const struct out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A line for -v, to out->err. A newline is added. */
void out_verbose(const struct out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "warning: …" to out->err, even when quiet. A newline is added. */
void out_warn(const struct out *o, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * Text that may quote archives and registries, on a terminal: control characters, those above ASCII
 * too, as \xNN; newlines and tabs stay.
 */
void out_put_clean(FILE *file, const char *text);
/* A size for people: "734 B", "2.1 MiB". Returns buf. */
const char *out_size(uint64_t bytes, char buf[32]);

#endif
