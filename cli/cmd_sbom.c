#include "cli/sbom_arg.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"

static const struct option options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .value = "FORMAT[=FILE]",
	  .help = "spdx (the default), cyclonedx; of images built here provenance and files, too",
	  .repeatable = true },
	{ .name = "scan", .help = "read the image, also when its build left an SBOM in the store" },
	PLATFORM_OPTION,
	{ 0 },
};

static int write_one(const struct invocation *in, struct image *image,
		     const struct report_output *output, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	enum attachment kind;

	if (sbom_arg_kind("output", output->format, &kind, err) < 0)
		return -1;
	if ((option_given(in, "scan") || !sbom_arg_recall(in, image, kind, &text)) &&
	    sbom_arg_scan(image, kind, &text, err) < 0)
		return -1;
	return report_output_write(output, strbuf_slice(&text), in->out, err);
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "spdx", "cyclonedx", "provenance", "files", NULL };
	static const struct report_output plain = { .format = "spdx" };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_image struct image image = { 0 };

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    image_arg_open(in, in->args[0], &image, err) < 0)
		return -1;
	if (!option_given(in, "output"))
		return write_one(in, &image, &plain, err);
	for (size_t i = 0; i < outputs.len; i++) {
		if (write_one(in, &image, &outputs.items[i], err) < 0)
			return -1;
	}
	return 0;
}

const struct command command_sbom = {
	.name = "sbom",
	.usage = "IMAGE",
	.summary = "SBOM of an image, as SPDX or CycloneDX",
	.description =
		"Prints what an image is made of: packages with versions, licences and package "
		"URLs, and the\n"
		"libraries that no package database names. Of an image that was built with this "
		"store it is what\n"
		"the build accounted for, every path of it; of any other what its package "
		"databases say.\n"
		"SPDX 2.3 and CycloneDX 1.6, the same bytes for the same image.",
	.examples =
		"gpuimg sbom oci:out/app:1.0\n"
		"gpuimg sbom oci:out/app:1.0 -o spdx=app.spdx.json -o cyclonedx=app.cdx.json\n"
		"gpuimg sbom oci:out/app:1.0 -o provenance     # SLSA v1, an in-toto statement\n"
		"docker save app | gpuimg sbom -\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
