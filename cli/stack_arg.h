/*
 * What the commands that take a stack manifest have in common: --set and --variant, and the
 * manifest read with them.
 */
#ifndef CLI_STACK_ARG_H
#define CLI_STACK_ARG_H

#include "cli/command.h"
#include "manifests/stack.h"

#define STACK_SET_OPTION                                                           \
	{                                                                          \
		.name = "set", .value = "PATH=VALUE", .repeatable = true,          \
		.help = "put a value over the manifest's, such as stack.cuda=12.6" \
	}
#define STACK_SECRET_OPTION                                                                \
	{                                                                                  \
		.name = "secret", .value = "id=NAME,src=FILE", .repeatable = true,         \
		.help = "a secret that build stages name: from a file, or id=NAME,env=VAR" \
	}
#define STACK_CDI_OPTION                                                                  \
	{                                                                                 \
		.name = "cdi-dir", .value = "DIR", .repeatable = true,                    \
		.help = "where CDI specifications lie for stages with `gpu`, instead of " \
			"/etc/cdi and /var/run/cdi"                                       \
	}
#define STACK_VARIANT_OPTION                                                                    \
	{                                                                                       \
		.name = "variant", .value = "NAME", .repeatable = true,                         \
		.help = "only this image of the manifest's matrix, such as cuda13.0-python3.12" \
	}

/* The images of the manifest `file` with both options. ERROR_USAGE and as stacks_read. */
int stack_arg_read(const struct invocation *in, const char *file, struct stacks *out,
		   struct error *err) MUST_USE;
/* The values of --secret, *out_count of them. Heap. */
const char **stack_arg_secrets(const struct invocation *in, size_t *out_count);
/* The values of --cdi-dir, NULL-terminated; NULL: none. Heap. */
const char **stack_arg_cdi_dirs(const struct invocation *in);
/* The lock of one of them, beside the manifest. Heap. */
char *stack_arg_lock(const struct stack *stack);
/* "stack.yaml", or "stack.yaml (cuda13.0-python3.12)": for error texts and notes. In its arena. */
const char *stack_arg_name(struct stack *stack);

#endif
