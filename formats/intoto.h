/*
 * in-toto statements: a predicate of some type about subjects that are named by digest.
 * A predicate may be many megabytes of SBOM: it stays the text that it is.
 * Source: in-toto/attestation, spec/v1/statement.md; v0.1, which cosign's attestations are, differs
 * in its _type only.
 */
#ifndef FORMATS_INTOTO_H
#define FORMATS_INTOTO_H

#include "base/digest.h"
#include "formats/json.h"

#define INTOTO_V1 "https://in-toto.io/Statement/v1"
#define INTOTO_V01 "https://in-toto.io/Statement/v0.1"
/* What a statement that is a mere signature has as its predicate type. */
#define INTOTO_SIGNATURE "https://sigstore.dev/cosign/sign/v1"

enum { INTOTO_SUBJECTS_MAX = 100000 };

struct intoto {
	json_t *json; /* owned: all but the predicate */
	const char *predicate_type;
	struct slice predicate; /* the text of any value, in the statement's; data NULL: none */
	const json_t *subjects; /* an array of objects with a digest each */
};

/* `text` must outlive it. Release it in any case. ERROR_FORMAT, ERROR_LIMIT. */
int intoto_parse(struct slice text, struct intoto *out, struct error *err) MUST_USE;
void intoto_release(struct intoto *s);
#define cleanup_intoto cleanup(intoto_release)
/* The subject with that digest, or NULL: then the statement is about something else. */
const json_t *intoto_subject(const struct intoto *s, const struct digest *digest);

struct intoto_request {
	const char *type; /* INTOTO_V1, INTOTO_V01 */
	const char *name; /* of the subject; NULL: none */
	struct digest digest;
	const json_t *annotations; /* of the subject; borrowed; NULL or empty: none */
	const char *predicate_type;
	struct slice predicate; /* JSON, as json_members gives it; empty: {} */
};
/* Append a statement: canonical JSON but for the predicate, which stays as it is. */
void intoto_write(const struct intoto_request *request, struct strbuf *out);
/* "spdx", "cyclonedx", "slsaprovenance1" … → the URI; NULL for others. A URI is its own. */
const char *intoto_predicate_type(const char *name);
/* The short name of a URI, else the URI. */
const char *intoto_predicate_name(const char *uri);

#endif
