/*
 * The section `matrix`: which combinations of its values there are, and the manifest of each. How
 * it is written is told to users in manifests/stack_keys.c.
 */
#ifndef MANIFESTS_STACK_MATRIX_H
#define MANIFESTS_STACK_MATRIX_H

#include "formats/node.h"
#include "manifests/stack.h"

enum { STACK_VARIANT_LIMIT = 64, STACK_AXES = 7 };

struct stack_variant {
	const char *name;          /* "cuda13.0-python3.11" */
	size_t choice[STACK_AXES]; /* index of the value, from 1; 0: there is no such axis */
};

struct stack_variants {
	struct stack_variant *items;
	size_t count;
};

/*
 * The combinations of `head->matrix`, at least one, into the arena of `head`, which is also what
 * errors are about. ERROR_USAGE.
 */
int stack_matrix_expand(struct stack *head, struct stack_variants *out, struct error *err) MUST_USE;
/*
 * The tree `top` as one variant: values in their places in `stack`, name and tag filled in, no
 * `matrix`. ERROR_USAGE.
 */
int stack_matrix_apply(struct stack *head, const struct node *top,
		       const struct stack_variant *variant, struct node *out,
		       struct error *err) MUST_USE;

#endif
