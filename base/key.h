/*
 * Keys that sign and verify, in the encodings that hold one: no files, no texts (formats/key_file.h
 * has those). Elliptic keys (P-256, P-384, P-521) and RSA (PKCS #1 v1.5, 2048 to 4096 bits) sign
 * the SHA-256 of a message, as cosign has it; Ed25519 the message itself. New keys are P-256.
 *
 * What is secret is wiped before its memory is given back. Uses libcrypto.
 */
#ifndef BASE_KEY_H
#define BASE_KEY_H

#include "base/error.h"
#include "base/strbuf.h"

struct key;

void key_free(struct key *k);
static inline void key_free_p(struct key **k)
{
	key_free(*k);
}
#define cleanup_key cleanup(key_free_p)

/* A new private key. Never NULL. */
struct key *key_new(void);
/* PKCS #8, or SEC 1 or PKCS #1, as DER. NULL: ERROR_FORMAT, or ERROR_LIMIT a kind or size that is
 * not taken. */
struct key *key_from_private(struct slice der, struct error *err) MUST_USE;
/* PKCS #8 encrypted with a password. ERROR_USAGE: the wrong password. */
struct key *key_from_encrypted(struct slice der, struct slice password, struct error *err) MUST_USE;
/* SubjectPublicKeyInfo. ERROR_FORMAT, ERROR_LIMIT. */
struct key *key_from_public(struct slice der, struct error *err) MUST_USE;
/* Append PKCS #8; the caller wipes it (strbuf_wipe). */
void key_private_der(const struct key *k, struct strbuf *out);
/* Append SubjectPublicKeyInfo, also of a private key. */
void key_public_der(const struct key *k, struct strbuf *out);

/* Append a signature of `message`; of elliptic keys DER. ERROR_SYSTEM. */
int key_sign(const struct key *k, struct slice message, struct strbuf *out,
	     struct error *err) MUST_USE;
bool key_verify(const struct key *k, struct slice message, struct slice signature) MUST_USE;

/*
 * scrypt (RFC 7914) with r = 8 and p = 1: 32 bytes for a password. ERROR_LIMIT unless `cost` (N) is
 * a power of two from 2 to 2^20, which takes 1 GiB for the time of the call.
 */
int key_scrypt(struct slice password, struct slice salt, uint64_t cost, uint8_t out[32],
	       struct error *err) MUST_USE;
/* Bytes nobody can foresee. */
void key_random(uint8_t *out, size_t len);

#endif
