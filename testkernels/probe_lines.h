/*
 * What the probe wrote on descriptor 3, one JSON object a line (the form is in
 * testkernels/probe/probe.h), brought together by test.
 *
 * The lines come from a process that runs the image's code, so anything may stand there. A line
 * that is not what the probe writes is counted and dropped; nothing here can fail.
 */
#ifndef TESTKERNELS_PROBE_LINES_H
#define TESTKERNELS_PROBE_LINES_H

#include "base/map.h"
#include "formats/json.h"
#include "testkernels/test_report.h"

/* What happened to one test. Strings live in the arena; NULL: not said. */
struct probe_outcome {
	const char *id;
	bool started, has_result, ended;
	enum test_status status; /* TEST_PASS, TEST_FAIL or TEST_SKIP; when has_result */
	const char *kind;        /* "dlopen", "symbol", "call", "wrong-numbers" … */
	const char *domain;      /* whose codes: "driver", "libcudnn" … */
	const char *call;        /* the function that refused */
	bool has_code;
	int64_t code;
	const char *code_name, *message;
	const char *library; /* the file that answered, as the loader names it */
	const char *foreign; /* files from outside the image's root, separated by ":" */
	json_t *more;        /* the other members, strings and integers; owned */
	int exit_status;     /* or -1; when ended */
	int signal;          /* or 0 */
	bool timed_out;
	uint64_t duration_ms;
	const char *last_words; /* the end of what it printed */
};

struct probe_lines {
	struct arena arena;
	json_t *hello;  /* the first line, or NULL: the probe did not come to life */
	bool done;      /* the last line came */
	size_t dropped; /* lines that were not understood */
	struct map by_id;
	VEC(struct probe_outcome *) outcomes; /* in order of first mention */
};

/* What stands before each line where the probe's lines are mixed with others, in a log. */
#define PROBE_FRAME "gpuimg-probe "

enum { PROBE_LINE_MAX = 16 * 1024, PROBE_TESTS_MAX = 4096 };

/* Read all of `text`. Release with probe_lines_release. */
void probe_lines_parse(struct slice text, struct probe_lines *out);
void probe_lines_release(struct probe_lines *lines);
#define cleanup_probe_lines cleanup(probe_lines_release)
/* NULL when the probe never spoke of it. */
const struct probe_outcome *probe_lines_find(const struct probe_lines *lines, const char *id);

#endif
