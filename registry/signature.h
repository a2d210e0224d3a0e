/*
 * Signatures of images and signed statements about them (attestations), in the two forms that
 * verifiers know: cosign's tags (".sig", ".att"), and Sigstore bundles as referrers.
 *
 * What is signed is the digest of the exact bytes of a manifest or index. Keys have no end: a
 * signature by us tells when it was made, and a verifier may want it to be young.
 * Sources: sigstore/cosign, specs/SIGNATURE_SPEC.md and specs/ATTESTATION_SPEC.md;
 * sigstore/protobuf-specs for bundles; oci specification 1.1 for referrers.
 */
#ifndef REGISTRY_SIGNATURE_H
#define REGISTRY_SIGNATURE_H

#include "base/key.h"
#include "registry/artifact.h"

enum signature_form { SIGNATURE_LEGACY = 1, SIGNATURE_BUNDLE = 2, SIGNATURE_BOTH = 3 };

/* "legacy", "bundle". */
const char *signature_form_name(enum signature_form form);

struct signature_request {
	struct artifact_place *place;
	const struct descriptor *subject; /* media type, digest, size */
	const char *reference;            /* "registry/name:tag": what it is signed as */
	const struct key *key;
	enum signature_form forms;
	const json_t *annotations; /* texts that are signed with it; NULL: none */
	const char *creator;       /* "gpuimg 1.0" */
	uint64_t time_s;           /* when, since 1970 */
	bool renew;                /* also when the key's signature is there */
};

struct signature_put {
	unsigned made, there; /* of the forms wanted */
};

/* Sign. ERROR_FORMAT the key; what the place gives. */
int signature_sign(const struct signature_request *request, struct signature_put *out,
		   struct error *err) MUST_USE;
/*
 * Sign the statement that `predicate` holds of the subject. ERROR_LIMIT when the result would be
 * larger than an artifact may be.
 */
int signature_attest(const struct signature_request *request, const char *predicate_type,
		     struct slice predicate, struct signature_put *out, struct error *err) MUST_USE;

struct signature_key {
	const struct key *key;
	const char *name; /* for reports */
};

struct signature_check {
	struct artifact_place *place;
	const struct descriptor *subject;
	const struct signature_key *keys;
	size_t key_count;
	const char *predicate_type; /* of attestations; NULL: signatures are wanted */
	const json_t *annotations;  /* texts that must have been signed with it; NULL: none */
	uint64_t now_s;
	uint64_t max_age_s; /* 0: any */
	bool keep;          /* the predicates, as text */
};

struct signature_found {
	enum signature_form form;
	bool good;
	const char *reason;         /* why it is not */
	const char *key;            /* name of the key that it is by, or NULL */
	const char *name;           /* of the document that holds it: a digest or a tag */
	const char *reference;      /* what it was signed as, or "" */
	const char *predicate_type; /* or NULL */
	uint64_t time_s;            /* 0: not told */
	struct strbuf predicate;    /* if it is good and was to be kept: as it was signed */
};

struct signature_result {
	struct arena arena;
	struct {
		struct signature_found *items;
		size_t len, cap;
	} found;
	size_t good;
};

void signature_result_release(struct signature_result *r);
#define cleanup_signature_result cleanup(signature_result_release)

/*
 * Look at all signatures (or attestations of that type) of the subject. 0 when all could be judged,
 * also if none is good: one that is damaged, or made for something else, is told and no more.
 * -1 when the place could not be read: errors of artifact.h.
 */
int signature_verify(const struct signature_check *check, struct signature_result *out,
		     struct error *err) MUST_USE;

#endif
