#include "testkernels/fleet.h"

#include "base/alloc.h"

static json_t *node_json(const struct fleet_node *n)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };
	json_t *o = json_object(), *report = NULL;

	test_report_json(&n->report, &text);
	if (json_parse(strbuf_slice(&text), &report, &ignored) < 0)
		report = json_object();
	json_put(o, "node", json_text(n->node));
	json_put(o, "source", json_text(n->source));
	json_put(o, "report", report);
	return o;
}

void fleet_report_json(const struct fleet_report *r, struct strbuf *out)
{
	cleanup_json json_t *doc = json_object();
	json_t *nodes = json_array(), *unknown = json_array(), *summary = json_object();
	size_t good = 0;

	for (size_t i = 0; i < r->nodes.len; i++) {
		json_push(nodes, node_json(&r->nodes.items[i]));
		good += test_report_exit_status(&r->nodes.items[i].report) == 0;
	}
	for (size_t i = 0; i < r->not_understood.len; i++)
		json_push(unknown, json_text(r->not_understood.items[i]));
	json_put(summary, "nodes", json_integer((json_int_t)r->nodes.len));
	json_put(summary, "good", json_integer((json_int_t)good));
	json_put(summary, "wanted", json_integer((json_int_t)r->wanted));
	json_put(summary, "exit_status", json_integer(fleet_report_exit_status(r)));
	json_put(doc, "schema", json_text("gpuimg-test-fleet/1"));
	json_put(doc, "nodes", nodes);
	json_put(doc, "not_understood", unknown);
	json_put(doc, "summary", summary);
	json_pretty(doc, out);
}

void fleet_report_junit(const struct fleet_report *r, struct strbuf *out)
{
	cleanup_free const struct test_report **reports =
		xcalloc(r->nodes.len + 1, sizeof(*reports));

	for (size_t i = 0; i < r->nodes.len; i++)
		reports[i] = &r->nodes.items[i].report;
	test_report_junit_begin(reports, r->nodes.len, out);
	for (size_t i = 0; i < r->nodes.len; i++)
		test_report_junit_suites(reports[i], r->nodes.items[i].node, out);
	strbuf_adds(out, "</testsuites>\n");
}

void fleet_report_text(const struct fleet_report *r, bool colour, bool verbose, struct strbuf *out)
{
	for (size_t i = 0; i < r->nodes.len; i++) {
		const struct fleet_node *n = &r->nodes.items[i];
		struct test_summary s = test_report_summary(&n->report);

		strbuf_addf(out, "%s%s: %zu passed, %zu failed, %zu skipped", i ? "\n" : "",
			    n->node, s.pass, s.fail, s.skip);
		strbuf_addf(out, "%s (%s)\n", s.error ? ", not complete" : "", n->source);
		if (verbose || s.fail + s.error)
			test_report_text(&n->report, colour, verbose, out);
	}
	for (size_t i = 0; i < r->not_understood.len; i++)
		strbuf_addf(out, "%s: no line of the probe, and no report\n",
			    r->not_understood.items[i]);
	if (r->nodes.len < r->wanted)
		strbuf_addf(out, "%zu of %" PRIu64 " nodes have answered\n", r->nodes.len,
			    r->wanted);
}
