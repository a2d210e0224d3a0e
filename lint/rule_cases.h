/*
 * The cases that lie beside each rule, made part of the program: examples for its page, and what
 * the tests run. The language is described in docs/lint-cases.md.
 */
#ifndef LINT_RULE_CASES_H
#define LINT_RULE_CASES_H

#include "base/slice.h"

/* The cases of a rule by its id; data NULL when there are none. */
struct slice rule_cases(const char *id);

/* Written by the Makefile from lint/rules/<id>_<name>.cases. */
struct rule_case_file {
	const char *name;          /* "drv001_baked_driver_library.cases" */
	const uint8_t *data, *end; /* a NUL follows the last byte */
};
extern const struct rule_case_file rule_case_files[];
extern const size_t rule_case_file_count;

#endif
