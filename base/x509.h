/*
 * The one thing we need of X.509: the name under which OpenSSL looks a certificate up.
 * Uses libcrypto.
 */
#ifndef BASE_X509_H
#define BASE_X509_H

#include "base/error.h"
#include "base/slice.h"

/*
 * The hash of the subject of the first certificate in a PEM text: the HASH of a "HASH.N" link in
 * a certificate directory. ERROR_FORMAT. Source: openssl-rehash(1), X509_NAME_hash(3).
 */
int x509_subject_hash(struct slice pem, uint32_t *out, struct error *err) MUST_USE;

#endif
