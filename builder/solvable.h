/*
 * What the solver makes of the stack section, asked before any source is asked for packages: a
 * stack that no host or no GPU of the manifest can run is refused when it is locked, not when it
 * fails on a node, and the versions it chose are those that the sources are asked for.
 */
#ifndef BUILDER_SOLVABLE_H
#define BUILDER_SOLVABLE_H

#include "base/arena.h"
#include "base/out.h"
#include "builder/base_image.h"
#include "manifests/solver.h"
#include "manifests/stack.h"

/* The solver's choice. Texts live in the caller's arena; NULL: not part of the stack. */
struct solved_stack {
	const char *cuda;    /* "12.6" */
	const char *release; /* "12.6.3" */
	bool exact;          /* the manifest names that very release */
	const char *cudnn, *nccl;
	const char *compat; /* "12.6": the CUDA whose compatibility package the image takes */
	/* That, and newer ones whose package the hosts of the floor's branch may use as well. */
	struct stack_texts compat_serving;
};

/*
 * `bases` are the base images by platform, whose C library and Python count; NULL: there are none.
 * `python` is what the packages bring ("3.11"), NULL: not known; stack.python goes before it.
 * Nothing is asked of a stack section that names neither CUDA, a framework nor a GPU; *out is
 * empty then. Warnings of the solver go to `out_text`.
 * Errors: ERROR_VERDICT with the clauses that clash, the reason and the nearest change that helps;
 * ERROR_USAGE for a clause that cannot be read.
 */
int solvable_check(const struct stack *stack, const struct base_image *bases, const char *python,
		   const struct out *out_text, struct arena *arena, struct solved_stack *out,
		   struct error *err) MUST_USE;

/*
 * What is asked of the solver for a platform: as solver_request_of, and with the C library and the
 * Python that a base image (NULL: none) brings, or the Python of the packages (NULL: not known).
 * Lives in `arena`, and borrows the rest.
 */
struct solver_request solvable_request(const struct tables *tables, const struct stack *stack,
				       const char *platform, const struct base_image *base,
				       const char *python, struct arena *arena);

#endif
