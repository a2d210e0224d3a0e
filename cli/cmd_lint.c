#include <time.h>

#include "cli/command.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "lint/hosts.h"
#include "lint/report.h"

static const char *const formats[] = { "text", "json", NULL };
static const char *const thresholds[] = { "error", "warning", "info", "never", NULL };
static const char *const confidences[] = { "certain", "likely", "heuristic", NULL };

static const struct option options[] = {
	REPORT_OUTPUT_OPTION("text or json; several as FORMAT=FILE"),
	{ .name = "fail-on",
	  .value = "SEVERITY",
	  .choices = thresholds,
	  .help = "exit 1 from this severity on (error)" },
	{ .name = "select",
	  .value = "RULES",
	  .repeatable = true,
	  .help = "run only these: ids, names, prefixes (DRV,ENV001)" },
	{ .name = "ignore", .value = "RULES", .repeatable = true, .help = "do not run these" },
	{ .name = "min-confidence",
	  .value = "LEVEL",
	  .choices = confidences,
	  .help = "leave out findings that are less certain (heuristic)" },
	{ .name = "gpu",
	  .value = "GPUS",
	  .repeatable = true,
	  .help = "the GPUs it must run on (sm_90,h100)" },
	{ .name = "driver",
	  .value = "VERSIONS",
	  .repeatable = true,
	  .help = "drivers of the hosts (535.183.06, 550, >=550)" },
	{ .name = "driver-cuda",
	  .value = "VERSION",
	  .help = "the CUDA version the host driver reports" },
	{ .name = "runtime",
	  .value = "NAMES",
	  .repeatable = true,
	  .help = "cdi, legacy, enroot, wsl, jetson, apptainer" },
	PLATFORM_OPTION,
	{ .name = "list-rules", .help = "list the rules and stop" },
	{ .name = "explain", .value = "RULE", .help = "print the page of a rule and stop" },
	{ .name = "exit-zero", .help = "exit 0 whatever is found, for reporting only" },
	{ 0 },
};

static int read_options(const struct invocation *in, struct lint_options *out, struct error *err)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(in, "select", n)); n++) {
		if (policy_select(&out->policy, text, err) < 0)
			return -1;
	}
	for (size_t n = 0; (text = option_nth(in, "ignore", n)); n++) {
		if (policy_ignore(&out->policy, text, err) < 0)
			return -1;
	}
	for (size_t n = 0; (text = option_nth(in, "gpu", n)); n++) {
		if (target_add_gpus(&out->target, text, err) < 0)
			return -1;
	}
	for (size_t n = 0; (text = option_nth(in, "driver", n)); n++) {
		if (target_add_drivers(&out->target, text, err) < 0)
			return -1;
	}
	for (size_t n = 0; (text = option_nth(in, "runtime", n)); n++) {
		if (target_add_runtimes(&out->target, text, err) < 0)
			return -1;
	}
	text = option_text(in, "driver-cuda", NULL);
	if (text && target_set_driver_cuda(&out->target, text, err) < 0)
		return -1;
	if (hosts_check(&out->target, err) < 0)
		return -1;
	if (policy_set_fail_on(&out->policy, option_text(in, "fail-on", "error"), err) < 0)
		return -1;
	return policy_set_confidence(&out->policy, option_text(in, "min-confidence", "heuristic"),
				     err);
}

/* --list-rules and --explain. */
static int print_rules(const struct invocation *in, const struct report_outputs *outputs,
		       struct error *err)
{
	const char *wanted = option_text(in, "explain", NULL);
	const struct rule *rule = wanted ? lint_rule(wanted) : NULL;

