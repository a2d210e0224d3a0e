/*
 * What a build says when it is done: text for people, JSON (schema gpuimg-build/1) for programs.
 */
#ifndef CLI_BUILD_REPORT_H
#define CLI_BUILD_REPORT_H

#include "builder/build.h"

/* Appended. `to` are the destinations as the user named them. */
void build_report_text(const struct out *out, const struct stack *stack,
		       const struct build_result *result, const char *const *to, size_t to_count,
		       struct strbuf *text);
void build_report_json(const struct stack *stack, const struct lockfile *lock,
		       const struct build_result *result, const char *const *to, size_t to_count,
		       struct strbuf *text);

#endif
