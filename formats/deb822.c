#include <strings.h>

#include "formats/deb822.h"

#include "base/strbuf.h"

enum {
	NAME_LIMIT = 64 * 1024,
	VALUE_LIMIT = 4 * 1024 * 1024,
	FIELD_LIMIT = 200,
	QUOTE_LIMIT = 60,
};

void deb822_release(struct deb822 *stanza)
{
	if (stanza)
		vec_release(stanza);
}

/* Where a text stands, for its errors. */
struct place {
	const char *name;
	size_t line;
};

static int bad_line(struct place at, struct slice line, const char *what, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };

	strbuf_add_quoted(&quoted, line, QUOTE_LIMIT);
	return error_set(err, ERROR_FORMAT, "%s:%zu: %s: %s", at.name, at.line, what,
			 strbuf_text(&quoted));
}

/* The next line without its "\n"; false at the end. */
static inline bool cut_line(struct slice *rest, struct slice *out)
{
	const uint8_t *end;

	if (!rest->len)
		return false;
	end = memchr(rest->data, '\n', rest->len);
	*out = slice_of(rest->data, end ? (size_t)(end - rest->data) : rest->len);
	*rest = slice_of(rest->data + out->len + (end ? 1 : 0),
			 rest->len - out->len - (end ? 1 : 0));
	return true;
}

static inline bool is_separator(struct slice line)
{
	return line.len == 0 || (line.len == 1 && line.data[0] == '\r');
}

/* Bytes of a field name: printable ASCII but ":". deb822(5). */
static inline bool is_name_byte(uint8_t c)
{
	return c > 0x20 && c < 0x7f && c != ':';
}

static bool same_name(struct slice a, struct slice b)
{
	return a.len == b.len &&
	       strncasecmp((const char *)a.data, (const char *)b.data, a.len) == 0;
}

static int add_field(struct deb822 *out, struct slice line, struct place at, struct error *err)
{
	struct deb822_field field;
	size_t colon = 0;

	while (colon < line.len && is_name_byte(line.data[colon]))
		colon++;
	if (colon == 0 || colon == line.len || line.data[colon] != ':' || line.data[0] == '-')
		return bad_line(at, line, "neither \"Field: value\" nor a continuation line", err);
	if (colon > NAME_LIMIT)
		return error_set(err, ERROR_LIMIT,
				 "%s:%zu: a field name of %zu bytes; %d are allowed", at.name,
				 at.line, colon, NAME_LIMIT);
	field.name = slice_of(line.data, colon);
	field.value = slice_of(line.data + colon + 1, line.len - colon - 1);
	for (size_t i = 0; i < out->len; i++) {
		if (same_name(out->items[i].name, field.name))
			return bad_line(at, field.name, "a field stands twice in one stanza", err);
	}
	if (out->len == FIELD_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s:%zu: a stanza of more than %d fields",
				 at.name, at.line, FIELD_LIMIT);
	vec_push(out, field);
	return 0;
}

/*
 * A value without outer blanks and outer comment lines, so that a "#" at its very beginning is
 * always text of its own.
 */
static struct slice trim_value(struct slice value)
{
	struct slice rest = value, line;
	const uint8_t *last;

	while (cut_line(&rest, &line) && !slice_trim(line).len) {
		while (rest.len && rest.data[0] == '#')
			ignore_result(cut_line(&rest, &line));
		value = rest;
	}
	value = slice_trim(value);
	while (value.len && (last = memrchr(value.data, '\n', value.len)) && last[1] == '#')
		value = slice_trim(slice_of(value.data, (size_t)(last - value.data)));
	return value;
}

/* The last field, complete now: check its size and cut its outer blanks. */
static int end_field(struct deb822 *out, struct place at, struct error *err)
{
	struct deb822_field *field = out->len ? &out->items[out->len - 1] : NULL;

	if (!field)
		return 0;
	if (field->value.len > VALUE_LIMIT)
		return error_set(err, ERROR_LIMIT,
				 "%s:%zu: a field value of %zu bytes; %d are allowed", at.name,
				 at.line, field->value.len, VALUE_LIMIT);
	if (field->value.len && memchr(field->value.data, 0, field->value.len))
		return bad_line(at, field->name, "a NUL byte in the value of a field", err);
	field->value = trim_value(field->value);
	return 0;
}

int deb822_next(struct slice *rest, const char *name, size_t *line, struct deb822 *out,
		struct error *err)
{
	struct slice text;

	out->len = 0;
	for (; cut_line(rest, &text); (*line)++) {
		struct place at = { .name = name, .line = *line };

		if (is_separator(text)) {
			if (!out->len)
				continue;
			(*line)++;
			return end_field(out, at, err) < 0 ? -1 : 1;
		}
		if (text.data[0] == '#')
			continue;
		if (text.data[0] != ' ' && text.data[0] != '\t') {
			if (end_field(out, at, err) < 0 || add_field(out, text, at, err) < 0)
				return -1;
		} else if (out->len) {
			struct slice *value = &out->items[out->len - 1].value;

			value->len = (size_t)(text.data + text.len - value->data);
		} else if (slice_trim(text).len) {
			return bad_line(at, text, "a continuation line before any field", err);
		}
	}
	if (end_field(out, (struct place){ .name = name, .line = *line }, err) < 0)
		return -1;
	return out->len ? 1 : 0;
}

struct slice deb822_get(const struct deb822 *stanza, const char *field)
{
	struct slice name = slice_str(field);

	for (size_t i = 0; i < stanza->len; i++) {
		if (same_name(stanza->items[i].name, name))
			return stanza->items[i].value;
	}
	return (struct slice){ 0 };
}

bool deb822_line(struct slice *value, struct slice *out)
{
	struct slice line, comment;

	while (cut_line(value, &line)) {
		while (value->len && value->data[0] == '#')
			ignore_result(cut_line(value, &comment));
		*out = slice_trim(line);
		if (out->len)
			return true;
	}
	return false;
}
