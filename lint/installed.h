/*
 * Programs and files that an image has, wherever they lie.
 */
#ifndef LINT_INSTALLED_H
#define LINT_INSTALLED_H

#include "lint/facts.h"

/* The file that a program's name leads to by PATH, or NULL. */
const char *installed_program(const struct facts *facts, const char *name);
/* The first of these programs, or NULL; ends with NULL. */
const char *installed_any(const struct facts *facts, const char *const *names);
/* A file whose path matches the shell pattern ("*" crosses "/"), the first in order; or NULL. */
const char *installed_file(const struct facts *facts, const char *pattern);

#endif
