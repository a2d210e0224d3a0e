/*
 * A tree into a stack by the table of keys. The stack has its `file`, `directory` and `variant`
 * already; a tree has neither `extends` nor `matrix` any more (see manifests/stack_load.h and
 * manifests/stack_matrix.h).
 */
#ifndef MANIFESTS_STACK_PARSE_H
#define MANIFESTS_STACK_PARSE_H

#include "formats/node.h"
#include "manifests/stack.h"
#include "manifests/stack_keys.h"

/* Where a node stands. */
static inline struct stack_place stack_place_of(const struct node *node)
{
	return (struct stack_place){ .file = node->file,
				     .line = node->line,
				     .column = node->column };
}

/* Everything but the fingerprints. ERROR_USAGE with the place. */
int stack_parse_tree(const struct node *top, struct stack *stack, struct error *err) MUST_USE;
/* The value of `matrix` into `head->matrix`. ERROR_USAGE. */
int stack_parse_matrix(const struct node *matrix, struct stack *head, struct error *err) MUST_USE;
/*
 * Any document that a table of keys describes, into the struct of its top section, which is zeroed
 * or holds defaults. `file` is for errors; values point into `arena` and into `top`. ERROR_USAGE
 * with the place.
 */
int stack_parse_section(const struct node *top, const struct stack_section *section,
			const char *file, struct arena *arena, void *target,
			struct error *err) MUST_USE;

#endif
