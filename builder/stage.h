/*
 * Build stages: a tree that is never shipped, the commands that run in it, and what is copied out.
 *
 * A stage with commands is written to a temporary directory of the store and its commands run in
 * bubblewrap: root inside, no network, nothing of the host, /proc, /dev and /tmp fresh, a fixed
 * environment. What is copied out is kept in the store under a key of everything that went in, so
 * the same stage never runs twice. A stage without commands is not written to disk at all.
 */
#ifndef BUILDER_STAGE_H
#define BUILDER_STAGE_H

#include "builder/assemble.h"

/* The trees of earlier stages that the copied components read from. */
struct stages {
	struct {
		struct assembled **items; /* by stage; NULL: not needed */
		size_t len, cap;
	} trees;
};

void stages_release(struct stages *s);
#define cleanup_stages cleanup(stages_release)

/*
 * What `stage` copies from earlier ones, as components (NULL-terminated array in `arena`; the
 * components are the caller's). They read from *stages, which must outlive them.
 * Errors: ERROR_USAGE (no such path in the stage, no sandbox, a foreign platform with commands),
 * ERROR_VERDICT a command ended with a status other than 0; its output went to a->out.
 */
int stage_copies(const struct assembly *a, const struct stack_stage *stage, struct stages *stages,
		 struct arena *arena, struct component ***out, struct error *err) MUST_USE;

#endif
