/*
 * Streams and bytes for tests of formats: short reads, noise that is the same every time, and
 * everything a stream gives as one buffer.
 */
#ifndef TESTS_SUPPORT_BYTES_H
#define TESTS_SUPPORT_BYTES_H

#include "base/stream.h"

/* `s`, at most `step` bytes a read. */
struct stream *test_dribble(struct slice s, size_t step);
/* Gives `s`, then an error with code ERROR_NETWORK and text "line cut". */
struct stream *test_cut(struct slice s);
/* `len` zero bytes, without having them in memory. */
struct stream *test_zeros(uint64_t len);
/* Append `len` bytes of noise that does not compress. */
void test_noise(struct strbuf *out, size_t len, uint32_t seed);
/* Append `len` bytes of text that compresses. */
void test_text(struct strbuf *out, size_t len);

#endif
