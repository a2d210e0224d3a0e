#include "lint/report_parts.h"

static void put_finding(struct strbuf *out, const struct lint_result *r, const struct finding *f)
{
	put_clean(out, report_name(r));
	if (*f->path) {
		strbuf_addc(out, ':');
		put_clean(out, f->path);
	}
	strbuf_addf(out, ": %s %s %s: ", f->suppressed ? "accepted" : severity_name(f->severity),
		    f->rule->id, f->rule->name);
	put_clean(out, f->message);
	strbuf_addc(out, '\n');
}

static void put_note(struct strbuf *out, const struct lint_result *r, const char *what,
		     const char *text, const char *why)
{
	put_clean(out, report_name(r));
	strbuf_addf(out, ": %s ", what);
	put_clean(out, text);
	strbuf_adds(out, ": ");
	put_clean(out, why);
	strbuf_addc(out, '\n');
}

void report_concise(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct lint_result *r = results[i];

		for (size_t k = 0; k < r->findings.len; k++)
			put_finding(out, r, r->findings.items[k]);
		if (r->unreadable)
			put_note(out, r, "not read", "completely", r->unreadable);
		for (size_t k = 0; k < r->not_run.len; k++)
			put_note(out, r, "not run", r->not_run.items[k].rule->id,
				 r->not_run.items[k].reason);
		for (size_t k = 0; k < r->unused.len; k++)
			put_note(out, r, "acceptance not used", r->unused.items[k].text,
				 r->unused.items[k].why);
	}
}
