/*
 * The normalised form of a stack, and the digests of its keys: both come of what was read, so that
 * neither comments nor layout nor defaults that are written out make a difference.
 */
#ifndef MANIFESTS_STACK_PRINT_H
#define MANIFESTS_STACK_PRINT_H

#include "manifests/stack.h"

/*
 * Fill `keys` and `digest`. Requirements files are read with `options->load`; one that cannot be
 * read counts as a digest of zeros, and whoever needs it says what is wrong with it.
 */
void stack_fingerprint(struct stack *stack, const struct stack_options *options);

#endif
