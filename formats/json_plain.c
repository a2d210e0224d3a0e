#include "formats/json_plain.h"

#include "base/base.h"

enum { DEPTH_LIMIT = 64, KEY_LIMIT = 128, TEXT_LIMIT = 4096, DIGITS_LIMIT = 18 };

struct cursor {
	const char *at, *end;
};

static json_t *read_value(struct cursor *c, unsigned depth);

/* The next byte that is no blank, which stays; or NUL at the end. */
static char peek(struct cursor *c)
{
	while (c->at < c->end &&
	       (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r'))
		c->at++;
	return c->at < c->end ? *c->at : 0;
}

static bool take(struct cursor *c, char wanted)
{
	if (peek(c) != wanted)
		return false;
	c->at++;
	return true;
}

/* Stops at a quotation mark, a backslash, or what is no printable ASCII. */
static const char *plain_end(const char *at, const char *end)
{
	while (at < end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
		at++;
	return at;
}

/*
 * The text after its opening mark, without escapes. It lies in the input, or in `buffer`, which has
 * room for `room` bytes, when there are escapes.
 */
static bool read_text(struct cursor *c, char *buffer, size_t room, struct slice *out)
{
	const char *start = c->at, *stop = plain_end(start, c->end);
	size_t len = 0;

	if (stop < c->end && *stop == '"') {
		*out = slice_of(start, (size_t)(stop - start));
		c->at = stop + 1;
		return true;
	}
	for (;;) {
		size_t n = (size_t)(stop - start);

		if (stop == c->end || n + 1 >= room - len)
			return false;
		if (n)
			memcpy(buffer + len, start, n);
		len += n;
		if (*stop == '"')
			break;
		if (*stop != '\\' || stop + 1 == c->end ||
		    (stop[1] != '"' && stop[1] != '\\' && stop[1] != '/'))
			return false;
		buffer[len++] = stop[1];
		start = stop + 2;
		stop = plain_end(start, c->end);
	}
	*out = slice_of(buffer, len);
	c->at = stop + 1;
	return true;
}

static json_t *read_string(struct cursor *c)
{
	char buffer[TEXT_LIMIT];
	struct slice text;

	c->at++;
	if (!read_text(c, buffer, sizeof(buffer), &text))
		return NULL;
	return json_stringn_nocheck((const char *)text.data, text.len);
}

static json_t *read_number(struct cursor *c)
{
	bool negative = *c->at == '-';
	json_int_t value = 0;
	size_t digits = 0;

	c->at += negative;
	for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
		if (++digits > DIGITS_LIMIT || (digits > 1 && value == 0))
			return NULL;
		value = value * 10 + (*c->at - '0');
	}
	if (!digits || (c->at < c->end && (*c->at == '.' || *c->at == 'e' || *c->at == 'E')))
		return NULL;
	return json_integer(negative ? -value : value);
}

static json_t *read_word(struct cursor *c, const char *word, json_t *value)
{
	size_t len = strlen(word);

	if ((size_t)(c->end - c->at) < len || memcmp(c->at, word, len) != 0)
		return NULL;
	c->at += len;
	return value;
}

static json_t *read_array(struct cursor *c, unsigned depth)
{
	json_t *array = json_array();

	c->at++;
	if (take(c, ']'))
		return array;
	do {
		json_t *item = read_value(c, depth);

		if (!item || json_array_append_new(array, item) < 0)
			goto not_plain;
	} while (take(c, ','));
	if (take(c, ']'))
		return array;
not_plain:
	json_decref(array);
	return NULL;
}

/* One "key": value; the key is none that `object` has. */
static bool read_member(struct cursor *c, json_t *object, unsigned depth)
{
	char key[KEY_LIMIT], buffer[KEY_LIMIT];
	size_t before = json_object_size(object);
	struct slice text;
	json_t *value;

	if (!take(c, '"') || !read_text(c, buffer, sizeof(buffer), &text) ||
	    text.len >= sizeof(key) || !take(c, ':'))
		return false;
	if (text.len)
		memcpy(key, text.data, text.len);
	key[text.len] = 0;
	value = read_value(c, depth);
	return value && json_object_set_new_nocheck(object, key, value) == 0 &&
	       json_object_size(object) == before + 1;
}

static json_t *read_object(struct cursor *c, unsigned depth)
{
	json_t *object = json_object();

	c->at++;
	if (take(c, '}'))
		return object;
	do {
		if (!read_member(c, object, depth))
			goto not_plain;
	} while (take(c, ','));
	if (take(c, '}'))
		return object;
not_plain:
	json_decref(object);
	return NULL;
}

static json_t *read_value(struct cursor *c, unsigned depth)
{
	char first = peek(c);

	if (depth == DEPTH_LIMIT)
		return NULL;
	switch (first) {
	case '{':
		return read_object(c, depth + 1);
	case '[':
		return read_array(c, depth + 1);
	case '"':
		return read_string(c);
	case 't':
		return read_word(c, "true", json_true());
	case 'f':
		return read_word(c, "false", json_false());
	case 'n':
		return read_word(c, "null", json_null());
	default:
		return first == '-' || (first >= '0' && first <= '9') ? read_number(c) : NULL;
	}
}

json_t *json_plain(struct slice text)
{
	struct cursor c = { .at = (const char *)text.data };
	json_t *value;

	if (!text.len)
		return NULL;
	c.end = c.at + text.len;
	value = read_value(&c, 0);
	if (value && peek(&c) == 0 && c.at == c.end)
		return value;
	json_decref(value);
	return NULL;
}
