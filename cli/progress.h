/*
 * What a long command shows while it works: a line that is rewritten on a terminal, plain lines
 * in a log, JSON lines for machines, or nothing. On standard error.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "builder/fetch.h"
#include "cli/command.h"

enum progress_kind { PROGRESS_NONE, PROGRESS_PLAIN, PROGRESS_BAR, PROGRESS_JSON };

struct progress {
	const struct out *out;
	const char *what; /* "fetch" */
	enum progress_kind kind;
	bool line_open; /* a bar stands on the present line */
	uint64_t start_ms, last_ms;
	uint64_t present_bytes; /* that were not transferred */
};

/* By --progress, -q and whether standard error is a terminal. */
struct progress progress_start(const struct invocation *in, const char *what);
/* A fetch_report_fn; `user` is the struct progress. */
void progress_fetch(void *user, const struct fetch_event *event);
/* Show `done` of `total` bytes and a name. Calls that come too soon after another are dropped. */
void progress_bytes(struct progress *p, const char *name, uint64_t done, uint64_t total);
/* Ends the bar's line. */
void progress_end(struct progress *p);

#endif
