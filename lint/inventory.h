/*
 * What is in an image, for people and programs: its tree, its packages, what its bytes belong to,
 * which GPU architectures its libraries have code for, and all facts the rules decide from.
 * Nothing that looks like a secret is given.
 */
#ifndef LINT_INVENTORY_H
#define LINT_INVENTORY_H

#include "formats/json.h"
#include "lint/components.h"

/* Tables for people, appended. Names of the image are cleaned of control characters. */
void inventory_stack_text(const struct facts *facts, struct strbuf *out);
void inventory_tree_text(const struct facts *facts, struct strbuf *out);
void inventory_packages_text(const struct facts *facts, struct strbuf *out);
void inventory_components_text(const struct facts *facts, struct strbuf *out);
/* A row per library: machine code, PTX, LTO-IR, bytes. */
void inventory_gpu_text(const struct facts *facts, struct strbuf *out);

/* The same as JSON values, the caller's. */
json_t *inventory_stack(const struct facts *facts);
json_t *inventory_tree(const struct facts *facts);
json_t *inventory_packages(const struct facts *facts);
json_t *inventory_components(const struct facts *facts);
json_t *inventory_gpu(const struct facts *facts);
/* Everything, schema gpuimg-facts/1. */
json_t *inventory_facts(const struct facts *facts);

#endif
