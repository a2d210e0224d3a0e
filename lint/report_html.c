/*
 * One page that needs nothing else: findings in a table that can be searched, the layers with their
 * sizes, what the bytes belong to, the stack. All is in the markup; the script only hides rows.
 * A content security policy keeps whatever else from being loaded or run.
 */
#include "base/out.h"
#include "lint/report_parts.h"

static const char style[] =
	":root{--fg:#1b1f24;--bg:#fff;--line:#d5dae0;--soft:#f4f6f8;--error:#b42318;--war"
	"ning:#9a6700;--info:#175cd3;--ok:#067647;--dead:#d0d5dd}\n"
	"@media(prefers-color-scheme:dark){:root{--fg:#e6e8eb;--bg:#14171a;--line:#3a4048"
	";--soft:#1e2328;--error:#f97066;--warning:#fdb022;--info:#84adff;--ok:#47cd89;--"
	"dead:#475467}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:76rem;padding:1rem 1.5rem 4rem;font:15px/1.5 system"
	"-ui,sans-serif;color:var(--fg);background:var(--bg)}\n"
	"h1{font-size:1.4rem}h2{font-size:1.15rem;margin:2rem 0 .5rem;overflow-wrap:anywh"
	"ere}h3{font-size:1rem;margin:1.5rem 0 .4rem}\n"
	"table{border-collapse:collapse;width:100%}\n"
	"th,td{text-align:left;vertical-align:top;padding:.4rem .6rem;border-bottom:1px s"
	"olid var(--line);overflow-wrap:anywhere}\n"
	"th{background:var(--soft);position:sticky;top:0;cursor:default}\n"
	"td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	"code{font:13px/1.4 ui-monospace,monospace}\n"
	".error{color:var(--error)}.warning{color:var(--warning)}.info{color:var(--info)}"
	".passed{color:var(--ok)}.accepted{opacity:.7}\n"
	".fix{color:var(--fg);opacity:.85;margin-top:.2rem}\n"
	".facts{display:flex;flex-wrap:wrap;gap:.4rem 1.6rem;padding:0;margin:.5rem 0;lis"
	"t-style:none}\n"
	".facts b{font-weight:600}\n"
	".bar{display:flex;height:.9rem;min-width:2px;background:var(--soft);border-radiu"
	"s:3px;overflow:hidden}\n"
	".bar i{display:block;height:100%;background:var(--info)}.bar i.d{background:var("
	"--dead)}\n"
	".map{display:flex;height:2.4rem;border-radius:4px;overflow:hidden;margin:.4rem 0"
	" 1rem}\n"
	".map i{display:block;background:var(--info);border-right:1px solid var(--bg);min"
	"-width:1px;overflow:hidden;font:12px/2.4rem system-ui;color:#fff;text-align:cent"
	"er;font-style:normal}\n"
	".map i:nth-child(even){opacity:.75}\n"
	".tools{display:flex;flex-wrap:wrap;gap:1rem;align-items:center;margin:.5rem 0}\n"
	".tools input[type=search]{flex:1 1 16rem;padding:.4rem .6rem;font:inherit;color:"
	"inherit;background:var(--bg);border:1px solid var(--line);border-radius:4px}\n"
	"tr[hidden]{display:none}\n"
	"details{margin:.5rem 0}summary{cursor:pointer}\n";

static const char script[] =
	"(function(){\n"
	"var box=document.getElementById(\"q\");if(!box)return;\n"
	"var rows=[].slice.call(document.querySelectorAll(\"tr[data-s]\"));\n"
	"var ticks=[].slice.call(document.querySelectorAll(\".tools input[type=checkbox]\"));\n"
	"var count=document.getElementById(\"shown\");\n"
	"function show(){\n"
	"var words=box.value.toLowerCase().split(/\\s+/).filter(Boolean),n=0,off={};\n"
	"ticks.forEach(function(t){if(!t.checked)off[t.value]=1});\n"
	"rows.forEach(function(r){\n"
	"var text=r.textContent.toLowerCase();\n"
	"var hide=off[r.dataset.s]||words.some(function(w){return text.indexOf(w)<0});\n"
	"r.hidden=!!hide;if(!hide)n++;});\n"
	"count.textContent=n+\" of \"+rows.length;}\n"
	"box.addEventListener(\"input\",show);\n"
	"ticks.forEach(function(t){t.addEventListener(\"change\",show)});\n"
	"if(location.hash.indexOf(\"#q=\")===0)box.value=decodeURIComponent(location.hash"
	".slice(3));\n"
	"show();\n"
	"})();\n";

/* A text between tags. */
static void put_element(struct strbuf *out, const char *tag, const char *text)
{
	strbuf_addf(out, "<%s>", tag);
	put_markup(out, text);
	strbuf_addf(out, "</%s>", tag);
}

static void put_head(struct strbuf *out)
{
	strbuf_adds(out,
		    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
		    "<title>gpuimg lint</title>\n<style>\n");
	strbuf_adds(out, style);
	strbuf_adds(out, "</style></head><body>\n<h1>gpuimg lint</h1>\n");
}

