#include "cli/registry_arg.h"
#include "registry/listing.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ .name = "all", .help = "also the tags of signatures and attestations (sha256-…)" },
	{ 0 },
};

static int list(const struct invocation *in, struct registry_arg *registry, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	const char *text = in->args[0];
	struct reference ref = { .repository = "" };
	cleanup_registry_target struct registry_target to = { 0 };
	struct listing names = { 0 };
	bool tags;
	int rc;

	if (str_starts(text, "docker://"))
		text += strlen("docker://");
	tags = strchr(text, '/');
	if (tags && registry_arg_reference(text, &arena, &ref, err) < 0)
		return -1;
	if (registry_target_open(registry, tags ? ref.registry : text, ref.repository,
				 tags ? CLIENT_PULL : CLIENT_CATALOG, &to, err) < 0)
		return -1;
	rc = tags ? listing_tags(to.client, &arena, &names, err)
		  : listing_repositories(to.client, &arena, &names, err);
	for (size_t i = 0; rc == 0 && i < names.len; i++)
		if (!tags || option_given(in, "all") || !reference_tag_attached(names.items[i]))
			out_print(in->out, "%s\n", names.items[i]);
	vec_release(&names);
	return rc;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };

	if (registry_arg_take(in, "ls", &registry, err) < 0)
		return -1;
	return list(in, &registry, err);
}

const struct command command_ls = {
	.name = "ls",
	.usage = "HOST[/NAME]",
	.summary = "list the tags of a repository, or the repositories of a registry",
	.description =
		"Prints one name a line, in the registry's order, all pages. Many registries\n"
		"do not list their repositories.",
	.examples = "gpuimg ls registry.example.org/ml/trainer    # its tags\n"
		    "gpuimg ls registry.example.org    # its repositories",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
