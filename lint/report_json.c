#include "lint/report_parts.h"

static json_t *text_or_null(const char *text)
{
	return text ? json_text(text) : json_null();
}

/* Key → value, or → list of values where a key stands several times. */
static json_t *evidence_json(const struct evidence *e)
{
	json_t *out = json_object();

	for (; e; e = e->next) {
		json_t *have = json_object_get(out, e->key);

		if (!have) {
			json_put(out, e->key, json_text(e->value));
		} else if (json_is_array(have)) {
			json_push(have, json_text(e->value));
		} else {
			json_t *list = json_array();

			json_push(list, json_incref(have));
			json_push(list, json_text(e->value));
			json_put(out, e->key, list);
		}
	}
	return out;
}

json_t *finding_json(const struct finding *f)
{
	json_t *out = json_object();

	json_put(out, "rule", json_text(f->rule->id));
	json_put(out, "name", json_text(f->rule->name));
	json_put(out, "severity", json_text(severity_name(f->severity)));
	json_put(out, "confidence", json_text(confidence_name(f->confidence)));
	json_put(out, "path", json_text(f->path));
	json_put(out, "layer", f->layer < 0 ? json_null() : json_integer(f->layer));
	json_put(out, "message", json_text(f->message));
	json_put(out, "evidence", evidence_json(f->evidence));
	json_put(out, "fix", json_text(f->fix));
	json_put(out, "fingerprint", json_text(f->fingerprint));
	json_put(out, "suppressed", text_or_null(f->suppressed));
	return out;
}

static json_t *stack_json(const struct stack_versions *v)
{
	json_t *out = json_object();

	if (v->cuda)
		json_put(out, "cuda", json_text(v->cuda));
	if (v->cudnn)
		json_put(out, "cudnn", json_text(v->cudnn));
	if (v->nccl)
		json_put(out, "nccl", json_text(v->nccl));
	if (v->torch)
		json_put(out, "torch", json_text(v->torch));
	return out;
}

static json_t *texts_json(const struct target_texts *texts)
{
	json_t *out = json_array();

	for (size_t i = 0; i < texts->len; i++)
		json_push(out, json_text(texts->items[i]));
	return out;
}

static json_t *origin_json(const struct target_texts *texts, bool from_labels)
{
	if (!texts->len)
		return json_null();
	return json_text(from_labels ? "labels" : "options");
}

static json_t *targets_json(const struct lint_targets *t)
{
	json_t *out = json_object();

	json_put(out, "gpus", texts_json(&t->gpus));
	json_put(out, "gpus_from", origin_json(&t->gpus, t->gpus_from_labels));
	json_put(out, "drivers", texts_json(&t->drivers));
	json_put(out, "drivers_from", origin_json(&t->drivers, t->drivers_from_labels));
	json_put(out, "runtimes", texts_json(&t->runtimes));
	return out;
}

json_t *report_image_json(const struct lint_result *r)
{
	json_t *out = json_object();

	json_put(out, "reference", text_or_null(r->reference));
	json_put(out, "digest", *r->digest ? json_text(r->digest) : json_null());
	json_put(out, "platform", text_or_null(r->platform));
	json_put(out, "layers", json_integer((json_int_t)r->layers));
	json_put(out, "bytes", json_integer((json_int_t)r->bytes));
	json_put(out, "gpu", text_or_null(r->gpu_reason));
	json_put(out, "stack", stack_json(&r->stack));
	json_put(out, "targets", targets_json(&r->targets));
	return out;
}

json_t *report_summary_json(const struct lint_result *r)
{
	json_t *out = json_object();

	json_put(out, "errors", json_integer((json_int_t)r->errors));
	json_put(out, "warnings", json_integer((json_int_t)r->warnings));
	json_put(out, "infos", json_integer((json_int_t)r->infos));
	json_put(out, "suppressed", json_integer((json_int_t)r->suppressed));
	json_put(out, "failed", json_boolean(r->failed));
	json_put(out, "unreadable", text_or_null(r->unreadable));
	return out;
}

json_t *not_run_json(const struct lint_not_run *n)
{
	json_t *out = json_object();

	json_put(out, "rule", json_text(n->rule->id));
	json_put(out, "reason", json_text(n->reason));
	return out;
}

json_t *unused_json(const struct policy_unused *u)
{
	json_t *out = json_object();

	json_put(out, "acceptance", json_text(u->text));
	json_put(out, "reason", json_text(u->why));
	return out;
}

static json_t *result_json(const struct lint_result *r)
{
	json_t *out = json_object(), *findings = json_array(), *not_run = json_array();
	json_t *resolved = json_array(), *unused = json_array();

	for (size_t i = 0; i < r->findings.len; i++)
		json_push(findings, finding_json(r->findings.items[i]));
	for (size_t i = 0; i < r->not_run.len; i++)
		json_push(not_run, not_run_json(&r->not_run.items[i]));
	for (size_t i = 0; i < r->resolved.len; i++)
		json_push(resolved, json_text(r->resolved.items[i]));
	for (size_t i = 0; i < r->unused.len; i++)
		json_push(unused, unused_json(&r->unused.items[i]));
	json_put(out, "schema", json_text("gpuimg-lint/1"));
	json_put(out, "image", report_image_json(r));
	json_put(out, "findings", findings);
	json_put(out, "not_run", not_run);
	json_put(out, "resolved", resolved);
	json_put(out, "unused_acceptances", unused);
	json_put(out, "summary", report_summary_json(r));
	return out;
}

void report_json(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	cleanup_json json_t *all = json_array();

	for (size_t i = 0; i < count; i++)
		json_push(all, result_json(results[i]));
	put_json(count == 1 ? json_array_get(all, 0) : all, out);
	strbuf_addc(out, '\n');
}
