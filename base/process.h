/*
 * Run another program and wait for it: no shell, output captured under a limit, an optional time
 * limit, an environment the caller chooses.
 */
#ifndef BASE_PROCESS_H
#define BASE_PROCESS_H

#include "base/error.h"
#include "base/strbuf.h"

struct process {
	const char *const *argv; /* NULL-terminated; argv[0] is looked up on PATH */
	const char *const *env;  /* NULL-terminated "K=V"; NULL: ours */
	struct slice stdin_data; /* fed to standard input; empty: /dev/null */
	int extra_fd;            /* when > 0: descriptor that appears as `extra_as` in the child */
	int extra_as;
	const int *kept_fds; /* these stay open in the child, under their numbers */
	size_t kept_count;
	int stdout_fd;         /* when > 0: standard output goes there and is not captured */
	bool inherit_stderr;   /* standard error goes to ours instead of out_stderr */
	bool no_network;       /* start in an empty network namespace (needs privilege) */
	uint64_t timeout_ms;   /* 0: none; the child is killed when it is over */
	uint64_t output_limit; /* most bytes to keep of each output; 0: 16 MiB */
	bool keep_tail; /* of more than that (64 KiB or more) keep the end; else ERROR_LIMIT */
};

struct process_result {
	struct strbuf out_stdout;
	struct strbuf out_stderr;
	int exit_status; /* 0 … 255, or -1 when it was killed by a signal */
	int signal;      /* the signal, or 0 */
	bool timed_out;
};

void process_result_release(struct process_result *r);
#define cleanup_process cleanup(process_result_release)

/*
 * Run to the end. 0 when the program could be started, whatever its status.
 * Errors: ERROR_NOT_FOUND no such program; ERROR_SYSTEM; ERROR_LIMIT its output was too long.
 */
int process_run(const struct process *p, struct process_result *out, struct error *err) MUST_USE;
/*
 * For who starts a child itself: what its exec() met, as an errno that the child wrote to the pipe
 * `fd`, which exec() closes; 0 once the program runs.
 */
int process_exec_outcome(int fd);
/* True when an executable of that name is on PATH. */
bool process_available(const char *name);

#endif
