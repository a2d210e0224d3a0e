/*
 * What the files of the manifest's key table share. The table begins in stack_keys.c, with what
 * every manifest has; a section that has a file of its own is named here.
 */
#ifndef MANIFESTS_STACK_KEY_TABLES_H
#define MANIFESTS_STACK_KEY_TABLES_H

#include "manifests/stack.h"
#include "manifests/stack_keys.h"

#define AT(type, member) (uint32_t) offsetof(struct type, member)
#define KEYS(table) .keys = (table), .key_count = ARRAY_LEN(table)

/* Of struct stack_matrix. */
extern const struct stack_section stack_matrix_section;

#endif
