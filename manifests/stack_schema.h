/*
 * The JSON Schema of the stack manifest, made from the table in manifests/stack_keys.c.
 *
 * It says what one file may hold: keys, types, choices, and the form of texts where a pattern can
 * say it. What values ask of each other, and what only the merged manifest must have when a file
 * extends another, is checked by reading it. Texts may be written without quotes, so numbers and
 * truth values pass for texts.
 * Source: JSON Schema draft 2020-12 (json-schema.org/draft/2020-12).
 */
#ifndef MANIFESTS_STACK_SCHEMA_H
#define MANIFESTS_STACK_SCHEMA_H

#include "base/strbuf.h"
#include "manifests/stack_keys.h"

/* Append it, as JSON for people. The same program gives the same text. */
void stack_schema(struct strbuf *out);
/* The same of another document whose keys such a table has; `id` is its $id. */
void stack_section_schema(const struct stack_section *top, const char *id, const char *title,
			  struct strbuf *out);
/* The pattern (ECMA 262) that stands for a check; "" when none can; NULL: none is known. */
const char *stack_schema_pattern(stack_check_fn *check);

#endif
