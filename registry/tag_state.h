/*
 * What a tag stands for, before and after a push: whether somebody else moved it meanwhile.
 *
 * The specification knows no conditional PUT of a manifest, so this looks before and after: of two
 * pushes in the same moment the one that loses sees it, unless it had looked before the other
 * wrote.
 */
#ifndef REGISTRY_TAG_STATE_H
#define REGISTRY_TAG_STATE_H

#include "registry/client.h"

struct tag_state {
	bool exists;
	struct digest digest; /* when it exists */
};

/* By the bytes it is answered with. Errors: those of client_manifest_get, but a tag that is not
 * there is no error. */
int tag_state_read(struct client *c, const char *tag, struct tag_state *out,
		   struct error *err) MUST_USE;
/*
 * The tag still is as `before`, or stands for `ours` already. ERROR_NETWORK, which names what it
 * stands for now; those of tag_state_read.
 */
int tag_state_unchanged(struct client *c, const char *tag, const struct tag_state *before,
			const struct digest *ours, struct error *err) MUST_USE;

#endif
