/*
 * A look at a requirements file before pip gets it: whether it pins hashes, and that it asks for
 * nothing that pip would have to build, since building runs the package's own code.
 * Source: pip documentation, "Requirements File Format".
 */
#ifndef BUILDER_SOURCES_REQUIREMENTS_H
#define BUILDER_SOURCES_REQUIREMENTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

struct requirements {
	bool hashes; /* some line has --hash: pip then wants one on every line */
	struct {
		const char **items; /* files named with -r or -c, as written; in the arena */
		size_t len, cap;
	} nested; /* release with vec_release */
};

/*
 * Read one file's text into *out, which may hold others' results. ERROR_USAGE names `file` and the
 * line: editable installs, source archives, version control, folders, --no-binary.
 */
int requirements_parse(struct slice text, const char *file, struct arena *arena,
		       struct requirements *out, struct error *err) MUST_USE;
/* The file at `path` and those it names, 8 levels deep. Also ERROR_NOT_FOUND, ERROR_SYSTEM. */
int requirements_check(const char *path, bool *out_hashes, struct error *err) MUST_USE;

#endif
