/*
 * Growable text or bytes. `data` is always followed by a NUL and is never NULL after the first
 * append; before that use strbuf_text(). A zeroed struct is an empty buffer.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include "base/slice.h"

struct strbuf {
	char *data;
	size_t len; /* bytes, without the NUL */
	size_t cap; /* bytes allocated */
};

void strbuf_release(struct strbuf *b);
#define cleanup_strbuf cleanup(strbuf_release)
/* Room for `bytes` more: appending so many moves nothing. */
void strbuf_reserve(struct strbuf *b, size_t bytes);
/*
 * Overwrite what the buffer holds, then release it. Copies that growing left behind are not
 * reached: for secrets reserve their size first.
 */
void strbuf_wipe(struct strbuf *b);
#define cleanup_secret cleanup(strbuf_wipe)

void strbuf_add(struct strbuf *b, const void *data, size_t len);
void strbuf_adds(struct strbuf *b, const char *s);
void strbuf_addc(struct strbuf *b, char c);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
/*
 * Append hostile text for people: in single quotes, control characters as \xNN (what is
 * above ASCII stays), cut with "..." after `limit` bytes.
 */
void strbuf_add_quoted(struct strbuf *b, struct slice s, size_t limit);
/* Append `count` zero bytes. */
void strbuf_add_zeros(struct strbuf *b, size_t count);
/* Cut to `len` bytes, which must not be more than there are. */
void strbuf_truncate(struct strbuf *b, size_t len);
/* The text so far, "" when empty; valid until the next change. */
const char *strbuf_text(const struct strbuf *b);
/* The text as a heap string the caller frees; the buffer is empty afterwards. */
char *strbuf_steal(struct strbuf *b);

static inline struct slice strbuf_slice(const struct strbuf *b)
{
	return slice_of(b->data, b->len);
}

#endif
