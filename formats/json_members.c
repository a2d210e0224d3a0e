#include "formats/json_members.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/vec.h"
#include "formats/json.h"

enum { DEPTH_LIMIT = 2048 }; /* Jansson's */

struct scan {
	const uint8_t *at, *end;
	VEC(struct slice) keys; /* of the objects that are open, the innermost last */
	struct arena arena;     /* of keys with escapes */
	struct json_member *wanted;
	size_t wanted_count;
};

static bool scan_value(struct scan *s, unsigned depth);

/* The next byte that is no blank, which stays; or NUL at the end. */
static uint8_t peek(struct scan *s)
{
	while (s->at < s->end && memchr(" \t\n\r", *s->at, 4))
		s->at++;
	return s->at < s->end ? *s->at : 0;
}

static bool take(struct scan *s, uint8_t wanted)
{
	if (peek(s) != wanted)
		return false;
	s->at++;
	return true;
}

/* What is not of the simplest kind is Jansson's to judge. */
static json_t *load(struct slice token)
{
	json_error_t ignored;

	return json_loadb((const char *)token.data, token.len, JSON_DECODE_ANY, &ignored);
}

/* A text at `s->at`, with its marks; *out_plain: it stands for itself. */
static bool scan_text(struct scan *s, struct slice *out, bool *out_plain)
{
	const uint8_t *start = s->at++;

	*out_plain = true;
	while (s->at < s->end && *s->at != '"') {
		*out_plain = *out_plain && *s->at >= 0x20 && *s->at < 0x7f && *s->at != '\\';
		s->at += *s->at == '\\' ? 2 : 1;
	}
	if (s->at >= s->end)
		return false;
	*out = slice_of(start, (size_t)(++s->at - start));
	if (!*out_plain) {
		cleanup_json json_t *value = load(*out);

		return value != NULL;
	}
	return true;
}

static bool scan_number(struct scan *s)
{
	const uint8_t *start = s->at;
	cleanup_json json_t *value = NULL;
	size_t len;

	while (s->at < s->end && byte_in(*s->at, "+-.0123456789Ee"))
		s->at++;
	len = (size_t)(s->at - start);
	value = len ? load(slice_of(start, len)) : NULL;
	return value != NULL;
}

static bool scan_word(struct scan *s)
{
	static const char *const words[] = { "true", "false", "null" };
	struct slice rest = slice_of(s->at, (size_t)(s->end - s->at));

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if (!slice_starts(rest, words[i]))
			continue;
		s->at += n;
		/* "nullx" is one token */
		return rest.len == n ||
		       !((rest.data[n] | 0x20) >= 'a' && (rest.data[n] | 0x20) <= 'z');
	}
	return false;
}

/* Objects. */

static int compare(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	return x->len ? memcmp(x->data, y->data, x->len) : 0;
}

/* The keys from `first` on are of one object, which is complete. */
static bool close_keys(struct scan *s, size_t first)
{
	struct slice *keys = s->keys.items + first;
	size_t count = s->keys.len - first;
	bool good = true;

	if (count > 1)
		qsort(keys, count, sizeof(*keys), compare);
	for (size_t i = 1; i < count; i++)
		good = good && !slice_equal(keys[i - 1], keys[i]);
	s->keys.len = first;
	return good;
}

static bool scan_key(struct scan *s, struct slice *out)
{
	struct slice token;
	bool plain;

	if (peek(s) != '"' || !scan_text(s, &token, &plain))
		return false;
	if (plain) {
		*out = slice_of(token.data + 1, token.len - 2);
	} else {
		cleanup_json json_t *value = load(token);
		const char *text = json_string_value(value);

		if (!text || strlen(text) != json_string_length(value))
			return false;
		*out = slice_str(arena_strdup(&s->arena, text));
	}
	vec_push(&s->keys, *out);
	return true;
}

static void note_member(struct scan *s, struct slice key, struct slice value)
{
	for (size_t i = 0; i < s->wanted_count; i++) {
		if (slice_is(key, s->wanted[i].key))
			s->wanted[i].value = value;
	}
}

static bool scan_object(struct scan *s, unsigned depth)
{
	size_t first = s->keys.len;

	s->at++;
	if (take(s, '}'))
		return true;
	do {
		const uint8_t *start;
		struct slice key;

		if (!scan_key(s, &key) || !take(s, ':'))
			return false;
		peek(s);
		start = s->at;
		if (!scan_value(s, depth + 1))
			return false;
		if (depth == 1)
			note_member(s, key, slice_of(start, (size_t)(s->at - start)));
	} while (take(s, ','));
	return take(s, '}') && close_keys(s, first);
}

static bool scan_list(struct scan *s, unsigned depth)
{
	s->at++;
	if (take(s, ']'))
		return true;
	do {
		if (!scan_value(s, depth + 1))
			return false;
	} while (take(s, ','));
	return take(s, ']');
}

static bool scan_value(struct scan *s, unsigned depth)
{
	struct slice text;
	bool plain;

	if (depth > DEPTH_LIMIT)
		return false;
	switch (peek(s)) {
	case '{':
		return scan_object(s, depth);
	case '[':
		return scan_list(s, depth);
	case '"':
		return scan_text(s, &text, &plain);
	case 't':
	case 'f':
	case 'n':
		return scan_word(s);
	default:
		return scan_number(s);
	}
}

/* It is not one object: Jansson says why. */
static int explain(struct slice text, struct error *err)
{
	cleanup_json json_t *value = NULL;

	if (json_parse(text, &value, err) < 0)
		return -1;
	return error_set(err, ERROR_FORMAT, "is not an object");
}

int json_members(struct slice text, struct json_member *wanted, size_t count, struct error *err)
{
	struct scan s = { .at = text.data,
			  .end = text.data ? text.data + text.len : NULL,
			  .wanted = wanted,
			  .wanted_count = count };
	bool good;

	for (size_t i = 0; i < count; i++)
		wanted[i].value = (struct slice){ 0 };
	good = peek(&s) == '{' && scan_value(&s, 1);
	peek(&s);
	good = good && s.at == s.end;
	vec_release(&s.keys);
	arena_release(&s.arena);
	return good ? 0 : explain(text, err);
}
