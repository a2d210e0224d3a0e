/*
 * NaCl's secretbox: XSalsa20 and Poly1305 over a message, under a 32-byte key and a 24-byte nonce.
 * What cosign encrypts its private keys with. libcrypto has the Poly1305, but no Salsa20.
 * Sources: D. J. Bernstein, "Cryptography in NaCl" (2009), 8-10; "Extending the Salsa20 nonce"
 * (2011), for HSalsa20.
 */
#ifndef BASE_SECRETBOX_H
#define BASE_SECRETBOX_H

#include "base/slice.h"

enum { SECRETBOX_KEY = 32, SECRETBOX_NONCE = 24, SECRETBOX_TAG = 16 };

/* Writes box.len - SECRETBOX_TAG bytes to `out`; false, and nothing written, when it is not whole.
 */
bool secretbox_open(const uint8_t key[SECRETBOX_KEY], const uint8_t nonce[SECRETBOX_NONCE],
		    struct slice box, uint8_t *out) MUST_USE;
/* Writes message.len + SECRETBOX_TAG bytes to `out`. */
void secretbox_seal(const uint8_t key[SECRETBOX_KEY], const uint8_t nonce[SECRETBOX_NONCE],
		    struct slice message, uint8_t *out);

#endif
