#include "cli/registry_arg.h"
#include "registry/listing.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ 0 },
};

static int remove_image(const struct invocation *in, struct registry_arg *registry,
			struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_registry_target struct registry_target to = { 0 };
	char digest[DIGEST_TEXT_MAX];
	struct descriptor desc;
	struct reference ref;

	if (registry_arg_reference(in->args[0], &arena, &ref, err) < 0)
		return -1;
	if (!ref.has_digest)
		return error_set(
			err, ERROR_USAGE,
			"'%s': an image is removed by its digest (HOST/NAME@sha256:…), with "
			"all its tags; `gpuimg inspect docker://%s/%s:%s` tells it",
			in->args[0], ref.registry, ref.repository, ref.tag);
	if (registry_target_open(registry, ref.registry, ref.repository, CLIENT_DELETE, &to, err) <
	    0)
		return -1;
	digest_text(&ref.digest, digest);
	if (client_manifest_get(to.client, digest, &arena, &text, &desc, err) < 0 ||
	    listing_delete(to.client, &ref.digest, err) < 0)
		return -1;
	out_note(in->out, "%s/%s@%s: removed, with all tags of it", ref.registry, ref.repository,
		 digest);
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };

	if (registry_arg_take(in, "rm", &registry, err) < 0)
		return -1;
	return remove_image(in, &registry, err);
}

const struct command command_rm = {
	.name = "rm",
	.usage = "HOST/NAME@DIGEST",
	.summary = "remove an image from a registry",
	.description =
		"Removes the manifest or index of that digest, and with it all tags that stand\n"
		"for it. Its blobs stay until the registry collects its garbage. Registries\n"
		"must allow it, and many do not.",
	.examples = "gpuimg rm registry.example.org/ml/trainer@sha256:0123…    # by digest",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