	if (wanted && !rule)
		return error_set(err, ERROR_USAGE,
				 "--explain: no rule '%s' (see gpuimg lint --list-rules)", wanted);
	for (size_t i = 0; i < outputs->len; i++) {
		bool json = str_equal(outputs->items[i].format, "json");
		cleanup_strbuf struct strbuf text = { 0 };

		if (rule && json)
			rule_page_json(rule, &text);
		else if (rule)
			rule_page(rule, &text);
		else if (json)
			rule_list_json(&text);
		else
			rule_list_text(&text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

static int write_reports(const struct invocation *in, const struct report_outputs *outputs,
			 struct lint_result *results, size_t count, struct error *err)
{
	cleanup_free const struct lint_result **list = xcalloc(count + 1, sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = &results[i];
	for (size_t i = 0; i < outputs->len; i++) {
		const struct report_output *o = &outputs->items[i];
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(o->format, "json")) {
			report_json(list, count, &text);
		} else {
			for (size_t k = 0; k < count; k++) {
				strbuf_adds(&text, k ? "\n" : "");
				report_text(list[k], in->out->colour && !o->file, &text);
			}
		}
		if (report_output_write(o, strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

static int lint_one(const struct invocation *in, const char *name,
		    const struct lint_options *lint_options, struct lint_result *out,
		    struct error *err)
{
	cleanup_image struct image image = { 0 };

	if (image_arg_open(in, name, &image, err) < 0)
		return -1;
	return lint_run(&image, lint_options, out, err);
}

/*
 * What could be judged is printed, whatever became of the others. 0 or 1, or -1 for what could
 * not be read, which goes before a verdict.
 */
static int lint_all(const struct invocation *in, const struct lint_options *lint_options,
		    const struct report_outputs *outputs, struct error *err)
{
	cleanup_free struct lint_result *results = xcalloc(in->arg_count + 1, sizeof(*results));
	struct error first = { 0 };
	size_t count = 0;
	int status = 0;

	for (size_t i = 0; i < in->arg_count; i++) {
		struct lint_result *r = &results[count];
		struct error bad = { 0 };

		if (lint_one(in, in->args[i], lint_options, r, &bad) < 0) {
			lint_result_release(r);
			*r = (struct lint_result){ 0 };
			if (!first.code)
				first = bad;
			continue;
		}
		count++;
		if (r->unreadable && !first.code)
			error_set(&first, ERROR_INTEGRITY, "%s could not be read completely: %s",
				  in->args[i], r->unreadable);
		status = MAX(status, r->failed ? 1 : 0);
	}
	if (count && write_reports(in, outputs, results, count, err) < 0)
		status = -1;
	for (size_t i = 0; i < count; i++)
		lint_result_release(&results[i]);
	if (status >= 0 && first.code) {
		*err = first;
		return -1;
	}
	return status == 1 && option_given(in, "exit-zero") ? 0 : status;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	struct lint_options lint_options = { 0 };
	char today[16];
	time_t now = time(NULL);
	struct tm utc;
	int status;

	if (report_outputs_parse(in, formats, &outputs, err) < 0)
		return -1;
	if (option_given(in, "list-rules") || option_given(in, "explain"))
		return print_rules(in, &outputs, err);
	if (!in->arg_count)
		return error_set(err, ERROR_USAGE, "lint: no IMAGE was named");
	if (gmtime_r(&now, &utc) && strftime(today, sizeof(today), "%Y-%m-%d", &utc))
		lint_options.policy.today = today;
	status = read_options(in, &lint_options, err);
	if (status == 0)
		status = lint_all(in, &lint_options, &outputs, err);
	policy_release(&lint_options.policy);
	target_release(&lint_options.target);
	return status;
}

const struct command command_lint = {
	.name = "lint",
	.usage = "IMAGE...",
	.summary = "find what will break on a GPU node",
	.description =
		"Reads images of any origin (oci:DIR, oci-archive:FILE, docker-archive:FILE, "
		"rootfs:DIR, - "
		"for standard input) and judges them by rules about driver libraries, "
		"forward-compatibility, dynamic linking, the environment, secrets, size and "
		"conformance. Nothing is executed or unpacked, no GPU is needed.\n\n"
		"Exit status: 0 nothing at or above the threshold, 1 findings, 2 usage, 3 an image "
		"could not be read completely.",
	.examples = "gpuimg lint oci:out/app:1.0\n"
		    "docker save app | gpuimg lint -        # an image of the local Docker\n"
		    "gpuimg lint app.tar --output json=report.json --output text\n"
		    "gpuimg lint --explain DRV005",
	.options = options,
	.args_min = 0,
	.args_max = SIZE_MAX,
	.run = run,
};
