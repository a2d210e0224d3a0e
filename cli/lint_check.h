/*
 * Lint as the last step of a build: an image with findings at or above the manifest's threshold is
 * not written anywhere.
 */
#ifndef CLI_LINT_CHECK_H
#define CLI_LINT_CHECK_H

#include "cli/command.h"
#include "formats/json.h"
#include "manifests/stack.h"
#include "oci/source.h"

struct lint_check {
	const struct invocation *in;
	const struct stack *stack;
	json_t **out_json; /* the report, of several platforms a list of theirs, the caller's to
			      json_decref; NULL: not wanted */
};

/*
 * A build_check_fn; `user` is the struct lint_check. The images of all platforms are judged;
 * ERROR_VERDICT when it is against one of them.
 */
int lint_check_run(void *user, struct image_source *image, struct error *err) MUST_USE;
/* The same for an image that lies somewhere. */
int lint_check_image(const struct lint_check *check, const char *image, struct error *err) MUST_USE;

#endif
