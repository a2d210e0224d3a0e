/*
 * Workflow commands of GitHub Actions: what the runner prints as annotations of the run.
 * Source: GitHub documentation, "Workflow commands for GitHub Actions"; actions/toolkit
 * packages/core/src/command.ts for what has to be escaped.
 */
#include "lint/report_parts.h"

/* Clean text in which "%" cannot begin an escape, and for a property ":" and "," end nothing. */
static void put_escaped(struct strbuf *out, const char *text, bool property)
{
	cleanup_strbuf struct strbuf clean = { 0 };

	put_clean(&clean, text);
	for (const char *p = strbuf_text(&clean); *p; p++) {
		if (*p == '%' || (property && (*p == ':' || *p == ',')))
			strbuf_addf(out, "%%%02X", (unsigned char)*p);
		else
			strbuf_addc(out, *p);
	}
}

/* `file` with `line`, or 0 for none. */
static void put_command_at(struct strbuf *out, const char *command, const char *file, size_t line,
			   const char *title, const char *message)
{
	strbuf_addf(out, "::%s ", command);
	if (line) {
		strbuf_adds(out, "file=");
		put_escaped(out, file, true);
		strbuf_addf(out, ",line=%zu,", line);
	}
	strbuf_adds(out, "title=");
	put_escaped(out, title, true);
	strbuf_adds(out, "::");
	put_escaped(out, message, false);
	strbuf_addc(out, '\n');
}

static void put_command(struct strbuf *out, const char *command, const char *title,
			const char *message)
{
	put_command_at(out, command, "", 0, title, message);
}

static void put_finding(struct strbuf *out, const struct lint_result *r, const struct finding *f)
{
	static const char *const commands[] = { "notice", "warning", "error" };
	cleanup_free char *title = xasprintf("%s %s", f->rule->id, f->rule->name);
	cleanup_free char *message = xasprintf("%s%s%s: %s Fix: %s", report_name(r),
					       *f->path ? " " : "", f->path, f->message, f->fix);

	if (!f->suppressed)
		put_command_at(out, commands[f->severity], r->recipe, report_line(r, f), title,
			       message);
}

static void put_not_run(struct strbuf *out, const struct lint_result *r)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (!r->not_run.len)
		return;
	strbuf_addf(&text, "%s: ", report_name(r));
	for (size_t i = 0; i < r->not_run.len; i++)
		strbuf_addf(&text, "%s%s (%s)", i ? ", " : "", r->not_run.items[i].rule->id,
			    r->not_run.items[i].reason);
	put_command(out, "notice", "rules that did not run", strbuf_text(&text));
}

void report_github(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	for (size_t i = 0; i < count; i++) {
		const struct lint_result *r = results[i];

		for (size_t k = 0; k < r->findings.len; k++)
			put_finding(out, r, r->findings.items[k]);
		if (r->unreadable)
			put_command(out, "error", "image not read completely", r->unreadable);
		for (size_t k = 0; k < r->unused.len; k++) {
			cleanup_free char *text =
				xasprintf("%s %s", r->unused.items[k].text, r->unused.items[k].why);

			put_command(out, "notice", "acceptance not used", text);
		}
		put_not_run(out, r);
	}
}