static void put_tools(struct strbuf *out)
{
	static const char *const kinds[] = { "error", "warning", "info", "accepted" };

	strbuf_adds(out,
		    "<div class=\"tools\"><input type=\"search\" id=\"q\" placeholder=\"search "
		    "findings\" aria-label=\"search findings\">");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		strbuf_addf(out, "<label><input type=\"checkbox\" value=\"%s\" checked> %s</label>",
			    kinds[i], kinds[i]);
	strbuf_adds(out, "<span id=\"shown\"></span></div>\n");
}

static void put_facts(struct strbuf *out, const struct lint_result *r)
{
	cleanup_strbuf struct strbuf targets = { 0 };
	struct report_stack stack[8];
	char size[32];
	size_t count;

	strbuf_adds(out, "<ul class=\"facts\">");
	if (*r->digest)
		strbuf_addf(out, "<li><b>digest</b> <code>%s</code></li>", r->digest);
	if (r->platform) {
		strbuf_adds(out, "<li><b>platform</b> ");
		put_markup(out, r->platform);
		strbuf_adds(out, "</li>");
	}
	strbuf_addf(out, "<li><b>size</b> %s in %zu layers</li>", out_size(r->bytes, size),
		    r->layers);
	report_stack(r, stack, &count);
	for (size_t i = 0; i < count; i++) {
		strbuf_addf(out, "<li><b>%s</b> ", stack[i].name);
		put_markup(out, stack[i].version);
		strbuf_adds(out, "</li>");
	}
	strbuf_adds(out, "<li>");
	put_markup(out, r->gpu_reason ? r->gpu_reason : "not a GPU image");
	strbuf_adds(out, "</li>");
	report_targets(r, &targets);
	if (targets.len) {
		strbuf_adds(out, "<li><b>judged for</b> ");
		put_markup(out, strbuf_text(&targets));
		strbuf_adds(out, "</li>");
	}
	strbuf_adds(out, "</ul>\n");
}

static void put_verdict(struct strbuf *out, const struct lint_result *r)
{
	strbuf_addf(out,
		    "<p><b class=\"%s\">%s</b>: %zu errors, %zu warnings, %zu info, %zu "
		    "accepted</p>\n",
		    r->failed || r->unreadable ? "error" : "passed",
		    r->unreadable ? "not read completely"
		    : r->failed   ? "findings at the threshold"
				  : "passed",
		    r->errors, r->warnings, r->infos, r->suppressed);
	if (r->unreadable)
		put_element(out, "p", r->unreadable);
}

static void put_evidence(struct strbuf *out, const struct finding *f)
{
	if (!f->evidence)
		return;
	strbuf_adds(out, "<details><summary>evidence</summary>");
	for (const struct evidence *e = f->evidence; e; e = e->next) {
		strbuf_adds(out, "<div><code>");
		put_markup(out, e->key);
		strbuf_adds(out, ": ");
		put_markup(out, e->value);
		strbuf_adds(out, "</code></div>");
	}
	strbuf_adds(out, "</details>");
}

static void put_finding(struct strbuf *out, const struct finding *f)
{
	const char *kind = f->suppressed ? "accepted" : severity_name(f->severity);

	strbuf_addf(out,
		    "<tr data-s=\"%s\" class=\"%s\" id=\"f-%s\"><td class=\"%s\">%s</td><td>%s "
		    "<div>%s</div></td><td><code>",
		    kind, f->suppressed ? "accepted" : "open", f->fingerprint,
		    severity_name(f->severity), kind, f->rule->id, f->rule->name);
	put_markup(out, f->path);
	strbuf_adds(out, "</code>");
	if (f->layer >= 0)
		strbuf_addf(out, "<div>layer %d</div>", f->layer);
	strbuf_adds(out, "</td><td>");
	put_markup(out, f->message);
	strbuf_adds(out, "<div class=\"fix\">");
	strbuf_adds(out, f->suppressed ? "accepted: " : "fix: ");
	put_markup(out, f->suppressed ? f->suppressed : f->fix);
	strbuf_adds(out, "</div>");
	put_evidence(out, f);
	strbuf_adds(out, "</td></tr>\n");
}

static void put_findings(struct strbuf *out, const struct lint_result *r)
{
	if (!r->findings.len) {
		strbuf_adds(out, "<p class=\"passed\">No findings.</p>\n");
		return;
	}
	strbuf_adds(out, "<table><thead><tr><th>severity<th>rule<th>where<th>finding</tr></thead>"
			 "<tbody>\n");
	for (size_t i = 0; i < r->findings.len; i++)
		put_finding(out, r->findings.items[i]);
	strbuf_adds(out, "</tbody></table>\n");
}

/* Thousandths, so that no locale decides how a number is written. */
static void put_percent(struct strbuf *out, uint64_t part, uint64_t whole)
{
	uint64_t thousandths = whole ? (part / 1024) * 100000 / MAX(whole / 1024, (uint64_t)1) : 0;

	thousandths = MIN(thousandths, (uint64_t)100000);
	strbuf_addf(out, "%" PRIu64 ".%03" PRIu64 "%%", thousandths / 1000, thousandths % 1000);
}

