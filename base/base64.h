/*
 * Base64 as credentials and tokens hold it: both alphabets are read, with or without padding.
 * Source: RFC 4648, 4 and 5.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/strbuf.h"

/* Append the bytes `text` stands for; false, with `out` as far as it got, on anything else. */
bool base64_decode(struct slice text, struct strbuf *out) MUST_USE;
/*
 * The same for the one way that signed things have it: the standard alphabet, padded to the end,
 * no line breaks, no bits left over.
 */
bool base64_decode_strict(struct slice text, struct strbuf *out) MUST_USE;
/* Append the standard alphabet with padding. */
void base64_encode(struct slice data, struct strbuf *out);

#endif
