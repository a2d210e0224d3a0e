/*
 * What the tests found: one document, from which the text for people and the JSON
 * (schema gpuimg-test/1) are written, so that they cannot differ.
 *
 * All strings live in the report's arena.
 */
#ifndef TESTKERNELS_TEST_REPORT_H
#define TESTKERNELS_TEST_REPORT_H

#include "base/arena.h"
#include "base/vec.h"
#include "formats/json.h"

enum test_tier { TIER_LOAD, TIER_RUN };

enum test_status {
	TEST_PASS,
	TEST_FAIL,
	TEST_SKIP,
	TEST_ERROR, /* the tester's own fault */
};

enum test_blame { BLAME_NONE, BLAME_IMAGE, BLAME_INJECTION, BLAME_HOST, BLAME_HARDWARE };

/* Reasons of a skip: words for programs. */
#define SKIP_NO_GPU "no-gpu"
#define SKIP_NO_DRIVER "no-driver-library"
#define SKIP_NOT_IN_IMAGE "library-not-in-image"
#define SKIP_FEATURE "device-lacks-feature"
#define SKIP_SINGLE_GPU "single-gpu"
#define SKIP_NOT_REQUESTED "not-requested"
#define SKIP_MODE "mode-cannot"

struct test_result {
	const char *id; /* "load.libcudnn.so.9" */
	enum test_tier tier;
	enum test_status status;
	enum test_blame blame; /* BLAME_NONE unless it failed */
	const char *reason;    /* of a skip; else NULL */
	bool has_code;
	int64_t code;          /* what the library returned */
	const char *code_name; /* "CUDA_ERROR_STUB_LIBRARY", "missing-library"; NULL: none */
	const char *message;   /* one sentence; NULL when it passed */
	const char *hint;      /* what to do about it; NULL: none */
	json_t *evidence;      /* object: library, path, version …; owned; may be NULL */
	uint64_t duration_ms;
	unsigned attempts;
};

/* A way of starting the probe that was not taken. */
struct test_passed_over {
	const char *mode, *reason;
};

struct test_report {
	struct arena arena;
	const char *image;    /* as the user wrote it */
	const char *digest;   /* of the image manifest; NULL for an unpacked root */
	const char *platform; /* "linux/amd64"; NULL: unknown */
	const char *mode;     /* "runc"; NULL: none was started */
	bool writable_root;   /* the image's root could be written to */
	VEC(struct test_passed_over) passed_over;
	const char *inject_method;  /* "cdi", "nvidia-ctk", "host-driver" …; NULL: none */
	const char *inject_spec;    /* the specification it came from; NULL: none */
	const char *inject_driver;  /* version of the driver library; NULL: none */
	const char *inject_module;  /* of the host's kernel module; NULL: unknown */
	const char *inject_devices; /* nodes, separated by blanks; NULL: none */
	json_t *env_seen;           /* what the probe saw: uid, shm_bytes …; owned; may be NULL */
	VEC(struct test_result) tests;      /* in the order they ran */
	VEC(const char *) missing_required; /* what --require named and did not run */
};

struct test_summary {
	size_t pass, fail, skip, error;
	size_t image_fault, other_fault;
};

/* Release what the report owns; a zeroed one is allowed. */
void test_report_release(struct test_report *r);
#define cleanup_test_report cleanup(test_report_release)

/* Append a zeroed result, valid until the next; `id` is copied. */
struct test_result *test_report_add(struct test_report *r, const char *id, enum test_tier tier);
/* Append a skipped test with its reason and a sentence. */
void test_report_skip(struct test_report *r, const char *id, enum test_tier tier,
		      const char *reason, const char *message);
/* Note a way that was not taken; both are copied. */
void test_report_pass_over(struct test_report *r, const char *mode, const char *reason);
struct test_summary test_report_summary(const struct test_report *r);
/*
 * Note in missing_required what of `require` ("load", "run" or an id) did not run. A tier has run
 * when one of its tests did and none was skipped for lack of a GPU, a driver or a mode.
 */
void test_report_require(struct test_report *r, const char *const *require, size_t count);
/*
 * 0 nothing failed; 1 a test failed and the image is to blame; 3 it could not be judged: another
 * is to blame, the tester itself stumbled, or a required test did not run. 1 wins over 3.
 */
int test_report_exit_status(const struct test_report *r);

/* The document, pretty JSON. Appended. */
void test_report_json(const struct test_report *r, struct strbuf *out);
/* JUnit's XML, a suite per tier. Appended. */
void test_report_junit(const struct test_report *r, struct strbuf *out);
/* The head of a document that holds several reports, and the suites of one of them; `node` (may be
 * NULL) is in their names. "</testsuites>" ends it. */
void test_report_junit_begin(const struct test_report *const *reports, size_t count,
			     struct strbuf *out);
void test_report_junit_suites(const struct test_report *r, const char *node, struct strbuf *out);
/* For people. Appended. */
void test_report_text(const struct test_report *r, bool colour, bool verbose, struct strbuf *out);

/* "pass", "image" …, as they stand in the report. */
const char *test_status_name(enum test_status status);
const char *test_blame_name(enum test_blame blame);

#endif
