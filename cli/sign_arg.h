/*
 * Signing, for all commands that do it: `sign`, `attest`, and the pushing ones.
 */
#ifndef CLI_SIGN_ARG_H
#define CLI_SIGN_ARG_H

#include "builder/store.h"
#include "cli/artifact_arg.h"
#include "registry/signature.h"

extern const char *const sign_arg_formats[];

#define FORMAT_OPTION                                                                          \
	{                                                                                      \
		.name = "format", .value = "FORM", .choices = sign_arg_formats,                \
		.help = "legacy (cosign 1 and 2, policy controllers), bundle (cosign 3), both" \
			" (the default)"                                                       \
	}

/* What was put beside an image, counted. */
struct sign_outcome {
	unsigned made, there;
	size_t attached; /* documents without a signature */
};

/* From the options "format" and "renew", if the command has them; the time is now. */
struct signature_request sign_arg_request(const struct invocation *in, struct artifact_arg *to,
					  const struct key *key);
/* Sign the image, and with `recursive` those of its index. */
int sign_arg_sign(struct artifact_arg *to, const struct signature_request *request, bool recursive,
		  struct sign_outcome *outcome, struct error *err) MUST_USE;
/*
 * What the store knows of each image (SBOMs, provenance) as signed statements, or without a key as
 * documents of their own. Images that it knows nothing of are passed over.
 */
int sign_arg_attach(struct artifact_arg *to, const struct signature_request *request,
		    struct store *store, struct sign_outcome *outcome, struct error *err) MUST_USE;
/*
 * A JSON document as the predicate of its kind; of in-toto statements the predicate in them. It
 * lies in `text`.
 */
int sign_arg_predicate(struct slice text, const char *predicate_type, struct slice *out,
		       struct error *err) MUST_USE;

#endif
