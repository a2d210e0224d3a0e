/*
 * A code quality report of GitLab: an array of issues with unique fingerprints.
 * Source: GitLab documentation, "Code Quality", "Code Quality report format".
 */
#include "lint/report_parts.h"

/* Unique in the report, the same from run to run. */
static json_t *unique(const struct lint_result *r, const char *what, size_t count)
{
	cleanup_free char *text = xasprintf("%s\n%s", report_name(r), what);
	struct digest digest;
	char hex[DIGEST_HEX_MAX];

	if (count == 1)
		return json_text(what);
	digest = digest_of(slice_str(text));
	digest_hex(&digest, hex);
	hex[32] = '\0';
	return json_text(hex);
}

/* Paths are relative there; what has none is about the image as a whole. */
static json_t *location(const char *path, size_t line)
{
	json_t *out = json_object(), *lines = json_object();

	json_put(lines, "begin", json_integer((json_int_t)line));
	json_put(out, "path", json_text(path));
	json_put(out, "lines", lines);
	return out;
}

static json_t *issue(const char *check, const char *severity, json_t *where, json_t *fingerprint,
		     const char *description)
{
	cleanup_strbuf struct strbuf clean = { 0 };
	json_t *out = json_object();

	put_clean(&clean, description);
	json_put(out, "type", json_text("issue"));
	json_put(out, "check_name", json_text(check));
	json_put(out, "description", json_text(strbuf_text(&clean)));
	json_put(out, "severity", json_text(severity));
	json_put(out, "fingerprint", fingerprint);
	json_put(out, "location", where);
	return out;
}

static json_t *finding_issue(const struct lint_result *r, const struct finding *f, size_t count)
{
	static const char *const severities[] = { "info", "major", "critical" };
	cleanup_free char *check = xasprintf("%s %s", f->rule->id, f->rule->name);
	size_t line = report_line(r, f);
	const char *path = *f->path ? f->path + 1 : report_name(r);
	json_t *out = issue(check, severities[f->severity],
			    line ? location(r->recipe, line) : location(path, 1),
			    unique(r, f->fingerprint, count), f->message);
	json_t *content = json_object(), *categories = json_array();

	json_put(content, "body", json_text(f->fix));
	json_put(out, "content", content);
	json_push(categories, json_text(str_starts(f->rule->id, "SEC") ? "Security" : "Bug Risk"));
	json_put(out, "categories", categories);
	return out;
}

static json_t *not_run_issue(const struct lint_result *r, size_t count)
{
	cleanup_strbuf struct strbuf text = { 0 };

	strbuf_adds(&text, "Rules that did not run: ");
	for (size_t i = 0; i < r->not_run.len; i++)
		strbuf_addf(&text, "%s%s (%s)", i ? ", " : "", r->not_run.items[i].rule->id,
			    r->not_run.items[i].reason);
	return issue("not-run", "info", location(report_name(r), 1), unique(r, "not-run", count),
		     strbuf_text(&text));
}

void report_gitlab(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	cleanup_json json_t *all = json_array();

	for (size_t i = 0; i < count; i++) {
		const struct lint_result *r = results[i];

		for (size_t k = 0; k < r->findings.len; k++) {
			if (!r->findings.items[k]->suppressed)
				json_push(all, finding_issue(r, r->findings.items[k], count));
		}
		if (r->unreadable)
			json_push(all,
				  issue("not-read-completely", "blocker",
					location(report_name(r), 1),
					unique(r, "not-read-completely", count), r->unreadable));
		if (r->not_run.len)
			json_push(all, not_run_issue(r, count));
	}
	put_json(all, out);
	strbuf_addc(out, '\n');
}
