/*
 * A summary in Markdown, for a comment on a merge request or a job's summary page.
 */
#include "base/out.h"
#include "lint/report_parts.h"

enum { ROWS_MAX = 200 };

/* Clean text in which nothing of Markdown or HTML has a meaning; fit for a cell of a table. */
static void put_plain(struct strbuf *out, const char *text)
{
	cleanup_strbuf struct strbuf clean = { 0 };

	put_clean(&clean, text);
	for (const char *p = strbuf_text(&clean); *p; p++) {
		if (*p == '<' || *p == '>' || *p == '&')
			strbuf_adds(out, *p == '<' ? "&lt;" : *p == '>' ? "&gt;" : "&amp;");
		else if (*p == '@') /* mentions nobody */
			strbuf_adds(out, "&#64;");
		else if (strchr("\\`*_{}[]()#+!|~$", *p))
			strbuf_addf(out, "\\%c", *p);
		else
			strbuf_addc(out, *p);
	}
}

static void put_findings(struct strbuf *out, const struct lint_result *r)
{
	size_t rows = 0, left = 0;

	for (size_t i = 0; i < r->findings.len; i++) {
		const struct finding *f = r->findings.items[i];

		if (f->suppressed)
			continue;
		if (rows == ROWS_MAX) {
			left++;
			continue;
		}
		if (!rows++)
			strbuf_adds(out, "| severity | rule | where | finding | what to do |\n"
					 "| --- | --- | --- | --- | --- |\n");
		strbuf_addf(out, "| %s | %s %s | ", severity_name(f->severity), f->rule->id,
			    f->rule->name);
		put_plain(out, f->path);
		if (f->layer >= 0)
			strbuf_addf(out, "%slayer %d", *f->path ? ", " : "", f->layer);
		strbuf_adds(out, " | ");
		put_plain(out, f->message);
		strbuf_adds(out, " | ");
		put_plain(out, f->fix);
		strbuf_adds(out, " |\n");
	}
	if (left)
		strbuf_addf(out, "\nand %zu more findings.\n", left);
	if (rows)
		strbuf_addc(out, '\n');
}

static void put_accepted(struct strbuf *out, const struct lint_result *r)
{
	if (!r->suppressed)
		return;
	strbuf_addf(out, "<details><summary>%zu accepted</summary>\n\n", r->suppressed);
	for (size_t i = 0; i < r->findings.len; i++) {
		const struct finding *f = r->findings.items[i];

		if (!f->suppressed)
			continue;
		strbuf_addf(out, "- %s ", f->rule->id);
		put_plain(out, f->path);
		strbuf_adds(out, ": ");
		put_plain(out, f->suppressed);
		strbuf_addc(out, '\n');
	}
	strbuf_adds(out, "\n</details>\n\n");
}

static void put_not_run(struct strbuf *out, const struct lint_result *r)
{
	if (!r->not_run.len)
		return;
	strbuf_addf(out, "<details><summary>%zu rules did not run</summary>\n\n", r->not_run.len);
	for (size_t i = 0; i < r->not_run.len; i++) {
		strbuf_addf(out, "- %s: ", r->not_run.items[i].rule->id);
		put_plain(out, r->not_run.items[i].reason);
		strbuf_addc(out, '\n');
	}
	strbuf_adds(out, "\n</details>\n\n");
}

static void put_image(struct strbuf *out, const struct lint_result *r)
{
	cleanup_strbuf struct strbuf targets = { 0 };
	struct report_stack stack[8];
	size_t count;
	char size[32];

	strbuf_adds(out, "## ");
	put_plain(out, report_name(r));
	strbuf_addf(out, "\n\n**%s**: %zu error%s, %zu warning%s, %zu info, %zu accepted; %s",
		    r->unreadable ? "not read completely"
		    : r->failed   ? "findings at the threshold"
				  : "passed",
		    r->errors, r->errors == 1 ? "" : "s", r->warnings, r->warnings == 1 ? "" : "s",
		    r->infos, r->suppressed, out_size(r->bytes, size));
	report_stack(r, stack, &count);
	for (size_t i = 0; i < count; i++) {
		strbuf_addf(out, "%s %s ", i ? "," : ";", stack[i].name);
		put_plain(out, stack[i].version);
	}
	strbuf_adds(out, "\n\n");
	report_targets(r, &targets);
	if (targets.len) {
		strbuf_adds(out, "Judged for ");
		put_plain(out, strbuf_text(&targets));
		strbuf_adds(out, ".\n\n");
	}
	if (r->unreadable) {
		put_plain(out, r->unreadable);
		strbuf_adds(out, "\n\n");
	}
	put_findings(out, r);
	if (r->resolved.len)
		strbuf_addf(out, "Resolved since the baseline: %zu.\n\n", r->resolved.len);
	for (size_t i = 0; i < r->unused.len; i++) {
		strbuf_adds(out, "Acceptance not used: ");
		put_plain(out, r->unused.items[i].text);
		strbuf_adds(out, " ");
		put_plain(out, r->unused.items[i].why);
		strbuf_adds(out, ".\n\n");
	}
	put_accepted(out, r);
	put_not_run(out, r);
}

void report_markdown(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	strbuf_adds(out, "# gpuimg lint\n\n");
	for (size_t i = 0; i < count; i++)
		put_image(out, results[i]);
}
