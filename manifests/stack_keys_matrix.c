/* The keys of "matrix". */
#include "manifests/stack_key_tables.h"

#include "manifests/stack_check.h"

static const struct stack_key exclude_keys[] = {
	{ .name = "cuda",
	  .type = KEY_TEXT,
	  .offset = AT(stack_exclude, cuda),
	  .fallback = "any",
	  .help = "A value of that axis." },
	{ .name = "cudnn",
	  .type = KEY_TEXT,
	  .offset = AT(stack_exclude, cudnn),
	  .fallback = "any",
	  .help = "A value of that axis." },
	{ .name = "nccl",
	  .type = KEY_TEXT,
	  .offset = AT(stack_exclude, nccl),
	  .fallback = "any",
	  .help = "A value of that axis." },
	{ .name = "python",
	  .type = KEY_TEXT,
	  .offset = AT(stack_exclude, python),
	  .fallback = "any",
	  .help = "A value of that axis." },
	{ .name = "torch",
	  .type = KEY_TEXT,
	  .offset = AT(stack_exclude, torch),
	  .fallback = "any",
	  .help = "A value of that axis." },
	{ .name = "tensorflow",
	  .type = KEY_TEXT,
	  .offset = AT(stack_exclude, tensorflow),
	  .fallback = "any",
	  .help = "A value of that axis." },
	{ .name = "jax",
	  .type = KEY_TEXT,
	  .offset = AT(stack_exclude, jax),
	  .fallback = "any",
	  .help = "A value of that axis." },
};

static const struct stack_section exclude_section = {
	.title = "matrix.exclude[]",
	KEYS(exclude_keys),
	.size = sizeof(struct stack_exclude),
	.place_offset = AT(stack_exclude, place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "Combinations that are left out: those with all the values named.",
};

static const struct stack_key matrix_keys[] = {
	{ .name = "cuda",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_matrix, cuda),
	  .check = stack_check_axis,
	  .help = "Values of `stack.cuda`." },
	{ .name = "cudnn",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_matrix, cudnn),
	  .check = stack_check_axis,
	  .help = "Values of `stack.cudnn`." },
	{ .name = "nccl",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_matrix, nccl),
	  .check = stack_check_axis,
	  .help = "Values of `stack.nccl`." },
	{ .name = "python",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_matrix, python),
	  .check = stack_check_axis,
	  .help = "Values of `stack.python`." },
	{ .name = "torch",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_matrix, torch),
	  .check = stack_check_axis,
	  .help = "Values of `stack.framework.torch`." },
	{ .name = "tensorflow",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_matrix, tensorflow),
	  .check = stack_check_axis,
	  .help = "Values of `stack.framework.tensorflow`." },
	{ .name = "jax",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_matrix, jax),
	  .check = stack_check_axis,
	  .help = "Values of `stack.framework.jax`." },
	{ .name = "exclude",
	  .type = KEY_LIST,
	  .offset = AT(stack_matrix, excludes),
	  .count_offset = AT(stack_matrix, exclude_count),
	  .section = &exclude_section,
	  .help = "Combinations that are left out." },
};

const struct stack_section stack_matrix_section = {
	.title = "matrix",
	KEYS(matrix_keys),
	.place_offset = AT(stack_matrix, place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "Several images from one manifest: one for each combination of the values, such "
		"as\n"
		"`matrix: { cuda: [\"12.6\", \"13.0\"], python: [\"3.11\", \"3.12\"] }`. Each "
		"value takes its place in\n"
		"`stack`, where the key must not stand as well. `name` and `tag` are templates "
		"then:\n"
		"`tag: \"{cuda}-py{python}\"`, with a trailing `.*` of the value left out, and no "
		"two images\n"
		"may have the same name and tag. A variant is called by its values, "
		"`cuda13.0-python3.12`\n"
		"(in the order of the table below), and has a lock of its own,\n"
		"`stack.cuda13.0-python3.12.lock.json`. `lock` and `build` do all of them, or "
		"those named with\n"
		"`--variant`. At most 64 combinations.",
};
