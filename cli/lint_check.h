/*
 * Lint as the last step of a build: an image with findings at or above the manifest's threshold is
 * not written anywhere.
 */
#ifndef CLI_LINT_CHECK_H
#define CLI_LINT_CHECK_H

#include "cli/command.h"
#include "formats/json.h"
#include "manifests/stack.h"

struct lint_check {
	const struct invocation *in;
	const struct stack *stack;
	json_t **out_json; /* the report, the caller's to json_decref; NULL: not wanted */
};

/* A build_check_fn; `user` is the struct lint_check. ERROR_VERDICT when it is against the image. */
int lint_check_run(void *user, const char *image, struct error *err) MUST_USE;

#endif
