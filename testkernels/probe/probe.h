/*
 * The program that runs inside the image: it opens the image's own libraries and says what came
 * of it, one JSON object a line, on descriptor 3.
 *
 * It includes nothing of ours and needs nothing of the image but a C library and its loader: one
 * file serves glibc from 2.17 on and musl, because it is linked against stub libraries that offer
 * only symbols with their oldest versions (imports.list; the rule is in the Makefile). A static
 * program cannot do this work: dlopen in one crashes on all but the glibc it was built with.
 *
 *   probe run PLAN      run the plan, one child process per line, each with its own time limit
 *   probe noop          say {"ok":1} and end: does this way of starting work at all?
 *
 * A plan is text, one test a line, fields separated by tabs:
 *   ID  TIMEOUT_MS  CHECK  ARGUMENT…
 * It is not JSON because a parser would be most of the program.
 *
 * Lines written (a line never holds more than SAY_MAX bytes):
 *   {"probe":1,"libc":…,"uid":…,"shm_bytes":…,"memlock":…,"interfaces":…}       first
 *   {"test":ID,"event":"start"}
 *   {"test":ID,"event":"result","status":"pass"|"fail"|"skip",…}                by the child
 *   {"test":ID,"event":"end","exit":N,"signal":N,"timed_out":0|1,"ms":N,"last_words":…}
 *   {"event":"done"}                                                            last
 * A child that ends without a result has crashed or was stopped: its "end" line is the result.
 */
#ifndef TESTKERNELS_PROBE_PROBE_H
#define TESTKERNELS_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAY_FD = 3, SAY_MAX = 4096, CHECK_ARGS_MAX = 64 };

/* One line being made; what does not fit is left out, and the line stays valid JSON. */
struct say {
	size_t len;
	bool any;
	char text[SAY_MAX];
};

void say_begin(struct say *s);
void say_str(struct say *s, const char *key, const char *value);
void say_int(struct say *s, const char *key, long value);
/* Write the line to SAY_FD. */
void say_end(struct say *s);

/* What a check is given. */
struct check {
	const char *id;
	const char *root; /* prefix under which the image's files lie; "" when it is "/" */
	const char *const *args;
	size_t count;
};

/* Runs in a child of its own; says its result with the functions below and returns. */
typedef void check_fn(const struct check *check);

struct check_entry {
	const char *name;
	check_fn *run;
};

/* By name, or NULL. */
check_fn *check_load_find(const char *name);
check_fn *check_run_find(const char *name);

/* Begin a result line for `check`. */
void result_begin(struct say *s, const struct check *check, const char *status);
/* The whole line, for what failed in a call: `domain` names whose codes `code` is one of. */
void result_fail_call(const struct check *check, const char *domain, const char *call, long code,
		      const char *text);
/* The whole line, for what failed otherwise; `kind` is a word for programs ("dlopen"). */
void result_fail(const struct check *check, const char *kind, const char *text);

/* Printf into `out`, always terminated. */
void put_text(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * dlopen(RTLD_NOW) by path or name. NULL after a result line was said. Objects that were taken
 * from outside check->root are part of the closure too: see say_closure.
 */
void *library_open(const struct check *check, const char *name);
/* A function of it, or NULL (nothing is said). */
void *library_symbol(void *handle, const char *name);
/* "library": its file, and "foreign": objects of this process from outside the root. */
void say_library(struct say *s, const struct check *check, void *handle);

/* The committed kernels, as text. */
extern const char kernel_vectoradd_ptx[];
extern const char kernel_vectoradd_cu[];

#endif
