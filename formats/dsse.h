/*
 * DSSE envelopes: a payload, its type, and signatures over both.
 *
 * What is signed is the "pre-authentication encoding" of type and payload, never JSON. A payload is
 * to be believed only after dsse_verify said so.
 * Source: secure-systems-lab/dsse, protocol.md and envelope.md, 1.0.
 */
#ifndef FORMATS_DSSE_H
#define FORMATS_DSSE_H

#include "base/key.h"
#include "formats/json.h"

enum { DSSE_SIGNATURES_MAX = 100 };

#define DSSE_INTOTO "application/vnd.in-toto+json"

struct dsse {
	const char *payload_type; /* of the document that was parsed */
	struct strbuf payload;
	struct strbuf *signatures;
	size_t signature_count;
};

/*
 * `value` must outlive it. `where` names it in errors. Release it in any case. ERROR_FORMAT, also
 * for base64 that is not the one canonical form; ERROR_LIMIT.
 */
int dsse_parse(const json_t *value, const char *where, struct dsse *out,
	       struct error *err) MUST_USE;
void dsse_release(struct dsse *d);
#define cleanup_dsse cleanup(dsse_release)
/* One of its signatures is by this key, over type and payload. */
bool dsse_verify(const struct dsse *d, const struct key *key) MUST_USE;
/* Append what is signed. */
void dsse_encode(const char *payload_type, struct slice payload, struct strbuf *out);
/* A new envelope with one signature; the caller's to json_decref. NULL: errors of key_sign. */
json_t *dsse_sign(const struct key *key, const char *payload_type, struct slice payload,
		  struct error *err) MUST_USE;

#endif
