/*
 * Bytes somebody else owns: cut, compare, convert. A slice never owns its data and never reads
 * outside it.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include "base/base.h"

struct slice {
	const uint8_t *data;
	size_t len; /* bytes */
};

static inline struct slice slice_of(const void *data, size_t len)
{
	return (struct slice){ .data = data, .len = len };
}

static inline struct slice slice_str(const char *s)
{
	return (struct slice){ .data = (const uint8_t *)s, .len = strlen(s) };
}

/* The `len` bytes at `offset`, or false when any of them lies outside `s`. */
static inline bool slice_sub(struct slice s, uint64_t offset, uint64_t len, struct slice *out)
{
	uint64_t end;

	if (add_overflows(offset, len, &end) || end > s.len)
		return false;
	*out = (struct slice){ .data = s.data ? s.data + offset : NULL, .len = (size_t)len };
	return true;
}

static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool slice_is(struct slice s, const char *text)
{
	return slice_equal(s, slice_str(text));
}

/* Without regard to the case of ASCII letters. */
static inline bool slice_is_word(struct slice s, const char *word)
{
	return s.len == strlen(word) &&
	       (!s.len || strncasecmp((const char *)s.data, word, s.len) == 0);
}

static inline bool slice_starts(struct slice s, const char *prefix)
{
	size_t n = strlen(prefix);

	return n == 0 || (s.len >= n && memcmp(s.data, prefix, n) == 0);
}

/* Whether a byte is one of a set; strchr finds the NUL at the end of every set. */
static inline bool byte_in(uint8_t byte, const char *set)
{
	return byte && strchr(set, byte);
}

/* Bytewise order of two `const char *`, for qsort and vec_sort. */
static inline int str_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Without spaces, tabs, CR and LF at both ends. */
static inline struct slice slice_trim(struct slice s)
{
	while (s.len && byte_in(s.data[0], " \t\r\n"))
		s.data++, s.len--;
	while (s.len && byte_in(s.data[s.len - 1], " \t\r\n"))
		s.len--;
	return s;
}

/*
 * Cut the text before the first `sep` off the front of *rest into *out, dropping the separator.
 * False when *rest is at its end (data NULL). Empty pieces are returned.
 */
static inline bool slice_cut(struct slice *rest, char sep, struct slice *out)
{
	const uint8_t *at;

	if (!rest->data)
		return false;
	at = rest->len ? memchr(rest->data, sep, rest->len) : NULL;
	if (!at) {
		*out = *rest;
		*rest = (struct slice){ 0 };
		return true;
	}
	*out = slice_of(rest->data, (size_t)(at - rest->data));
	*rest = slice_of(at + 1, rest->len - out->len - 1);
	return true;
}

/* Whether a part of the path, between "/", is `name`: ".." mostly, which "a../b" has not. */
static inline bool slice_has_part(struct slice path, const char *name)
{
	struct slice part;

	while (slice_cut(&path, '/', &part)) {
		if (slice_is(part, name))
			return true;
	}
	return false;
}

/* Decimal digits only, whole slice, no sign; false when empty, not digits, or too large. */
static inline bool slice_u64(struct slice s, uint64_t *out)
{
	uint64_t v = 0;

	if (!s.len)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] < '0' || s.data[i] > '9' || mul_overflows(v, UINT64_C(10), &v) ||
		    add_overflows(v, (uint64_t)(s.data[i] - '0'), &v))
			return false;
	}
	*out = v;
	return true;
}

#endif