static void put_bar(struct strbuf *out, uint64_t live, uint64_t dead, uint64_t largest)
{
	strbuf_adds(out, "<div class=\"bar\"><i style=\"width:");
	put_percent(out, live, largest);
	strbuf_adds(out, "\"></i><i class=\"d\" style=\"width:");
	put_percent(out, dead, largest);
	strbuf_adds(out, "\"></i></div>");
}

static void put_size(struct strbuf *out, uint64_t bytes)
{
	char size[32];

	strbuf_addf(out, "<td class=\"n\">%s</td>", out_size(bytes, size));
}

static void put_layer_rows(struct strbuf *out, const struct lint_result *r, uint64_t largest)
{
	for (size_t i = 0; i < r->layer_list.len; i++) {
		const struct lint_layer *l = &r->layer_list.items[i];

		strbuf_addf(out, "<tr><td class=\"n\">%zu</td>", i);
		put_size(out, l->bytes);
		put_size(out, l->stored);
		put_size(out, l->dead);
		strbuf_adds(out, "<td>");
		put_bar(out, l->bytes - l->dead, l->dead, largest);
		strbuf_adds(out, "<code>");
		put_markup(out, l->digest);
		strbuf_adds(out, "</code><div>");
		put_markup(out, l->made_by);
		strbuf_adds(out, "</div></td></tr>\n");
	}
}

static void put_layers(struct strbuf *out, const struct lint_result *r)
{
	uint64_t total = 0, largest = 1;

	if (!r->layer_list.len)
		return;
	for (size_t i = 0; i < r->layer_list.len; i++) {
		total += r->layer_list.items[i].bytes;
		largest = MAX(largest, r->layer_list.items[i].bytes);
	}
	strbuf_adds(out, "<h3>Layers</h3>\n<div class=\"map\">");
	for (size_t i = 0; i < r->layer_list.len; i++) {
		char size[32];

		strbuf_adds(out, "<i style=\"width:");
		put_percent(out, r->layer_list.items[i].bytes, total);
		strbuf_addf(out, "\" title=\"layer %zu: %s\">%zu</i>", i,
			    out_size(r->layer_list.items[i].bytes, size), i);
	}
	strbuf_adds(out, "</div>\n<table><thead><tr><th>layer<th>unpacked<th>stored<th>seen by "
			 "nobody<th>what</tr></thead><tbody>\n");
	put_layer_rows(out, r, largest);
	strbuf_adds(out, "</tbody></table>\n");
}

static void put_components(struct strbuf *out, const struct lint_result *r)
{
	enum { ROWS_MAX = 25 };

	if (!r->components.len)
		return;
	strbuf_adds(out, "<h3>What the bytes belong to</h3>\n<table><tbody>\n");
	for (size_t i = 0; i < r->components.len && i < ROWS_MAX; i++) {
		const struct component *c = &r->components.items[i];

		strbuf_adds(out, "<tr><td>");
		put_markup(out, c->name);
		strbuf_adds(out, "</td>");
		put_size(out, c->bytes);
		strbuf_adds(out, "<td style=\"width:50%\">");
		put_bar(out, c->bytes, 0, MAX(r->components.items[0].bytes, (uint64_t)1));
		strbuf_adds(out, "</td></tr>\n");
	}
	strbuf_adds(out, "</tbody></table>\n");
}

static void put_notes(struct strbuf *out, const struct lint_result *r)
{
	if (r->resolved.len)
		strbuf_addf(out, "<p>Resolved since the baseline: %zu.</p>\n", r->resolved.len);
	for (size_t i = 0; i < r->unused.len; i++) {
		cleanup_free char *text =
			xasprintf("acceptance not used: %s %s", r->unused.items[i].text,
				  r->unused.items[i].why);

		put_element(out, "p", text);
	}
	if (!r->not_run.len)
		return;
	strbuf_addf(out, "<details><summary>%zu rules did not run</summary><table><tbody>\n",
		    r->not_run.len);
	for (size_t i = 0; i < r->not_run.len; i++) {
		strbuf_addf(out, "<tr><td>%s %s</td><td>", r->not_run.items[i].rule->id,
			    r->not_run.items[i].rule->name);
		put_markup(out, r->not_run.items[i].reason);
		strbuf_adds(out, "</td></tr>\n");
	}
	strbuf_adds(out, "</tbody></table></details>\n");
}

void report_html(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	put_head(out);
	put_tools(out);
	for (size_t i = 0; i < count; i++) {
		const struct lint_result *r = results[i];

		strbuf_adds(out, "<section>");
		put_element(out, "h2", report_name(r));
		put_verdict(out, r);
		put_facts(out, r);
		put_findings(out, r);
		put_notes(out, r);
		put_layers(out, r);
		put_components(out, r);
		strbuf_adds(out, "</section>\n");
	}
	strbuf_addf(out, "<script>\n%s</script>\n</body></html>\n", script);
}
