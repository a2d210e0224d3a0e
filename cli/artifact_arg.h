/*
 * The image that a command signs, says something of, or verifies, and the place where signatures
 * lie: its registry's repository, or its layout.
 */
#ifndef CLI_ARTIFACT_ARG_H
#define CLI_ARTIFACT_ARG_H

#include "cli/registry_arg.h"
#include "registry/artifact.h"

struct artifact_arg {
	struct arena arena;
	struct artifact_place *place;
	struct descriptor subject; /* what the name stands for */
	struct strbuf text;        /* its exact bytes */
	const char *reference;     /* "registry/name:tag"; a layout's: NULL */
	const char *name;          /* for people: with the digest */
};

/*
 * `access` CLIENT_PULL or CLIENT_PUSH. Release it in any case, before `client`'s options.
 * ERROR_USAGE: neither a registry's nor a layout's.
 */
int artifact_arg_open(const char *text, enum client_access access,
		      const struct client_options *client, struct artifact_arg *out,
		      struct error *err) MUST_USE;
/* Of a reference that is known, by the digest of its image. */
int artifact_arg_open_digest(const struct reference *ref, const struct digest *digest,
			     enum client_access access, const struct client_options *client,
			     struct artifact_arg *out, struct error *err) MUST_USE;
void artifact_arg_release(struct artifact_arg *a);
#define cleanup_artifact_arg cleanup(artifact_arg_release)

/*
 * The images of an index, those of no platform left out; of an image alone, itself. Appended; in
 * the arena of `a`.
 */
int artifact_arg_images(struct artifact_arg *a, struct artifact_list *out,
			struct error *err) MUST_USE;
/* A registry's repository as the place of what is attached to images. NULL on error. */
struct artifact_place *artifact_arg_place(const struct reference *ref, enum client_access access,
					  const struct client_options *client,
					  struct error *err) MUST_USE;
/* The values of --annotation KEY=VALUE, or NULL when there are none; json_decref. ERROR_USAGE. */
int artifact_arg_annotations(const struct invocation *in, json_t **out, struct error *err) MUST_USE;

#endif
