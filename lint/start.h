/*
 * What a container of the image starts: the first word of Entrypoint (else Cmd), found as the
 * runtime finds it.
 */
#ifndef LINT_START_H
#define LINT_START_H

#include "lint/facts.h"

struct start_program {
	const char *word; /* as written; NULL: neither Entrypoint nor Cmd */
	const char *path; /* the file it resolves to; NULL: none */
	const struct tree_node *node;
	const char *shebang;     /* of a script, without "#!"; NULL: not a script */
	const char *interpreter; /* the program the script names; NULL: none */
	bool is_directory;
};

struct start_program start_program_of(const struct facts *facts);

#endif
