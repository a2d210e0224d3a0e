#include "cli/command.h"
#include "cli/image_copy.h"
#include "cli/push_extras.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ .name = "platform",
	  .value = "OS/ARCH",
	  .help = "of an index only the image for this platform" },
	{ .name = "all-platforms", .help = "an index with all its images, as without --platform" },
	REFERRERS_OPTION,
	{ .name = "parallel", .letter = 'j', .value = "N", .help = "blobs to move at once (4)" },
	{ .name = "range-size",
	  .value = "MIB",
	  .help = "blobs of 8 times that come in pieces of it, several at once (64)" },
	{ 0 },
};

static int run(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct image_copy copy = {
		.in = in, .registry = &registry, .to = in->args[1], .all = true
	};

	if (registry_arg_take(in, "copy", &registry, err) < 0 ||
	    image_name_parse(in->args[0], &arena, &copy.from, err) < 0)
		return -1;
	return image_copy_run(&copy, err);
}

const struct command command_copy = {
	.name = "copy",
	.usage = "SOURCE DESTINATION",
	.summary = "copy an image between registries, layouts and archives",
	.description =
		"Copies the image, or the index with all its images, byte for byte: the digest\n"
		"stays. From one registry to another nothing is written to the disk; blobs that\n"
		"are there are not sent, and within one registry they are taken over from the\n"
		"other repository. A docker-archive holds one image: of an index it is this\n"
		"machine's.\n"
		"\n"
		"SOURCE: docker://HOST/NAME:TAG, oci:DIR[:TAG], oci-archive:FILE[:TAG],\n"
		"docker-archive:FILE. DESTINATION: the same; docker-archive:FILE:NAME:TAG.",
	.examples =
		"gpuimg copy docker://registry.example.org/ml/trainer:2.3 "
		"docker://mirror.example.org/ml/trainer:2.3    # registry to registry\n"
		"gpuimg copy oci:out/trainer:2.3 oci-archive:trainer.tar    # a layout as one file",
	.options = options,
	.args_min = 2,
	.args_max = 2,
	.run = run,
};
