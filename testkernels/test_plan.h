/*
 * Which tests an image gets, as lines for the probe and as what the report will need to know of
 * each.
 */
#ifndef TESTKERNELS_TEST_PLAN_H
#define TESTKERNELS_TEST_PLAN_H

#include "testkernels/image_code.h"
#include "testkernels/image_ptx.h"
#include "testkernels/inject.h"
#include "testkernels/test.h"
#include "testkernels/test_report.h"

struct planned_test {
	const char *id;
	enum test_tier tier;
	const struct library_copy *copy; /* under test; NULL: none */
	const char *object;              /* file of the image that is under test; NULL: none */
	bool command;                    /* of the manifest: its status and its output decide */
	const char *words;               /* the command for people; NULL: not known */
	const char *expect;              /* what the output must hold; NULL: nothing */
	bool dropped;                    /* reported already, whatever the probe says of it */
};

/* A test that is not made, because the image lacks its library. */
struct plan_skip {
	const char *id, *why;
	enum test_tier tier;
};

struct test_plan {
	struct arena arena;
	struct strbuf lines[2]; /* by tier: what the probe is given */
	VEC(struct planned_test) tests;
	VEC(struct plan_skip) skips;
};

struct plan_request {
	uint64_t timeout_ms;        /* of each test */
	unsigned jobs;              /* tests of the load tier at a time; 0: one */
	const char *const *targets; /* "sm_90" */
	size_t target_count;
	const struct test_command *commands;
	size_t command_count;
	const struct code_objects *code;   /* GPU code of the image's own; NULL: not looked for */
	const struct ptx_samples *ptx;     /* of the image; NULL: they are not assembled */
	const struct injection *injection; /* its device nodes are opened; NULL: unknown */
	bool injected; /* a driver is there from the start: whether the image has one cannot be
			  asked */
};

/*
 * Ids are "load.<soname>" and "load.version.<soname>" (of CUPTI "run.version.<soname>") for the
 * copy that the loader finds (or the first), with "@<path>" added for other copies;
 * "load.ptx-rehearsal@<path>" for each object with PTX in it;
 * "load.cudnn-set", "load.nvrtc-compile", "load.jitlink" and "load.curand-host", with "@<soname>"
 * added from the second soname on, and so are "run.cudart", "run.cublas-sgemm" and the others of
 * the run tier that calculate with a library; "run.init", "run.vadd-cubin" and others that need the
 * driver alone; "run.own-code@<path>" for each object with GPU code of the image's own;
 * "run.nodes" where device nodes are injected; "run.user.<n>", from 1, for commands.
 * Those that need no GPU are of the load tier all the same: that tier is the one that runs
 * everywhere. `copies` must outlive the plan.
 */
void test_plan_make(const struct library_copies *copies, const struct plan_request *request,
		    struct test_plan *out);
/* "load.driver-what-if.<soname>" for each CUDA runtime of the image. */
void test_plan_what_if(const struct library_copies *copies, const struct plan_request *request,
		       struct test_plan *out);
void test_plan_release(struct test_plan *plan);
#define cleanup_test_plan cleanup(test_plan_release)

/* True for the form of an id that some image could have. */
bool test_plan_id_known(const char *id);

#endif
