#include "cli/lint_verdict.h"

#include "lint/report.h"

static const char KIND[] = "verdicts";

void lint_verdict_release(struct lint_verdict *v)
{
	if (!v)
		return;
	strbuf_release(&v->plain);
	strbuf_release(&v->coloured);
	json_decref(v->report);
}

struct digest lint_verdict_key(const struct image *image, const char *reference,
			       const struct policy *policy)
{
	cleanup_json json_t *parts = json_array();
	cleanup_strbuf struct strbuf text = { 0 };
	char digest[DIGEST_TEXT_MAX];

	json_push(parts, json_text(lint_version));
	json_push(parts, json_text(digest_text(&image->root.digest, digest)));
	json_push(parts, json_text(digest_text(&image->descriptor.digest, digest)));
	json_push(parts, json_text(reference));
	json_push(parts, json_text(policy->today ? policy->today : ""));
	json_push(parts, json_integer(policy->fail_on));
	for (size_t i = 0; i < policy->ignores.len; i++) {
		const struct policy_ignore *ignore = &policy->ignores.items[i];
		const char *fields[] = { ignore->rule, ignore->path, ignore->reason,
					 ignore->until };

		for (size_t k = 0; k < ARRAY_LEN(fields); k++)
			json_push(parts, fields[k] ? json_text(fields[k]) : json_null());
	}
	json_canonical(parts, &text);
	return digest_of(strbuf_slice(&text));
}

void lint_verdict_make(const struct lint_result *result, struct lint_verdict *out)
{
	cleanup_strbuf struct strbuf report = { 0 };
	struct error ignored = { 0 };

	report_text(&result, 1, &out->plain);
	report_text_coloured(&result, 1, &out->coloured);
	report_json(&result, 1, &report);
	ignore_result(json_parse(strbuf_slice(&report), &out->report, &ignored)); /* our own */
	out->has_findings = result->errors + result->warnings > 0;
}

bool lint_verdict_recall(struct store *store, const struct digest *key, struct lint_verdict *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *record = NULL;
	struct error ignored = { 0 };
	const char *plain, *coloured;

	if (store_get_record(store, KIND, key, &text, &ignored) < 0 ||
	    json_parse(strbuf_slice(&text), &record, &ignored) < 0 ||
	    json_get_str(record, "", "plain", &plain, &ignored) < 0 ||
	    json_get_str(record, "", "coloured", &coloured, &ignored) < 0 ||
	    json_get_object(record, "", "report", &out->report, &ignored) < 0)
		return false;
	json_incref(out->report);
	strbuf_adds(&out->plain, plain);
	strbuf_adds(&out->coloured, coloured);
	out->has_findings = json_is_true(json_object_get(record, "has_findings"));
	return true;
}

void lint_verdict_keep(struct store *store, const struct digest *key, const struct lint_verdict *v)
{
	cleanup_json json_t *record = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	json_put(record, "plain", json_text(strbuf_text(&v->plain)));
	json_put(record, "coloured", json_text(strbuf_text(&v->coloured)));
	json_put(record, "report", json_incref(v->report));
	json_put(record, "has_findings", json_boolean(v->has_findings));
	json_canonical(record, &text);
	ignore_result(store_put_record(store, KIND, key, strbuf_slice(&text), &ignored));
}
