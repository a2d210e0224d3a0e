#include "cli/command.h"
#include "cli/fact_store.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "cli/target_arg.h"
#include "lint/image_diff.h"

enum { ROWS_SHOWN = 30 };

static const char *const formats[] = { "text", "json", NULL };

static const struct option options[] = {
	REPORT_OUTPUT_OPTION("text or json"),
	TARGET_OPTIONS,
	PLATFORM_OPTION,
	{ 0 },
};

static int write_report(const struct invocation *in, const struct report_outputs *outputs,
			const struct image_diff *diff, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json")) {
			cleanup_json json_t *json = image_diff_json(diff);

			json_pretty(json, &text);
		} else {
			image_diff_text(diff, in->out->verbosity > 0 ? SIZE_MAX : ROWS_SHOWN,
					&text);
		}
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_image_diff struct image_diff diff = { 0 };
	cleanup_image struct image a = { 0 }, b = { 0 };
	cleanup_fact_store struct fact_store facts = { 0 };
	struct lint_options how = { .cache = fact_store_open(in, &facts) };
	int rc = -1;

	if (report_outputs_parse(in, formats, &outputs, err) == 0 &&
	    target_arg_read(in, &how.target, err) == 0 &&
	    image_arg_open(in, in->args[0], &a, err) == 0 &&
	    image_arg_open(in, in->args[1], &b, err) == 0 &&
	    image_diff_make(&a, &b, &how, &diff, err) == 0 &&
	    write_report(in, &outputs, &diff, err) == 0)
		rc = diff.different ? 1 : 0;
	target_release(&how.target);
	return rc;
}

const struct command command_diff = {
	.name = "diff",
	.usage = "A B",
	.summary = "what differs between two images",
	.description =
		"Compares two images of any origin: the stack, packages, configuration, findings "
		"that appear or vanish, layers (by their content, not by how they are compressed), "
		"what the bytes belong to, and every file by its digest. Findings that depend on "
		"hosts need --gpu and --driver, as for lint.\n\n"
		"Exit status: 0 no difference, 1 they differ, 2 usage, 3 one could not be read.",
	.examples = "gpuimg diff oci:out/app:1.0 oci:out/app:1.1\n"
		    "gpuimg diff oci:out/app:1.0 oci:out/app:1.1 --gpu h100,l4 --driver 550\n"
		    "gpuimg diff docker://registry.example.org/app:1.0 oci:out/app --output json\n",
	.options = options,
	.args_min = 2,
	.args_max = 2,
	.run = run,
};
