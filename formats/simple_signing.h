/*
 * The text that a "simple signing" signature is made over: which manifest, under which name.
 * Sources: containers/image, docs/containers-signature.5.md; sigstore/cosign,
 * specs/SIGNATURE_SPEC.md, whose `type` is written here.
 */
#ifndef FORMATS_SIMPLE_SIGNING_H
#define FORMATS_SIMPLE_SIGNING_H

#include "base/digest.h"
#include "formats/json.h"

struct simple_signing {
	json_t *json; /* owned */
	struct digest digest;
	const char *reference;  /* "registry/name:tag", or "" */
	const json_t *optional; /* an object, or NULL */
};

/* Release it in any case. ERROR_FORMAT, also for a type that is none of the two in use. */
int simple_signing_parse(struct slice text, struct simple_signing *out, struct error *err) MUST_USE;
void simple_signing_release(struct simple_signing *s);
#define cleanup_simple_signing cleanup(simple_signing_release)
/* Append. `optional` is borrowed; NULL or empty: null. */
void simple_signing_write(const char *reference, const struct digest *digest,
			  const json_t *optional, struct strbuf *out);

#endif
