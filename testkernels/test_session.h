/*
 * One call of test_run, as its parts share it. Nobody else includes this.
 */
#ifndef TESTKERNELS_TEST_SESSION_H
#define TESTKERNELS_TEST_SESSION_H

#include "testkernels/probe_lines.h"
#include "testkernels/run_mode.h"
#include "testkernels/scratch.h"
#include "testkernels/test.h"
#include "testkernels/test_plan.h"
#include "testkernels/tree_cache.h"

struct test_session {
	struct image *image;
	const struct test_options *options;
	struct test_report *report;
	uint64_t timeout_ms;
	struct scratch scratch;
	struct tree tree;
	struct image_loader loader;
	struct image_user user;
	struct library_copies copies;
	struct code_objects code;
	struct ptx_samples ptx;
	char *ptx_dir; /* where their texts lie */
	struct injection injection;
	struct test_plan plan;
	const struct run_mode *mode;
	struct run_context run;
};

/*
 * Find a way to start the probe that works, trying them in order, and note why each earlier one was
 * passed over. Where none does, loader mode is taken, whose report will say what is wrong.
 * ERROR_SYSTEM when the one mode that was asked for does not work.
 */
int test_choose_mode(struct test_session *s, struct error *err) MUST_USE;
/* ERROR_USAGE unless it is a mode's name, "auto" or NULL. */
int test_mode_check(const char *mode, const char *engine, struct error *err) MUST_USE;

/* load.loader: did the probe come to life through the image's loader? */
bool test_report_loader(struct test_session *s, const struct probe_lines *lines,
			const struct launch_result *launched);
/* What the judgement of a test's outcome depends on. */
struct test_judge {
	struct test_report *report;
	const char *root;                  /* prefix of the image's files in the outcome */
	uint64_t timeout_ms;               /* of a test */
	bool injected;                     /* a driver was given to the image */
	const struct injection *injection; /* NULL: none, or not known which */
	const char *driver_dir;            /* where it lay in loader mode; NULL: elsewhere */
};
void test_judge_outcome(const struct test_judge *judge, const struct planned_test *p,
			const struct probe_outcome *o);

/* The result of one test; `o` NULL: the probe never spoke of it. */
void test_report_outcome(struct test_session *s, const struct planned_test *p,
			 const struct probe_outcome *o);
/* load.driver-what-if: the image's runtimes with a stand-in for the driver that was named. */
int test_driver_what_if(struct test_session *s, struct error *err) MUST_USE;
/* What a driver is taken for: 12040 of "12.4". ERROR_USAGE. */
int test_driver_check(const char *driver, uint64_t *out_version, struct error *err) MUST_USE;
/* run.inject: what was injected, and what is wrong with it. */
void test_report_injection(struct test_session *s);

#endif
