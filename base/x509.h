/*
 * What we need of X.509: the name under which OpenSSL looks a certificate up, and its bytes.
 * Uses libcrypto.
 */
#ifndef BASE_X509_H
#define BASE_X509_H

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

/*
 * The hash of the subject of the first certificate in a PEM text: the HASH of a "HASH.N" link in
 * a certificate directory. ERROR_FORMAT. Source: openssl-rehash(1), X509_NAME_hash(3).
 */
int x509_subject_hash(struct slice pem, uint32_t *out, struct error *err) MUST_USE;
/* Append the bytes (DER) of the first certificate in a PEM text. ERROR_FORMAT. */
int x509_der(struct slice pem, struct strbuf *out, struct error *err) MUST_USE;

#endif
