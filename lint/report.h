/*
 * Findings in the formats that people and CI systems read; and the page of a rule. All append to a
 * buffer, so that a report is written whole or not at all. Each takes all images of a run and gives
 * the same bytes for the same results. Every format names the rules that did not run and why, and
 * none shows a control character or a secret of an image.
 *
 * docs/lint.md says what each format is for; one file per format, lint/report_<format>.c.
 */
#ifndef LINT_REPORT_H
#define LINT_REPORT_H

#include "base/strbuf.h"
#include "lint/lint.h"

typedef void report_fn(const struct lint_result *const *results, size_t count, struct strbuf *out);

/* Grouped findings with evidence and fix, then a summary. */
report_fn report_text;
report_fn report_text_coloured; /* ANSI colours */
report_fn report_concise;       /* one line a finding */
report_fn report_json;          /* schema gpuimg-lint/1; several images give an array */
report_fn report_jsonl;         /* one JSON object a line, of schema gpuimg-lint/1 */
report_fn report_sarif;         /* SARIF 2.1.0, a run per image */
report_fn report_junit;         /* a suite per image, a case per rule */
report_fn report_github;        /* workflow commands of GitHub Actions */
report_fn report_gitlab;        /* code quality report of GitLab */
report_fn report_checkstyle;
report_fn report_markdown; /* for a comment on a merge request */
report_fn report_html;     /* one page that needs nothing else */

struct report_format {
	const char *name; /* "sarif" */
	report_fn *write;
};

/* All of them, text first; ends with a NULL name. */
extern const struct report_format report_formats[];
/* The format of that name, or NULL. */
const struct report_format *report_format_find(const char *name);

/* The page of a rule, Markdown: what, why, fix, examples from its cases, sources. */
void rule_page(const struct rule *rule, struct strbuf *out);
/* The same for a terminal: wrapped, without marks of Markdown. */
void rule_page_text(const struct rule *rule, struct strbuf *out);
/* Id, name, default severity and needs of all rules. */
void rule_list_text(struct strbuf *out);
void rule_list_json(struct strbuf *out);
/* One rule as JSON, with an example that is reported and one that is not. */
void rule_page_json(const struct rule *rule, struct strbuf *out);

#endif
