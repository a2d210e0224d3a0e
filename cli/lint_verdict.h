/*
 * What lint said of an image that passed, kept in the store, so that a build in which nothing
 * changed does not judge it again. A verdict counts for one image, by digest, under one policy, on
 * one day (acceptances end, and dates are compared with it), for a program of the same rules and
 * tables.
 */
#ifndef CLI_LINT_VERDICT_H
#define CLI_LINT_VERDICT_H

#include "base/digest.h"
#include "base/strbuf.h"
#include "builder/store.h"
#include "formats/json.h"
#include "lint/lint.h"

struct lint_verdict {
	struct strbuf plain, coloured; /* the report as text */
	json_t *report;                /* gpuimg-lint/1 */
	bool has_findings;             /* errors or warnings */
};

void lint_verdict_release(struct lint_verdict *v);
#define cleanup_lint_verdict cleanup(lint_verdict_release)

/* Of an image with a manifest; `reference` is what its report calls it. */
struct digest lint_verdict_key(const struct image *image, const char *reference,
			       const struct policy *policy);
/* Render a result. */
void lint_verdict_make(const struct lint_result *result, struct lint_verdict *out);
/* False when there is none, or one that is damaged; `out` may be half filled then. */
bool lint_verdict_recall(struct store *store, const struct digest *key, struct lint_verdict *out);
/* What goes wrong costs time only, and is ignored. */
void lint_verdict_keep(struct store *store, const struct digest *key, const struct lint_verdict *v);

#endif
