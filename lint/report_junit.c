/*
 * JUnit's XML: a suite per image and a case per rule, so that a pass is visible. A rule fails when
 * one of its findings counts at the threshold; what does not count stands in its output. A rule
 * that did not run is skipped, with the reason.
 * Source: the elements that Jenkins' JUnit plugin and Maven Surefire agree on.
 */
#include "lint/report_parts.h"

struct totals {
	size_t tests, failures, errors, skipped;
};

static struct totals totals_of(const struct lint_result *r)
{
	struct totals t = { .tests = r->ran.len + r->not_run.len, .skipped = r->not_run.len };

	for (size_t i = 0; i < r->ran.len; i++)
		t.failures += report_failures(r, r->ran.items[i], NULL) > 0;
	if (r->unreadable) {
		t.tests++;
		t.errors++;
	}
	return t;
}

static void put_attribute(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, " %s=\"", name);
	put_markup(out, value);
	strbuf_addc(out, '"');
}

static void begin_case(struct strbuf *out, const struct rule *rule)
{
	strbuf_addf(out, "    <testcase classname=\"gpuimg.lint.%.3s\" name=\"%s %s\" time=\"0\">",
		    rule->id, rule->id, rule->name);
}

static void put_line(struct strbuf *out, const struct finding *f)
{
	strbuf_addf(out, "%s ", f->suppressed ? "accepted" : severity_name(f->severity));
	put_markup(out, f->path);
	strbuf_adds(out, *f->path ? ": " : "");
	put_markup(out, f->message);
	strbuf_adds(out, f->suppressed ? " Reason: " : " Fix: ");
	put_markup(out, f->suppressed ? f->suppressed : f->fix);
	strbuf_addc(out, '\n');
}

/* Lines of a rule's findings, those that count or those that do not. */
static void put_lines(struct strbuf *out, const struct lint_result *r, const struct rule *rule,
		      bool counting)
{
	for (size_t i = 0; i < r->findings.len; i++) {
		const struct finding *f = r->findings.items[i];

		if (f->rule == rule && policy_counts(r->fail_on, f) == counting)
			put_line(out, f);
	}
}

static void put_ran(struct strbuf *out, const struct lint_result *r, const struct rule *rule)
{
	cleanup_strbuf struct strbuf others = { 0 };
	size_t failures = report_failures(r, rule, NULL);

	begin_case(out, rule);
	if (failures) {
		cleanup_free char *message =
			xasprintf("%zu finding%s", failures, failures == 1 ? "" : "s");

		strbuf_adds(out, "\n      <failure");
		put_attribute(out, "message", message);
		put_attribute(out, "type", rule->name);
		strbuf_addc(out, '>');
		put_lines(out, r, rule, true);
		strbuf_adds(out, "</failure>");
	}
	put_lines(&others, r, rule, false);
	if (others.len)
		strbuf_addf(out, "\n      <system-out>%s</system-out>", strbuf_text(&others));
	strbuf_adds(out, failures || others.len ? "\n    </testcase>\n" : "</testcase>\n");
}

static void put_not_run(struct strbuf *out, const struct lint_not_run *n)
{
	begin_case(out, n->rule);
	strbuf_adds(out, "\n      <skipped");
	put_attribute(out, "message", n->reason);
	strbuf_adds(out, "/>\n    </testcase>\n");
}

/* All rules in the order of their ids, whether they ran or not. */
static void put_cases(struct strbuf *out, const struct lint_result *r)
{
	size_t ran = 0, not_run = 0;

	while (ran < r->ran.len || not_run < r->not_run.len) {
		if (not_run == r->not_run.len ||
		    (ran < r->ran.len &&
		     strcmp(r->ran.items[ran]->id, r->not_run.items[not_run].rule->id) < 0))
			put_ran(out, r, r->ran.items[ran++]);
		else
			put_not_run(out, &r->not_run.items[not_run++]);
	}
}

static void put_totals(struct strbuf *out, struct totals t)
{
	strbuf_addf(out,
		    " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"0\">\n",
		    t.tests, t.failures, t.errors, t.skipped);
}

static void put_suite(struct strbuf *out, const struct lint_result *r)
{
	strbuf_adds(out, "  <testsuite");
	put_attribute(out, "name", report_name(r));
	put_totals(out, totals_of(r));
	if (r->unreadable) {
		strbuf_adds(out, "    <testcase classname=\"gpuimg.lint\" name=\"the image can be "
				 "read\" time=\"0\">\n      <error");
		put_attribute(out, "message", r->unreadable);
		put_attribute(out, "type", "unreadable");
		strbuf_adds(out, "/>\n    </testcase>\n");
	}
	put_cases(out, r);
	strbuf_adds(out, "  </testsuite>\n");
}

void report_junit(const struct lint_result *const *results, size_t count, struct strbuf *out)
{
	struct totals all = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct totals t = totals_of(results[i]);

		all.tests += t.tests;
		all.failures += t.failures;
		all.errors += t.errors;
		all.skipped += t.skipped;
	}
	strbuf_adds(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpuimg lint\"");
	put_totals(out, all);
	for (size_t i = 0; i < count; i++)
		put_suite(out, results[i]);
	strbuf_adds(out, "</testsuites>\n");
}
