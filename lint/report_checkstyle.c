/*
 * The XML of Checkstyle, which many tools read: files with errors in them.
 * Source: checkstyle/checkstyle XMLLogger.java (elements and attributes); severities "ignore",
 * "info", "warning", "error" of its SeverityLevel.
 */
#include "lint/report_parts.h"

static void put_error(struct strbuf *out, size_t line, const char *severity, const char *source,
		      const char *message)
{
	strbuf_addf(out, "    <error line=\"%zu\" severity=\"%s\" message=\"", line, severity);
	put_markup(out, message);
	strbuf_adds(out, "\" source=\"");
	put_markup(out, source);
	strbuf_adds(out, "\"/>\n");
}

static void begin_file(struct strbuf *out, const struct lint_result *r, const char *path)
{
	strbuf_adds(out, "  <file name=\"");
	put_markup(out, report_name(r));
	if (*path) {
		strbuf_addc(out, ':');
		put_markup(out, path);
	}
	strbuf_adds(out, "\">\n");
}

static int by_path(const void *left, const void *right)
{
	const struct finding *a = *(const struct finding *const *)left;
	const struct finding *b = *(const struct finding *const *)right;
	int c = strcmp(a->path, b->path);

	return c ? c : strcmp(a->fingerprint, b->fingerprint);
}

static void put_notes(struct strbuf *out, const struct lint_result *r)
{
	if (r->unreadable)
		put_error(out, 1, "error", "gpuimg.not-read-completely", r->unreadable);
	for (size_t i = 0; i < r->not_run.len; i++) {
		cleanup_free char *text =
			xasprintf("%s did not run: %s", r->not_run.items[i].rule->id,
				  r->not_run.items[i].reason);

		put_error(out, 1, "ignore", "gpuimg.not-run", text);
	}
}

/* Findings of layers whose line in the recipe is known. */
static void put_recipe(struct strbuf *out, const struct lint_result *r)
{
	bool open = false;

	for (size_t i = 0; i < r->findings.len; i++) {
		const struct finding *f = r->findings.items[i];
		cleanup_free char *source = xasprintf("gpuimg.%s", f->rule->id);
		size_t line = report_line(r, f);

		if (f->suppressed || !line)
			continue;
		if (!open) {
			strbuf_adds(out, "  <file name=\"");
			put_markup(out, r->recipe);
			strbuf_adds(out, "\">\n");
		}
		open = true;
		put_error(out, line, severity_name(f->severity), source, f->message);
	}
	if (open)
		strbuf_adds(out, "  </file>\n");
}

static void put_image(struct strbuf *out, const struct lint_result *r)
{
	cleanup_free struct finding **sorted = xcalloc(r->findings.len + 1, sizeof(*sorted));
	const char *open = NULL;
	size_t count = 0;

	for (size_t i = 0; i < r->findings.len; i++) {
		if (!r->findings.items[i]->suppressed && !report_line(r, r->findings.items[i]))
			sorted[count++] = r->findings.items[i];
	}
	qsort(sorted, count, sizeof(*sorted), by_path);
	begin_file(out, r, "");
	put_notes(out, r);
	for (size_t i = 0; i < count; i++) {
		const struct finding *f = sorted[i];
		cleanup_free char *source = xasprintf("gpuimg.%s", f->rule->id);

		if (!str_equal(open ? open : "", f->path)) {
			strbuf_adds(out, "  </file>\n");
			begin_file(out, r, f->path);
			open = f->path;
		}
		put_error(out, 1, severity_name(f->severity), source, f->message);
	}
	strbuf_adds(out, "  </file>\n");
	put_recipe(out, r);
}

void report_checkstyle(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	strbuf_adds(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<checkstyle version=\"4.3\">\n");
	for (size_t i = 0; i < count; i++)
		put_image(out, results[i]);
	strbuf_adds(out, "</checkstyle>\n");
}
