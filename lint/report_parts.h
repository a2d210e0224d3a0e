/*
 * What the formats of reports share; private to lint/report_*.c and its tests.
 */
#ifndef LINT_REPORT_PARTS_H
#define LINT_REPORT_PARTS_H

#include "formats/json.h"
#include "lint/report.h"

/*
 * Text of an image for people: control characters (C0, DEL, C1) as \\xNN, characters that turn the
 * direction of writing or hide as \\uNNNN, what is not UTF-8 as U+FFFD. Line ends become blanks.
 */
void put_clean(struct strbuf *out, const char *text);
/* The same, escaped for element content and attribute values of XML and HTML. */
void put_markup(struct strbuf *out, const char *text);
/* Canonical JSON, with DEL and C1 characters escaped so that it can go to a terminal. */
void put_json(const json_t *value, struct strbuf *out);
/* Bytes outside the unreserved characters of a URI, and "/", as %NN. */
void put_uri(struct strbuf *out, const char *path);

/* Parts of gpuimg-lint/1, for the caller to json_decref. */
json_t *finding_json(const struct finding *f);
json_t *report_image_json(const struct lint_result *r);
json_t *report_summary_json(const struct lint_result *r);
json_t *not_run_json(const struct lint_not_run *n);
json_t *unused_json(const struct policy_unused *u);

/* What the image is called in reports: its reference, or "image". */
const char *report_name(const struct lint_result *r);
/* How many findings of a rule count at the threshold; *out_all (may be NULL): that are reported. */
size_t report_failures(const struct lint_result *r, const struct rule *rule, size_t *out_all);

/*
 * The line of the recipe that made the layer of a finding, 0 when none is known: then it is shown
 * there (r->recipe) and not at the path in the image.
 */
size_t report_line(const struct lint_result *r, const struct finding *f);

/* The parts of a stack, "CUDA" → version, those that are known. */
struct report_stack {
	const char *name, *version;
};
/* *count of them into `out`. */
/*
 * What the image was judged for and who said so: "h100 (sm_90), driver 550 or newer (by the image's
 * labels)". Appends nothing when nothing was named. Not cleaned: it goes through put_clean or the
 * like.
 */
void report_targets(const struct lint_result *r, struct strbuf *out);
void report_stack(const struct lint_result *r, struct report_stack out[8], size_t *count);

#endif
