/*
 * The first manifest of a project: a stack.yaml with a comment on every line, for a stack that the
 * solver found. What it writes reads as a stack again, also when a line that is commented out is
 * put to use.
 */
#ifndef MANIFESTS_STACK_STARTER_H
#define MANIFESTS_STACK_STARTER_H

#include "manifests/solver.h"

struct stack_starter {
	const char *name;                   /* of the image; checked */
	const char *platform;               /* "linux/amd64" */
	const struct stack_request *stack;  /* what was asked */
	const struct solution *solution;    /* solved */
	const char *requirements;           /* pip's file, relative to the manifest; NULL: none */
	bool hashed;                        /* it pins hashes: then pip takes nothing without one */
	const char *from;                   /* image whose stack this is, for a comment; NULL */
	struct stack_pairs seen;            /* what it holds beside that: "cudnn" and "9.1.0" */
	struct stack_texts entrypoint, cmd; /* its own, for a comment; texts of any kind */
};

void stack_starter_write(const struct stack_starter *starter, struct strbuf *out);

#endif
