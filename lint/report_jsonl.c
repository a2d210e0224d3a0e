#include "lint/report_parts.h"

/* One line. Takes `value`, which gets the schema, its type and the image it belongs to. */
static void put_line(struct strbuf *out, const struct lint_result *r, const char *type,
		     json_t *value)
{
	cleanup_json json_t *line = value;

	json_put(line, "schema", json_text("gpuimg-lint/1"));
	json_put(line, "type", json_text(type));
	if (!str_equal(type, "image"))
		json_put(line, "image", json_text(report_name(r)));
	put_json(line, out);
	strbuf_addc(out, '\n');
}

static json_t *fingerprint_json(const char *fingerprint)
{
	json_t *out = json_object();

	json_put(out, "fingerprint", json_text(fingerprint));
	return out;
}

void report_jsonl(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct lint_result *r = results[i];

		put_line(out, r, "image", report_image_json(r));
		for (size_t k = 0; k < r->findings.len; k++)
			put_line(out, r, "finding", finding_json(r->findings.items[k]));
		for (size_t k = 0; k < r->not_run.len; k++)
			put_line(out, r, "not_run", not_run_json(&r->not_run.items[k]));
		for (size_t k = 0; k < r->resolved.len; k++)
			put_line(out, r, "resolved", fingerprint_json(r->resolved.items[k]));
		for (size_t k = 0; k < r->unused.len; k++)
			put_line(out, r, "unused_acceptance", unused_json(&r->unused.items[k]));
		put_line(out, r, "summary", report_summary_json(r));
	}
}
