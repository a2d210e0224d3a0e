/*
 * Certificates with what they are trusted for: the files of /usr/share/pki/ca-trust-source and
 * /etc/pki/ca-trust/source, from which update-ca-trust makes the bundles that programs read.
 *
 * A .p11-kit file is a sequence of objects: a line "[p11-kit-object-v1]", attributes "name: value"
 * (texts in quotes, other bytes as %XX), and a PEM block. A certificate has `trusted` or
 * `x-distrusted`; an object `class: x-certificate-extension` with `object-id: 2.5.29.37` says
 * what the certificates of the public key in its PEM block may be used for. Other files are PEM.
 * Source: p11-kit's trust/persist.c and trust module documentation, update-ca-trust(8), RFC 5280.
 */
#ifndef FORMATS_TRUST_H
#define FORMATS_TRUST_H

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum trust_purpose {
	TRUST_SERVERS = 1 << 0, /* TLS: 1.3.6.1.5.5.7.3.1 */
	TRUST_EMAIL = 1 << 1,   /* 1.3.6.1.5.5.7.3.4 */
	TRUST_CODE = 1 << 2,    /* 1.3.6.1.5.5.7.3.3 */
	TRUST_ALL = TRUST_SERVERS | TRUST_EMAIL | TRUST_CODE,
};

struct trust_certificate {
	struct slice der;
	struct slice base64; /* the lines of its PEM block, as written */
	const char *label;   /* or "" */
	bool trusted, distrusted;
};

struct trust_extension {
	struct slice key; /* SubjectPublicKeyInfo, DER */
	unsigned purposes;
};

struct trust {
	struct {
		struct trust_certificate *items;
		size_t len, cap;
	} certificates;
	struct {
		struct trust_extension *items;
		size_t len, cap;
	} extensions;
};

void trust_release(struct trust *t);
#define cleanup_trust cleanup(trust_release)

enum trust_default { TRUST_PLAIN, TRUST_ANCHORS, TRUST_BLOCKED };

/*
 * Append what `text` holds; bytes and texts go to the arena. `how`: what certificates of a plain
 * PEM file are. ERROR_FORMAT names the line of what is malformed.
 */
int trust_read(struct trust *t, struct slice text, enum trust_default how, struct arena *arena,
	       struct error *err) MUST_USE;
/* Whether a certificate is an anchor for a purpose: trusted, blocked nowhere, not for less. */
bool trust_serves(const struct trust *t, const struct trust_certificate *c, unsigned purpose);
/*
 * All anchors of a purpose as PEM, "# label" above each, an empty line between them, each
 * certificate once: the bytes of `trust extract --comment --format=pem-bundle`. `out` is empty
 * before.
 */
void trust_bundle(const struct trust *t, unsigned purpose, struct strbuf *out);

#endif
