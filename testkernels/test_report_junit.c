/*
 * JUnit's XML from a report: a suite per tier, a case per test, the image as the class.
 * Source: the elements that Jenkins' JUnit plugin and Maven Surefire agree on.
 */
#include "testkernels/test_report.h"

/* XML 1.0 has no way to write most control characters. */
static void put_escaped(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '&')
			strbuf_adds(out, "&amp;");
		else if (c == '<')
			strbuf_adds(out, "&lt;");
		else if (c == '>')
			strbuf_adds(out, "&gt;");
		else if (c == '"')
			strbuf_adds(out, "&quot;");
		else if (c == '\n' || c == '\t')
			strbuf_addf(out, "&#%d;", c);
		else
			strbuf_addc(out, c < 0x20 || c == 0x7f ? ' ' : (char)c);
	}
}

static void put_attribute(struct strbuf *out, const char *name, const char *value)
{
	strbuf_addf(out, " %s=\"", name);
	put_escaped(out, value);
	strbuf_addc(out, '"');
}

static void put_seconds(struct strbuf *out, uint64_t ms)
{
	strbuf_addf(out, " time=\"%" PRIu64 ".%03" PRIu64 "\"", ms / 1000, ms % 1000);
}

static void put_failure(struct strbuf *out, const struct test_result *t)
{
	const char *element = t->status == TEST_ERROR ? "error" : "failure";

	strbuf_addf(out, "      <%s", element);
	put_attribute(out, "message", t->message ? t->message : "");
	put_attribute(out, "type", t->code_name && *t->code_name ? t->code_name : element);
	strbuf_addc(out, '>');
	if (t->blame) {
		strbuf_addf(out, "blame: %s", test_blame_name(t->blame));
		strbuf_adds(out, t->hint ? "\n" : "");
	}
	put_escaped(out, t->hint ? t->hint : "");
	strbuf_addf(out, "</%s>\n", element);
}

static void put_case(struct strbuf *out, const struct test_report *r, const struct test_result *t)
{
	strbuf_adds(out, "    <testcase");
	put_attribute(out, "classname", r->image && *r->image ? r->image : "image");
	put_attribute(out, "name", t->id);
	put_seconds(out, t->duration_ms);
	if (t->status == TEST_PASS) {
		strbuf_adds(out, "/>\n");
		return;
	}
	strbuf_adds(out, ">\n");
	if (t->status == TEST_SKIP) {
		strbuf_adds(out, "      <skipped message=\"");
		put_escaped(out, t->reason ? t->reason : "");
		strbuf_adds(out, ": ");
		put_escaped(out, t->message ? t->message : "");
		strbuf_adds(out, "\"/>\n");
	} else {
		put_failure(out, t);
	}
	strbuf_adds(out, "    </testcase>\n");
}

static void put_suite(struct strbuf *out, const struct test_report *r, enum test_tier tier,
		      const char *node)
{
	static const char *const names[] = { "load", "run" };
	size_t count[4] = { 0 }, all = 0;
	uint64_t ms = 0;

	for (size_t i = 0; i < r->tests.len; i++) {
		if (r->tests.items[i].tier != tier)
			continue;
		count[r->tests.items[i].status]++;
		ms += r->tests.items[i].duration_ms;
		all++;
	}
	strbuf_adds(out, "  <testsuite name=\"");
	if (node) {
		put_escaped(out, node);
		strbuf_addc(out, ' ');
	}
	strbuf_addf(out, "%s\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\"",
		    names[tier], all, count[TEST_FAIL], count[TEST_ERROR], count[TEST_SKIP]);
	put_seconds(out, ms);
	strbuf_adds(out, ">\n");
	for (size_t i = 0; i < r->tests.len; i++) {
		if (r->tests.items[i].tier == tier)
			put_case(out, r, &r->tests.items[i]);
	}
	strbuf_adds(out, "  </testsuite>\n");
}

void test_report_junit_suites(const struct test_report *r, const char *node, struct strbuf *out)
{
	put_suite(out, r, TIER_LOAD, node);
	put_suite(out, r, TIER_RUN, node);
}

void test_report_junit_begin(const struct test_report *const *reports, size_t count,
			     struct strbuf *out)
{
	size_t all = 0, failures = 0, errors = 0;
	uint64_t ms = 0;

	for (size_t i = 0; i < count; i++) {
		struct test_summary s = test_report_summary(reports[i]);

		all += reports[i]->tests.len;
		failures += s.fail;
		errors += s.error;
		for (size_t k = 0; k < reports[i]->tests.len; k++)
			ms += reports[i]->tests.items[k].duration_ms;
	}
	strbuf_adds(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
	put_attribute(out, "name", "gpuimg test");
	strbuf_addf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", all, failures, errors);
	put_seconds(out, ms);
	strbuf_adds(out, ">\n");
}

void test_report_junit(const struct test_report *r, struct strbuf *out)
{
	test_report_junit_begin(&r, 1, out);
	test_report_junit_suites(r, NULL, out);
	strbuf_adds(out, "</testsuites>\n");
}
