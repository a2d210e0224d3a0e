#include "cli/command.h"
#include "cli/image_copy.h"
#include "cli/push_extras.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ .name = "platform",
	  .value = "OS/ARCH",
	  .help = "the image of an index to take; else this machine's" },
	{ .name = "all-platforms", .help = "the index with all its images" },
	REFERRERS_OPTION,
	{ .name = "parallel", .letter = 'j', .value = "N", .help = "blobs to receive at once (4)" },
	{ .name = "range-size",
	  .value = "MIB",
	  .help = "blobs of 8 times that come in pieces of it, several at once (64)" },
	{ 0 },
};

static int run(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct image_copy copy = { .in = in,
				   .registry = &registry,
				   .from = { .transport = TRANSPORT_DOCKER, .text = in->args[0] },
				   .to = in->args[1] };

	if (registry_arg_take(in, "pull", &registry, err) < 0 ||
	    registry_arg_reference(in->args[0], &arena, &copy.from.ref, err) < 0)
		return -1;
	return image_copy_run(&copy, err);
}

const struct command command_pull = {
	.name = "pull",
	.usage = "REFERENCE DESTINATION",
	.summary = "fetch an image from a registry",
	.description =
		"Receives the image HOST/NAME:TAG or HOST/NAME@DIGEST into a layout or an archive\n"
		"(oci:DIR[:TAG], oci-archive:FILE[:TAG], docker-archive:FILE[:NAME:TAG]), and\n"
		"prints its digest. Of an index it takes the image for this machine, or for\n"
		"--platform, or with --all-platforms the whole. Every byte is verified as it\n"
		"comes. A pull that was broken off goes on where it stopped: what came lies in\n"
		"the store, below partials/.\n"
		"\n"
		"Credentials are found as `gpuimg push` finds them.",
	.examples =
		"gpuimg pull registry.example.org/ml/trainer:2.3 oci:trainer:2.3"
		"    # a layout\n"
		"gpuimg pull --platform linux/arm64 nvcr.io/nvidia/cuda:12.9.1-base-ubuntu24.04 "
		"oci-archive:cuda.tar    # another platform's",
	.options = options,
	.args_min = 2,
	.args_max = 2,
	.run = run,
};
