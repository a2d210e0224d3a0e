/*
 * Runs one case of a rule: an image in a few lines and what the linter must say. The language is
 * described in docs/lint-cases.md.
 */
#ifndef TESTS_SUPPORT_LINT_CASE_H
#define TESTS_SUPPORT_LINT_CASE_H

#include "base/strbuf.h"

/*
 * Cut the next case off *rest: its name and its lines. False at the end. Lines starting with "#"
 * before the first case are skipped.
 */
bool lint_case_next(struct slice *rest, struct slice *name, struct slice *body);
/* True when the body has "expect RULE …" (RULE NULL: any but "expect none"). */
bool lint_case_expects(struct slice body, const char *rule);
/*
 * Judge the image of `body` with all rules. False with what went wrong appended to `why` when the
 * findings are not exactly those expected, or a line is not understood.
 */
bool lint_case_run(struct slice body, struct strbuf *why);
/* The same with all facts of files written as a record and read again: lint/fact_record.h. */
bool lint_case_run_recorded(struct slice body, struct strbuf *why);

#endif
