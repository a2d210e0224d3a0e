/*
 * What a report of `gpuimg test` says was run, in a few lines, for reports of several steps.
 */
#ifndef CLI_TEST_SUMMARY_H
#define CLI_TEST_SUMMARY_H

#include "formats/json.h"
#include "manifests/stack.h"

/*
 * Append to `out`, each line indented: the mode with the counts, then each command of the stack's
 * test.run with what came of it. `report` has the schema gpuimg-test/1; of NULL nothing is said.
 */
void test_summary_add(const json_t *report, const struct stack *stack, struct strbuf *out);

#endif
