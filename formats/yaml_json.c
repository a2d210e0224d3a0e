/*
 * Strict JSON into nodes. Jansson judges the text but forgets where values stood, and YAML's
 * flow style reads some JSON differently (surrogate pairs, U+2028 in a text, keys over 1024
 * characters), so a second pass over what is known to be valid takes values and places.
 */
#include "formats/yaml.h"

#include "base/strbuf.h"
#include "base/vec.h"
#include "formats/json.h"

enum { TEXT_LIMIT = 16 << 20, DEPTH_LIMIT = 64, NODE_LIMIT = 200000 };

struct scanner {
	struct slice text;
	size_t at;
	size_t line, column; /* from 1, of `at` */
	const char *name;
	struct arena *arena;
	size_t nodes;
};

static int peek(const struct scanner *s)
{
	return s->at < s->text.len ? s->text.data[s->at] : -1;
}

static void step(struct scanner *s)
{
	int c = peek(s);

	if (c < 0)
		return;
	s->at++;
	if (c == '\n') {
		s->line++;
		s->column = 1;
	} else if (s->at >= s->text.len || (s->text.data[s->at] & 0xc0) != 0x80) {
		s->column++;
	}
}

static void skip_blanks(struct scanner *s)
{
	while (peek(s) == ' ' || peek(s) == '\t' || peek(s) == '\r' || peek(s) == '\n')
		step(s);
}

static int unexpected(const struct scanner *s, struct error *err)
{
	return error_set(err, ERROR_FORMAT, "%s:%zu:%zu: not valid JSON", s->name, s->line,
			 s->column);
}

static unsigned hex_digits(struct scanner *s)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++, step(s)) {
		int c = peek(s);

		v = v << 4 |
		    (unsigned)(c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10) % 16;
	}
	return v;
}

static void add_utf8(struct strbuf *out, unsigned c)
{
	if (c < 0x80) {
		strbuf_addc(out, (char)c);
	} else if (c < 0x800) {
		strbuf_addc(out, (char)(0xc0 | c >> 6));
	} else if (c < 0x10000) {
		strbuf_addc(out, (char)(0xe0 | c >> 12));
		strbuf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	} else {
		strbuf_addc(out, (char)(0xf0 | c >> 18));
		strbuf_addc(out, (char)(0x80 | (c >> 12 & 0x3f)));
		strbuf_addc(out, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	if (c >= 0x80)
		strbuf_addc(out, (char)(0x80 | (c & 0x3f)));
}

static void add_escape(struct scanner *s, struct strbuf *out)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	int c = peek(s);
	const char *simple = c > 0 ? strchr(from, c) : NULL;
	unsigned code;

	step(s);
	if (c != 'u') {
		strbuf_addc(out, simple ? to[simple - from] : (char)c);
		return;
	}
	code = hex_digits(s);
	if (code >= 0xd800 && code < 0xdc00 && peek(s) == '\\') {
		step(s);
		step(s);
		code = 0x10000 + ((code - 0xd800) << 10) + ((hex_digits(s) - 0xdc00) & 0x3ff);
	}
	add_utf8(out, code);
}

static int scan_string(struct scanner *s, struct node *out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (peek(s) != '"')
		return unexpected(s, err);
	step(s);
	while (peek(s) >= 0 && peek(s) != '"') {
		int c = peek(s);

		step(s);
		if (c == '\\')
			add_escape(s, &text);
		else
			strbuf_addc(&text, (char)c);
	}
	if (peek(s) < 0)
		return unexpected(s, err);
	step(s);
	out->type = NODE_SCALAR;
	out->quoted = true;
	out->text = arena_slice(s->arena, strbuf_slice(&text));
	return 0;
}

/* A number or true, false, null: their text is kept as written. */
static int scan_word(struct scanner *s, struct node *out, struct error *err)
{
	size_t start = s->at;
	struct slice text;

	while (peek(s) > ' ' && !strchr(",]}:\"[{", peek(s)))
		step(s);
	text = slice_of(s->text.data + start, s->at - start);
	if (!text.len)
		return unexpected(s, err);
	if (slice_is(text, "null")) {
		out->type = NODE_NULL;
		return 0;
	}
	out->type = NODE_SCALAR;
	out->text = arena_slice(s->arena, text);
	return 0;
}

static int scan_node(struct scanner *s, unsigned depth, struct node *out, struct error *err);

/* The "," between members, or the end: 1 more, 0 end, -1. */
static int scan_more(struct scanner *s, int end, bool first, struct error *err)
{
	skip_blanks(s);
	if (peek(s) == end) {
		step(s);
		return 0;
	}
	if (first)
		return 1;
	if (peek(s) != ',')
		return unexpected(s, err);
	step(s);
	skip_blanks(s);
	return 1;
}

static int scan_list(struct scanner *s, unsigned depth, struct node *out, struct error *err)
{
	VEC(struct node) items = { 0 };
	int rc;

	step(s);
	while ((rc = scan_more(s, ']', items.len == 0, err)) == 1) {
		rc = scan_node(s, depth + 1, vec_add(&items), err);
		if (rc < 0)
			break;
	}
	if (rc == 0)
		node_set_list(out, items.items, items.len, s->arena);
	vec_release(&items);
	return rc;
}

static int scan_pair(struct scanner *s, unsigned depth, struct node_pair *out, struct error *err)
{
	out->key = (struct node){ .file = s->name, .line = s->line, .column = s->column };
	if (scan_string(s, &out->key, err) < 0)
		return -1;
	skip_blanks(s);
	if (peek(s) != ':')
		return unexpected(s, err);
	step(s);
	return scan_node(s, depth + 1, &out->value, err);
}

static int scan_map(struct scanner *s, unsigned depth, struct node *out, struct error *err)
{
	VEC(struct node_pair) pairs = { 0 };
	int rc;

	step(s);
	while ((rc = scan_more(s, '}', pairs.len == 0, err)) == 1) {
		rc = scan_pair(s, depth, vec_add(&pairs), err);
		if (rc < 0)
			break;
	}
	if (rc == 0)
		node_set_map(out, pairs.items, pairs.len, s->arena);
	vec_release(&pairs);
	return rc;
}

static int scan_node(struct scanner *s, unsigned depth, struct node *out, struct error *err)
{
	skip_blanks(s);
	*out = (struct node){ .text = "", .file = s->name, .line = s->line, .column = s->column };
	if (depth > DEPTH_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s:%zu:%zu: nested deeper than %d levels",
				 s->name, s->line, s->column, DEPTH_LIMIT);
	if (++s->nodes > NODE_LIMIT)
		return error_set(
			err, ERROR_LIMIT,
			"%s:%zu:%zu: more than %d values; that is the most a document may hold",
			s->name, s->line, s->column, NODE_LIMIT);
	switch (peek(s)) {
	case '{':
		return scan_map(s, depth, out, err);
	case '[':
		return scan_list(s, depth, out, err);
	case '"':
		return scan_string(s, out, err);
	default:
		return scan_word(s, out, err);
	}
}

int yaml_parse_json(struct slice text, const char *name, struct arena *arena, struct node *out,
		    struct error *err)
{
	struct scanner s = { .text = text, .line = 1, .column = 1, .name = name, .arena = arena };
	cleanup_json json_t *judged = NULL;

	if (text.len > TEXT_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s: %zu bytes of JSON; %d are allowed", name,
				 text.len, TEXT_LIMIT);
	if (json_parse_named(text, name, &judged, err) < 0)
		return -1;
	return scan_node(&s, 0, out, err);
}
