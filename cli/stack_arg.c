#include "cli/stack_arg.h"

#include "base/fs.h"
#include "manifests/lockfile.h"

struct texts {
	const char **items;
	size_t len, cap;
};

static struct texts all_of(const struct invocation *in, const char *option)
{
	struct texts texts = { 0 };
	const char *text;

	for (size_t n = 0; (text = option_nth(in, option, n)); n++)
		vec_push(&texts, text);
	return texts;
}

int stack_arg_read(const struct invocation *in, const char *file, struct stacks *out,
		   struct error *err)
{
	struct texts sets = all_of(in, "set"), variants = all_of(in, "variant");
	struct stack_options options = { .sets = sets.items,
					 .set_count = sets.len,
					 .variants = variants.items,
					 .variant_count = variants.len };
	bool missing = !fs_exists(AT_FDCWD, file);
	int rc =
		missing ? error_set(err, ERROR_USAGE,
				    "%s: there is no such manifest; `gpuimg init` writes one", file)
			: stacks_read(file, &options, out, err);

	vec_release(&sets);
	vec_release(&variants);
	return rc;
}

const char **stack_arg_secrets(const struct invocation *in, size_t *out_count)
{
	struct texts texts = all_of(in, "secret");

	*out_count = texts.len;
	return texts.items;
}

const char **stack_arg_cdi_dirs(const struct invocation *in)
{
	struct texts texts = all_of(in, "cdi-dir");

	if (!texts.len)
		return NULL;
	vec_push(&texts, NULL);
	return texts.items;
}

char *stack_arg_lock(const struct stack *stack)
{
	return lockfile_path(stack->file, stack->variant);
}

const char *stack_arg_name(struct stack *stack)
{
	return *stack->variant ? arena_printf(&stack->arena, "%s (%s)", stack->file, stack->variant)
			       : stack->file;
}
