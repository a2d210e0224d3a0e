/*
 * The solver's answer in words and as JSON (schema gpuimg-resolve/1).
 */
#ifndef CLI_STACK_REPORT_H
#define CLI_STACK_REPORT_H

#include "base/strbuf.h"
#include "formats/json.h"
#include "manifests/solver.h"

/* Append the answer for people; `explain` adds the row and the source behind every sentence. */
void stack_report_text(const struct solution *solution, bool explain, struct strbuf *out);
/* The answer for programs. The caller releases it. */
json_t *stack_report_json(const struct solution *solution);
/* { "file", "row", "source" } of each. */
json_t *stack_report_origins(const struct table_origin *origins, size_t count);

#endif
