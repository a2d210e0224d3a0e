#include "base/alloc.h"
#include "cli/registry_arg.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ 0 },
};

static int tag_all(const struct invocation *in, struct registry_arg *registry, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_registry_target struct registry_target to = { 0 };
	char digest[DIGEST_TEXT_MAX];
	struct descriptor desc;
	struct reference ref;

	for (size_t i = 1; i < in->arg_count; i++)
		if (!reference_tag_valid(in->args[i]))
			return error_set(err, ERROR_USAGE,
					 "'%s' is no tag: letters, digits, \"_\", \".\" and \"-\", "
					 "at most 128",
					 in->args[i]);
	if (registry_arg_reference(in->args[0], &arena, &ref, err) < 0)
		return -1;
	if (registry_target_open(registry, ref.registry, ref.repository, CLIENT_PUSH, &to, err) < 0)
		return -1;
	if (client_manifest_get(to.client,
				ref.has_digest ? digest_text(&ref.digest, digest) : ref.tag, &arena,
				&text, &desc, err) < 0)
		return -1;
	for (size_t i = 1; i < in->arg_count; i++) {
		if (client_manifest_put(to.client, in->args[i], desc.media_type,
					strbuf_slice(&text), err) < 0)
			return -1;
		out_print(in->out, "%s/%s:%s@%s\n", ref.registry, ref.repository, in->args[i],
			  digest_text(&desc.digest, digest));
	}
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };

	if (registry_arg_take(in, "tag", &registry, err) < 0)
		return -1;
	return tag_all(in, &registry, err);
}

const struct command command_tag = {
	.name = "tag",
	.usage = "REFERENCE TAG...",
	.summary = "give an image in a registry more tags",
	.description =
		"Puts the very document of HOST/NAME:TAG or HOST/NAME@DIGEST under other tags\n"
		"of the same repository. No blob moves.",
	.examples = "gpuimg tag registry.example.org/ml/trainer:2.3 2 latest    # two more",
	.options = options,
	.args_min = 2,
	.args_max = 64,
	.run = run,
};
