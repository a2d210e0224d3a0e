#include "base/vec.h"
#include "cli/command.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "testkernels/test.h"

static const char *const mode_choices[] = { "auto", "loader", NULL };

static const struct option options[] = {
	REPORT_OUTPUT_OPTION("text (default) or json"),
	{ .name = "require",
	  .value = "WHAT",
	  .repeatable = true,
	  .help = "\"load\", \"run\" or a test's id: exit 3 when it did not run" },
	{ .name = "gpu",
	  .value = "TARGET",
	  .repeatable = true,
	  .help = "compile and assemble for this GPU architecture, e.g. sm_90" },
	{ .name = "mode",
	  .value = "MODE",
	  .choices = mode_choices,
	  .help = "how to start the probe: auto (default) or loader" },
	{ .name = "timeout", .value = "SECONDS", .help = "time limit of one test (default: 60)" },
	PLATFORM_OPTION,
	{ 0 },
};

struct texts {
	const char **items;
	size_t len, cap;
};

static void texts_release(struct texts *t)
{
	vec_release(t);
}
#define cleanup_texts cleanup(texts_release)

static void collect(const struct invocation *in, const char *option, struct texts *out)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(in, option, n)); n++)
		vec_push(out, text);
}

static int deliver(const struct invocation *in, const struct test_report *report,
		   const struct report_outputs *outputs, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json"))
			test_report_json(report, &text);
		else
			test_report_text(report, in->out->colour && !outputs->items[i].file,
					 in->out->verbosity > 0, &text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_texts struct texts require = { 0 }, targets = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_test_report struct test_report report = { 0 };
	struct test_options test = { .mode = option_text(in, "mode", "auto"), .out = in->out };
	uint64_t seconds;

	collect(in, "require", &require);
	collect(in, "gpu", &targets);
	test.require = require.items;
	test.require_count = require.len;
	test.targets = targets.items;
	test.target_count = targets.len;
	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    option_number(in, "timeout", 1, 86400, 60, &seconds, err) < 0 ||
	    test_options_check(&test, err) < 0 || image_arg_open(in, in->args[0], &image, err) < 0)
		return -1;
	test.timeout_ms = seconds * 1000;
	if (test_run(&image, &test, &report, err) < 0)
		return error_wrap(err, "test %s", in->args[0]);
	if (deliver(in, &report, &outputs, err) < 0)
		return -1;
	return test_report_exit_status(&report);
}

const struct command command_test = {
	.name = "test",
	.usage = "IMAGE",
	.summary = "load an image's own CUDA libraries and run kernels through them",
	.description = "Starts a small probe through the image's own loader, opens the image's "
		       "CUDA libraries,\n"
		       "asks them for their versions, has nvrtc compile and nvJitLink assemble a "
		       "kernel, and runs\n"
		       "kernels where there is a GPU. Each test has a process and a time limit of "
		       "its own. What\n"
		       "fails is blamed on the image, on the injection of the driver, on the host "
		       "or on the\n"
		       "hardware. Without a GPU the run tier is skipped.\n"
		       "\n"
		       "In mode loader the image's code runs as you, without isolation: test only "
		       "images that you\n"
		       "would run. Images are unpacked below $TMPDIR, else /var/tmp.\n"
		       "\n"
		       "Exit status: 0 nothing failed; 1 the image is to blame; 2 usage; 3 could "
		       "not be judged:\n"
		       "host or injection at fault, or a required test did not run.",
	.examples = "gpuimg test oci:out/app:1.0\n"
		    "gpuimg test --require load --gpu sm_90 -o json=report.json app.tar\n"
		    "gpuimg test --require run rootfs:/srv/image    # on a machine with a GPU\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
