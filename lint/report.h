/*
 * Findings as text for people and as JSON for programs (schema gpuimg-lint/1); and the page of a
 * rule. All append to a buffer, so that a report is written whole or not at all.
 */
#ifndef LINT_REPORT_H
#define LINT_REPORT_H

#include "base/strbuf.h"
#include "lint/lint.h"

/* One image: grouped findings with evidence and fix, then a summary. ANSI colours on request. */
void report_text(const struct lint_result *result, bool colour, struct strbuf *out);
/* One image as one line of JSON; several images give an array. */
void report_json(const struct lint_result *const *results, size_t count, struct strbuf *out);

/* The page of a rule, Markdown: what, why, fix, examples from its cases, sources. */
void rule_page(const struct rule *rule, struct strbuf *out);
/* Id, name, default severity and needs of all rules. */
void rule_list_text(struct strbuf *out);
void rule_list_json(struct strbuf *out);
/* One rule as JSON. */
void rule_page_json(const struct rule *rule, struct strbuf *out);

#endif
