/*
 * Sigstore bundles, as far as keys go: a DSSE envelope and the name of the key that made it.
 * Bundles with certificates are told apart, not verified.
 * Source: sigstore/protobuf-specs, protos/sigstore_bundle.proto (0.1 to 0.3), JSON form.
 */
#ifndef FORMATS_SIGSTORE_BUNDLE_H
#define FORMATS_SIGSTORE_BUNDLE_H

#include "formats/dsse.h"

#define SIGSTORE_BUNDLE_TYPE "application/vnd.dev.sigstore.bundle.v0.3+json"

struct sigstore_bundle {
	json_t *json;     /* owned */
	const char *hint; /* of the key; "": none. NULL: a certificate's bundle */
	struct dsse envelope;
};

/* Whether this is a media type of a bundle, of any version. */
bool sigstore_bundle_type(const char *media_type);
/*
 * Release it in any case. ERROR_FORMAT; ERROR_LIMIT: a bundle of a message signature, which says
 * nothing about an image by itself.
 */
int sigstore_bundle_parse(struct slice text, struct sigstore_bundle *out,
			  struct error *err) MUST_USE;
void sigstore_bundle_release(struct sigstore_bundle *b);
#define cleanup_sigstore_bundle cleanup(sigstore_bundle_release)
/* Append a bundle (0.3) of `payload`, an in-toto statement, signed. Errors: those of dsse_sign. */
int sigstore_bundle_sign(const struct key *key, struct slice payload, struct strbuf *out,
			 struct error *err) MUST_USE;

#endif
