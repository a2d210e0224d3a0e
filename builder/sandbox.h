/*
 * A stage's tree on disk, and commands that run in it.
 */
#ifndef BUILDER_SANDBOX_H
#define BUILDER_SANDBOX_H

#include "builder/assemble.h"

/* Write the tree to the empty directory `dir`. Owners are set when we are root. */
int sandbox_extract(struct rootfs *r, const char *dir, struct error *err) MUST_USE;

/*
 * Run the stage's commands one after the other with /bin/sh -e, in `root` as the file system:
 * bubblewrap, no network, no path of the host, uid 0 inside. ERROR_USAGE when there is no
 * bubblewrap; ERROR_VERDICT when a command ends with a status other than 0 (its output is shown
 * through `out`, as it is with -v for all commands).
 */
int sandbox_run(const struct stack *stack, const struct stack_stage *stage, const char *root,
		bool cuda_programs, const struct out *out, struct error *err) MUST_USE;

/*
 * Append what lies at `path` of the tree `root` to `c` as "x" and "x/…", each file put into the
 * store by digest (content.path names the object). Links on the way are followed inside the root,
 * never out of it. ERROR_USAGE when nothing is there.
 */
int sandbox_collect(struct store *store, const char *root, const char *path, struct component *c,
		    struct error *err) MUST_USE;

#endif
