/*
 * build --to docker://…: layers are sent while the next are made, the image once it is complete
 * and was linted. No tag shows an image that lint refused.
 */
#ifndef CLI_BUILD_REMOTE_H
#define CLI_BUILD_REMOTE_H

#include "builder/build.h"
#include "cli/push_extras.h"
#include "registry/push_ahead.h"

struct build_remote {
	const struct invocation *in;
	struct registry_arg *registry;
	const struct key *key; /* of --sign; NULL: none */
	struct arena arena;
	VEC(struct reference) to;
	struct push_ahead *ahead;
	struct store *store;
	build_check_fn *then; /* judges first; NULL: nothing does */
	void *then_user;
	bool only_ahead; /* send layers, and leave the image to another command */
};

/* Take the registries out of a build's destinations. ERROR_USAGE. */
int build_remote_take(struct build_remote *r, const char *const *destinations, size_t count,
		      struct error *err) MUST_USE;
/* Hook into the build: its layers, and its check, which `then` precedes. */
void build_remote_start(struct build_remote *r, struct build_request *request);
/* After the build; `failed`: what is on its way is given up. */
void build_remote_end(struct build_remote *r, bool failed);

#endif
