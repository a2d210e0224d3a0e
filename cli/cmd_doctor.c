#include "base/alloc.h"
#include "cli/registry_arg.h"
#include "cli/report_output.h"
#include "formats/json.h"
#include "registry/doctor.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ .name = "dry-run", .help = "only say it; pushes will not know" },
	REPORT_OUTPUT_OPTION("text or json"),
	{ 0 },
};

static const char *const words[] = {
	[ANSWER_UNKNOWN] = "?", [ANSWER_YES] = "yes", [ANSWER_NO] = "no"
};

static void print_text(const struct doctor_report *r, const char *url, struct strbuf *out)
{
	strbuf_addf(out, "%s behaves like %s\n", url, r->persona->name);
	for (size_t i = 0; i < r->count; i++)
		strbuf_addf(out, "%-10s %-4s %s\n", r->findings[i].name,
			    words[r->findings[i].answer], r->findings[i].text);
}

static void print_json(const struct doctor_report *r, const char *url, const char *repository,
		       struct strbuf *out)
{
	cleanup_json json_t *root = json_object();
	json_t *list = json_array();

	json_put(root, "schema", json_text("gpuimg-doctor/1"));
	json_put(root, "registry", json_text(url));
	json_put(root, "repository", json_text(repository));
	json_put(root, "persona", json_text(r->persona->name));
	for (size_t i = 0; i < r->count; i++) {
		json_t *o = json_object();

		json_put(o, "name", json_text(r->findings[i].name));
		json_put(o, "answer",
			 json_text(r->findings[i].answer == ANSWER_UNKNOWN
					   ? "unknown"
					   : words[r->findings[i].answer]));
		json_put(o, "text", json_text(r->findings[i].text));
		json_push(list, o);
	}
	json_put(root, "findings", list);
	json_pretty(root, out);
}

static int deliver(const struct invocation *in, const struct report_outputs *outputs,
		   const struct doctor_report *report, const struct client_repository *repository,
		   struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json"))
			print_json(report, client_repository_url(repository),
				   client_repository_name(repository), &text);
		else
			print_text(report, client_repository_url(repository), &text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

static void remember(const struct registry_arg *registry, const char *host,
		     const struct doctor_report *report)
{
	struct upload_host *h = upload_host_open(registry->state_dir, host, NULL, report->persona);

	upload_host_measured(h, &report->facts);
	upload_host_close(h);
}

static int examine(const struct invocation *in, struct registry_arg *registry,
		   const struct report_outputs *outputs, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_registry_target struct registry_target to = { 0 };
	struct doctor_report report;
	struct reference ref;

	if (registry_arg_reference(in->args[0], &arena, &ref, err) < 0)
		return -1;
	if (registry_target_open(registry, ref.registry, ref.repository, CLIENT_PUSH, &to, err) < 0)
		return -1;
	if (doctor_measure(to.client, &report, err) < 0)
		return -1;
	if (!option_given(in, "dry-run"))
		remember(registry, ref.registry, &report);
	return deliver(in, outputs, &report, to.repository, err);
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_registry_arg struct registry_arg registry = { 0 };
	cleanup_report_outputs struct report_outputs outputs = { 0 };

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    registry_arg_take(in, "doctor", &registry, err) < 0)
		return -1;
	return examine(in, &registry, &outputs, err);
}

const struct command command_doctor = {
	.name = "doctor",
	.usage = "HOST/NAME",
	.summary = "measure how a registry behaves, for pushes to know",
	.description =
		"Opens uploads to the repository and gives them up again: which ways of uploading\n"
		"the registry takes, how large a request may be, whether an upload outlives a cut\n"
		"connection, mounts, referrers, removal, ranges. About 3 MB are sent; nothing is "
		"left "
		"there.\n"
		"What pushes can use is kept for 30 days in $XDG_STATE_HOME/gpuimg/hosts.\n"
		"Credentials that may push to the repository are needed.",
	.examples = "gpuimg doctor registry.example.org/ml/probe    # say it, and remember it\n"
		    "gpuimg doctor -o json nvcr.io/acme/probe    # for machines",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
