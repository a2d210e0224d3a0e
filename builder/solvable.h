/*
 * Whether the stack section can be had at all, asked of the solver before any source is asked for
 * packages: a stack that no host or no GPU of the manifest can run is refused when it is locked,
 * not when it fails on a node.
 */
#ifndef BUILDER_SOLVABLE_H
#define BUILDER_SOLVABLE_H

#include "base/out.h"
#include "manifests/stack.h"

/*
 * Nothing is asked of a stack section that names neither CUDA, a framework nor a GPU. Warnings of
 * the solver go to `out`.
 * Errors: ERROR_VERDICT with the clauses that clash, the reason and the nearest change that helps;
 * ERROR_USAGE for a clause that cannot be read.
 */
int solvable_check(const struct stack *stack, const struct out *out, struct error *err) MUST_USE;

#endif
