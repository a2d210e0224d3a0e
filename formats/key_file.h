/*
 * Keys as files have them: PEM of PKCS #8, SEC 1 or PKCS #1, plain or encrypted (PBES2), and
 * the form in which cosign keeps private keys: PEM of a JSON document that names scrypt's
 * parameters and holds a secretbox of the PKCS #8 (or SEC 1) bytes.
 *
 * Sources: RFC 7468; sigstore/cosign, pkg/cosign/keys.go, and the encrypted package of
 * secure-systems-lab/go-securesystemslib, for that document's members.
 */
#ifndef FORMATS_KEY_FILE_H
#define FORMATS_KEY_FILE_H

#include "base/key.h"

/*
 * Asked for a password once it is known that one is wanted; appends it to `out`, which is wiped
 * afterwards. 0, or -1 with *err set.
 */
typedef int key_password_fn(void *user, struct strbuf *out, struct error *err);

/*
 * A private key. `password` NULL: only plain keys are read. NULL on error: ERROR_FORMAT,
 * ERROR_LIMIT; ERROR_USAGE a public key, or the wrong password; what `password` gives.
 */
struct key *key_file_private(struct slice text, key_password_fn *password, void *user,
			     struct error *err) MUST_USE;
/* A public key ("PUBLIC KEY"). ERROR_USAGE for a private one. */
struct key *key_file_public(struct slice text, struct error *err) MUST_USE;

/* Append the private key the way cosign 2 and 3 do, under a password. ERROR_LIMIT. */
int key_file_seal(const struct key *k, struct slice password, struct strbuf *out,
		  struct error *err) MUST_USE;
/* Append it plain; the caller wipes it. */
void key_file_plain(const struct key *k, struct strbuf *out);
/* Append its public key. */
void key_file_write_public(const struct key *k, struct strbuf *out);
/* Append the base64 of the SHA-256 of the public key's DER: what bundles name a key by. */
void key_file_hint(const struct key *k, struct strbuf *out);

#endif
