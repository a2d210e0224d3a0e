/*
 * The program that runs inside the image: it opens the image's own libraries and says what came
 * of it, one JSON object a line, on descriptor 3, or where only logs survive on standard output.
 *
 * It includes nothing of ours and needs nothing of the image but a C library and its loader: one
 * file serves glibc from 2.17 on and musl, because it is linked against stub libraries that offer
 * only symbols with their oldest versions (imports.list; the rule is in the Makefile). A static
 * program cannot do this work: dlopen in one crashes on all but the glibc it was built with.
 *
 *   probe run PLAN [ROOT [FRAME]]   run the plan, one child process per line, each with its own
 *                                   time limit. ROOT is put before names that begin with "/" (""
 *                                   where the image's root is "/"). With a FRAME, each line goes to
 *                                   standard output behind that text, and the exit status is 0 when
 *                                   nothing failed, 1 when the image is to blame, else 3
 *   probe noop [FRAME]              say {"ok":1} and end: does this way of starting work at all?
 *
 * A plan is text, one test a line, fields separated by tabs:
 *   ID  TIMEOUT_MS  CHECK  ARGUMENT…
 * A line "!N" lets up to N of the tests that follow run at a time (one, unless it says so); a
 * "command" runs alone all the same. It is not JSON because a parser would be most of the program.
 * A line "#{…}" is said as it is, without the "#": what whoever reads the results will want to know
 * of the plan. The check "command" executes its arguments in place of a check: it passes when its
 * status is 0.
 *
 * Lines written (a line never holds more than SAY_MAX bytes):
 *   {"probe":1,"libc":…,"uid":…,"shm_bytes":…,"memlock":…,"interfaces":…,"node":…}   first
 *   {"test":ID,"event":"start"}
 *   {"test":ID,"event":"result","status":"pass"|"fail"|"skip",…}                by the child
 *   {"test":ID,"event":"end","exit":N,"signal":N,"timed_out":0|1,"ms":N,"last_words":…}
 *   {"event":"done"}                                                            last
 * A child that ends without a result has crashed or was stopped: its "end" line is the result.
 *
 * Who says what. A child has a pipe of its own to its parent as descriptor 3: it runs the image's
 * code, which may write there what it likes. The parent passes on one line, that is the result of
 * this child's test; two of them are a failure of the kind "several-results". Processes that a
 * child leaves behind are ended. (Nothing can keep a library from answering for its own test.)
 */
#ifndef TESTKERNELS_PROBE_PROBE_H
#define TESTKERNELS_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAY_FD = 3, SAY_MAX = 4096, CHECK_ARGS_MAX = 128 };

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
/* The same, behind `frame`. */
void say_end_framed(struct say *s, const char *frame);
/* `len` bytes that are a whole line without its end. */
void say_line(const char *text, size_t len, const char *frame);

/* What a check is given. */
struct check {
	const char *id;
	const char *root;  /* prefix under which the image's files lie; "" when it is "/" */
	const char *place; /* the directory of the plan, with what belongs to it */
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
check_fn *check_host_find(const char *name);

/* Begin a result line for `check`. */
void result_begin(struct say *s, const struct check *check, const char *status);
/* The whole line, for what failed in a call: `domain` names whose codes `code` is one of. */
void result_fail_call(const struct check *check, const char *domain, const char *call, long code,
		      const char *text);
/* The whole line, for what failed otherwise; `kind` is a word for programs ("dlopen"). */
void result_fail(const struct check *check, const char *kind, const char *text);

/* The whole line, for what cannot be tested here, such as a device without the feature: `reason` is
 * a word for programs ("single-gpu"). Always false, for those who return that. */
bool result_skip(const struct check *check, const char *reason, const char *text);

/* Printf into `out`, always terminated. */
void put_text(char *out, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/*
 * dlopen(RTLD_NOW) by name, or by path below check->root. NULL after a result line was said.
 * Objects that were taken from outside check->root are part of the closure too: see say_library.
 */
void *library_open(const struct check *check, const char *name);
/* A function of it, or NULL (nothing is said). */
void *library_symbol(void *handle, const char *name);
/* "library": its file, and "foreign": objects of this process from outside the root. */
void say_library(struct say *s, const struct check *check, void *handle);

/* The committed kernels, as text. */
extern const char kernel_vectoradd_ptx[];
extern const char kernel_vectoradd_cu[];
extern const char kernel_reduce_ptx[];
/* Both of them as machine code for every architecture that the committed fat binary has. */
extern const unsigned char kernel_fatbin[];
extern const size_t kernel_fatbin_size;

#endif
