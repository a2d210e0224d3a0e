/*
 * A cursor over a slice. Every read is bounds-checked: once one fails, `bad` stays set, later
 * reads give zero, and the caller may check once at the end of a record.
 */
#ifndef BASE_READER_H
#define BASE_READER_H

#include "base/slice.h"

struct reader {
	struct slice s;
	size_t at;       /* bytes consumed */
	bool big_endian; /* byte order of the integers read */
	bool bad;        /* a read went past the end */
};

static inline struct reader reader_of(struct slice s)
{
	return (struct reader){ .s = s };
}

static inline size_t reader_left(const struct reader *r)
{
	return r->s.len - r->at;
}

static inline bool reader_seek(struct reader *r, uint64_t at)
{
	if (at > r->s.len)
		r->bad = true;
	else
		r->at = (size_t)at;
	return !r->bad;
}

/* The next `len` bytes; an empty slice when there are fewer. */
static inline struct slice reader_bytes(struct reader *r, uint64_t len)
{
	struct slice out = { 0 };

	if (r->bad || len > reader_left(r)) {
		r->bad = true;
		return out;
	}
	out = slice_of(r->s.data ? r->s.data + r->at : NULL, (size_t)len);
	r->at += (size_t)len;
	return out;
}

/* An unsigned integer of `bytes` (1 to 8) bytes in the reader's byte order. */
static inline uint64_t reader_uint(struct reader *r, unsigned bytes)
{
	struct slice b = reader_bytes(r, bytes);
	uint64_t v = 0;

	for (size_t i = 0; i < b.len; i++)
		v = v << 8 | b.data[r->big_endian ? i : b.len - 1 - i];
	return v;
}

static inline uint8_t reader_u8(struct reader *r)
{
	return (uint8_t)reader_uint(r, 1);
}

static inline uint16_t reader_u16(struct reader *r)
{
	return (uint16_t)reader_uint(r, 2);
}

static inline uint32_t reader_u32(struct reader *r)
{
	return (uint32_t)reader_uint(r, 4);
}

static inline uint64_t reader_u64(struct reader *r)
{
	return reader_uint(r, 8);
}

/* Text up to a NUL, which is consumed and not returned; bad when there is none. */
static inline struct slice reader_cstr(struct reader *r)
{
	const uint8_t *nul =
		r->bad || !reader_left(r) ? NULL : memchr(r->s.data + r->at, 0, reader_left(r));
	struct slice out = { 0 };

	if (!nul) {
		r->bad = true;
		return out;
	}
	out = reader_bytes(r, (uint64_t)(nul - (r->s.data + r->at)));
	r->at++;
	return out;
}

#endif
