/*
 * Lint an image: facts, rules, findings, verdict. The only header of lint/ that others include
 * (with lint/report.h for printing and what both include).
 */
#ifndef LINT_LINT_H
#define LINT_LINT_H

#include "lint/findings.h"
#include "lint/policy.h"
#include "lint/stack_versions.h"
#include "lint/target.h"
#include "oci/image.h"

struct lint_options {
	struct target target;
	struct policy policy;
};

/* A rule that did not run never counts as passed. */
struct lint_not_run {
	const struct rule *rule;
	const char *reason; /* "needs --gpu" */
};

struct lint_result {
	struct arena arena;
	struct findings findings;
	struct {
		struct lint_not_run *items;
		size_t len, cap;
	} not_run;                    /* sorted by rule id */
	const char *reference;        /* the image as the user named it */
	char digest[DIGEST_TEXT_MAX]; /* of its manifest; "" for an unpacked root */
	const char *platform;         /* "linux/amd64"; NULL: unknown */
	size_t layers;
	uint64_t bytes; /* unpacked regular files of all layers, hard links once */
	bool is_gpu_image;
	const char *gpu_reason;      /* why, or NULL */
	struct stack_versions stack; /* what could be told of it */
	const char *unreadable;      /* what could not be read (exit status 3), or NULL */
	bool failed;                 /* findings at or above the threshold */
	size_t errors, warnings, infos, suppressed;
};

/*
 * Judge `image`. 0 when it could be judged, whatever was found; -1 when not even its entries
 * could be listed, or a rule could not decide. Release *out with lint_result_release either way.
 */
int lint_run(struct image *image, const struct lint_options *options, struct lint_result *out,
	     struct error *err) MUST_USE;
void lint_result_release(struct lint_result *result);
#define cleanup_lint_result cleanup(lint_result_release)

/* Judge facts that were made by hand (tests). `options` may be NULL for none. */
struct facts;
int lint_judge(const struct facts *facts, const struct lint_options *options,
	       struct lint_result *out, struct error *err) MUST_USE;

/* 3 when something could not be read, else 1 when the verdict is against, else 0. */
int lint_exit_status(const struct lint_result *result);

/* The rule of that id or name, or NULL. */
const struct rule *lint_rule(const char *id_or_name);

#endif
