/*
 * Dependency specifiers of Python packages ("name[extra]>=1; python_version < '3.11'"), and their
 * environment markers judged for an image's Python instead of the one that happens to run.
 * Source: packaging.python.org specifications "Dependency specifiers" (PEP 508) and "Version
 * specifiers" (PEP 440).
 */
#ifndef FORMATS_MARKER_H
#define FORMATS_MARKER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

/* What markers ask about. The rest is that of CPython on Linux. */
struct marker_environment {
	const char *python_version;      /* "3.11" */
	const char *python_full_version; /* "3.11.2"; implementation_version too */
	const char *platform_machine;    /* "x86_64", "aarch64" */
	/* Lock files only, `'x' in dependency_groups` and `'x' in extras`: the groups that are
	 * meant, each between two blanks (" default "); NULL: those variables are unknown. No extra
	 * is. */
	const char *groups;
};

struct requirement {
	const char *name;    /* normalized */
	const char **extras; /* normalized */
	size_t extra_count;
	struct slice marker; /* of the text; empty: always */
};

/* The parts of a specifier; strings in `arena`. ERROR_FORMAT, ERROR_LIMIT (32 extras). */
int requirement_parse(struct slice text, struct arena *arena, struct requirement *out,
		      struct error *err) MUST_USE;
/*
 * Whether a marker holds, with `extra` ("" for none) for the variable of that name. Both sides are
 * compared as versions when the right one is a version specifier, else as texts, as pip does.
 * ERROR_FORMAT; ERROR_LIMIT: brackets more than 32 deep.
 */
int marker_evaluate(struct slice marker, const struct marker_environment *environment,
		    const char *extra, bool *out, struct error *err) MUST_USE;
/*
 * Whether `version` meets one specifier: `op` is one of == != <= >= < > ~= ===. False in *out_valid
 * when one of them is no version (or op, with it, no specifier).
 */
bool marker_version_meets(struct slice version, struct slice op, struct slice specified,
			  bool *out_valid);
/* Whether `version` meets all of ">=3.9,!=3.9.1"; nothing is met by all. */
bool marker_version_in(struct slice version, struct slice specifiers, bool *out_valid);

#endif
