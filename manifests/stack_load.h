/*
 * A manifest as one tree: the file, the files it extends below it, and what was set on the command
 * line above it. Every node keeps the file, line and column it stands at.
 *
 * Maps merge key by key; lists and scalars replace; a key with nothing after it takes away what the
 * extended file says. Keys keep the order in which they first appear, new ones follow.
 */
#ifndef MANIFESTS_STACK_LOAD_H
#define MANIFESTS_STACK_LOAD_H

#include "formats/node.h"
#include "manifests/stack.h"

enum { STACK_EXTENDS_LIMIT = 8 /* files below the one that was named */ };

/*
 * Into `arena`; `file` must live as long. The tree has no key `extends` any more. ERROR_USAGE.
 */
int stack_load(struct slice text, const char *file, const struct stack_options *options,
	       struct arena *arena, struct node *out, struct error *err) MUST_USE;
/* `over` merged over `base`. */
struct node stack_merge(const struct node *base, const struct node *over, struct arena *arena);
/* The map without one key. */
struct node stack_without(const struct node *map, const char *key, struct arena *arena);

#endif
