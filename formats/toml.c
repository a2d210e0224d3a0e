#include "formats/toml.h"

#include <ctype.h>

#include "base/map.h"
#include "formats/toml_scan.h"

enum { TEXT_LIMIT = 16 << 20, DEPTH_LIMIT = 64, VALUE_LIMIT = 200000, SHOWN = 60 };

enum kind { SCALAR, ARRAY, TABLE, TABLES /* [[name]] */ };

struct table;

struct value {
	enum kind kind;
	struct toml_place place;
	const char *text; /* SCALAR */
	bool quoted;
	struct table *table;        /* TABLE */
	struct value *first, *last; /* ARRAY, TABLES: in order, by `next` */
	size_t count;
	struct value *next;
};

struct entry {
	const char *key;
	struct toml_place place;
	struct value value;
	struct entry *next;
};

struct table {
	struct map by_key; /* struct entry */
	struct entry *first, *last;
	bool defined; /* has had its [header] */
	bool dotted;  /* made by a key with dots: no header may follow */
	bool closed;  /* written in braces: nothing may be added */
	struct table *next_made;
};

struct parser {
	struct toml_scan scan;
	struct table *made; /* all, to be released */
	size_t values;
	unsigned depth; /* of arrays and braces */
};

struct key_part {
	const char *text;
	struct toml_place place;
};

struct key {
	struct key_part parts[DEPTH_LIMIT];
	size_t count;
};

static int parse_value(struct parser *p, struct value *out, struct error *err);

static struct table *new_table(struct parser *p)
{
	struct table *t = arena_alloc(p->scan.arena, sizeof(*t));

	t->next_made = p->made;
	p->made = t;
	return t;
}

static int at_limit(const struct parser *p, struct toml_place place, struct error *err)
{
	return error_set(err, ERROR_LIMIT, "%s:%zu:%zu: more than %d levels; that is the limit",
			 p->scan.name, place.line, place.column, DEPTH_LIMIT);
}

static int count_value(struct parser *p, struct toml_place place, struct error *err)
{
	if (++p->values > VALUE_LIMIT)
		return error_set(
			err, ERROR_LIMIT,
			"%s:%zu:%zu: more than %d values; that is the most a document may hold",
			p->scan.name, place.line, place.column, VALUE_LIMIT);
	return 0;
}

static void skip_blanks(struct parser *p)
{
	while (toml_peek(&p->scan, 0) == ' ' || toml_peek(&p->scan, 0) == '\t')
		p->scan.at++;
}

static int skip_comment(struct parser *p, struct error *err)
{
	if (toml_peek(&p->scan, 0) != '#')
		return 0;
	while (toml_peek(&p->scan, 0) >= 0 && !toml_newline(&p->scan)) {
		int c = toml_peek(&p->scan, 0);

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return toml_bad(&p->scan, toml_here(&p->scan), err,
					"a control character (0x%02x) in a comment", c);
		p->scan.at++;
	}
	return 0;
}

/* Blanks, comments and line breaks. */
static int skip_lines(struct parser *p, struct error *err)
{
	for (;;) {
		size_t n;

		skip_blanks(p);
		if (skip_comment(p, err) < 0)
			return -1;
		n = toml_newline(&p->scan);
		if (!n)
			return 0;
		p->scan.at += n;
	}
}

static int end_of_line(struct parser *p, struct error *err)
{
	skip_blanks(p);
	if (skip_comment(p, err) < 0)
		return -1;
	if (toml_peek(&p->scan, 0) >= 0 && !toml_newline(&p->scan))
		return toml_bad(&p->scan, toml_here(&p->scan), err,
				"the line should have ended here");
	p->scan.at += toml_newline(&p->scan);
	return 0;
}

static bool bare_key_char(int c)
{
	return c > 0 && c < 0x80 && (isalnum(c) || c == '_' || c == '-');
}

static int parse_key_part(struct parser *p, struct key *out, struct error *err)
{
	struct key_part *part = &out->parts[out->count];
	size_t start = p->scan.at;
	int c = toml_peek(&p->scan, 0);

	part->place = toml_here(&p->scan);
	if (out->count + 1 == DEPTH_LIMIT)
		return at_limit(p, part->place, err);
	out->count++;
	if (c == '"' || c == '\'')
		return toml_string(&p->scan, false, &part->text, err);
	while (bare_key_char(toml_peek(&p->scan, 0)))
		p->scan.at++;
	if (p->scan.at == start)
		return toml_bad(&p->scan, part->place, err, "a key is missing");
	part->text =
		arena_slice(p->scan.arena, slice_of(p->scan.text.data + start, p->scan.at - start));
	return 0;
}

/* "a.b.'c d'", and the blanks after it. */
static int parse_key(struct parser *p, struct key *out, struct error *err)
{
	out->count = 0;
	for (;;) {
		skip_blanks(p);
		if (parse_key_part(p, out, err) < 0)
			return -1;
		skip_blanks(p);
		if (toml_peek(&p->scan, 0) != '.')
			return 0;
		p->scan.at++;
	}
}

static int twice(const struct parser *p, const struct key_part *part, const struct entry *there,
		 struct error *err)
{
	cleanup_strbuf struct strbuf shown = { 0 };

	strbuf_add_quoted(&shown, slice_str(part->text), SHOWN);
	return toml_bad(&p->scan, part->place, err, "%s is defined already, in line %zu",
			strbuf_text(&shown), there->place.line);
}

static int add_entry(struct parser *p, struct table *table, const struct key_part *part,
		     struct entry **out, struct error *err)
{
	struct entry *e = arena_alloc(p->scan.arena, sizeof(*e));

	if (count_value(p, part->place, err) < 0)
		return -1;
	e->key = part->text;
	e->place = e->value.place = part->place;
	map_put(&table->by_key, e->key, e);
	if (table->last)
		table->last->next = e;
	else
		table->first = e;
	table->last = e;
	*out = e;
	return 0;
}

/* Down one part of a key, making the table when there is none. `header`: of [a.b], not of a.b = 1.
 */
static int descend(struct parser *p, struct table **table, const struct key_part *part, bool header,
		   struct error *err)
{
	struct entry *e = map_get(&(*table)->by_key, part->text);
	struct value *v;

	if (!e) {
		if (add_entry(p, *table, part, &e, err) < 0)
			return -1;
		e->value.kind = TABLE;
		e->value.table = new_table(p);
		e->value.table->dotted = !header;
	}
	v = header && e->value.kind == TABLES ? e->value.last : &e->value;
	if (v->kind != TABLE || v->table->closed || (!header && v->table->defined))
		return twice(p, part, e, err);
	v->table->dotted |= !header;
	*table = v->table;
	return 0;
}

static void append(struct value *list, struct value *item)
{
	if (list->last)
		list->last->next = item;
	else
		list->first = item;
	list->last = item;
	list->count++;
}

/* [[name]]: one more table of a list. */
static int add_to_list(struct parser *p, struct table *table, const struct key_part *last,
		       struct table **out, struct error *err)
{
	struct entry *e = map_get(&table->by_key, last->text);
	struct value *item = arena_alloc(p->scan.arena, sizeof(*item));

	if (e && e->value.kind != TABLES)
		return twice(p, last, e, err);
	if (!e && add_entry(p, table, last, &e, err) < 0)
		return -1;
	if (count_value(p, last->place, err) < 0)
		return -1;
	e->value.kind = TABLES;
	item->kind = TABLE;
	item->place = last->place;
	item->table = *out = new_table(p);
	item->table->defined = true;
	append(&e->value, item);
	return 0;
}

/* [name] */
static int open_table(struct parser *p, struct table *table, const struct key_part *last,
		      struct table **out, struct error *err)
{
	struct entry *e = map_get(&table->by_key, last->text);

	if (!e) {
		if (add_entry(p, table, last, &e, err) < 0)
			return -1;
		e->value.kind = TABLE;
		e->value.table = new_table(p);
	} else if (e->value.kind != TABLE || e->value.table->defined || e->value.table->dotted ||
		   e->value.table->closed) {
		return twice(p, last, e, err);
	}
	e->value.table->defined = true;
	*out = e->value.table;
	return 0;
}

static int parse_header(struct parser *p, struct table *root, struct table **out, struct error *err)
{
	bool list = toml_sees(&p->scan, "[[");
	struct table *table = root;
	struct key key;

	p->scan.at += list ? 2 : 1;
	if (parse_key(p, &key, err) < 0)
		return -1;
	if (!toml_sees(&p->scan, list ? "]]" : "]"))
		return toml_bad(&p->scan, toml_here(&p->scan), err,
				"the name of a table must end with \"%s\"", list ? "]]" : "]");
	p->scan.at += list ? 2 : 1;
	for (size_t i = 0; i + 1 < key.count; i++) {
		if (descend(p, &table, &key.parts[i], true, err) < 0)
			return -1;
	}
	if ((list ? add_to_list : open_table)(p, table, &key.parts[key.count - 1], out, err) < 0)
		return -1;
	return end_of_line(p, err);
}

/* key = value */
static int parse_pair(struct parser *p, struct table *table, struct error *err)
{
	const struct key_part *last;
	struct entry *e;
	struct key key;

	if (parse_key(p, &key, err) < 0)
		return -1;
	if (toml_peek(&p->scan, 0) != '=')
		return toml_bad(&p->scan, toml_here(&p->scan), err,
				"\"=\" must follow the key '%.60s'", key.parts[key.count - 1].text);
	p->scan.at++;
	skip_blanks(p);
	for (size_t i = 0; i + 1 < key.count; i++) {
		if (descend(p, &table, &key.parts[i], false, err) < 0)
			return -1;
	}
	last = &key.parts[key.count - 1];
	e = map_get(&table->by_key, last->text);
	if (e)
		return twice(p, last, e, err);
	if (add_entry(p, table, last, &e, err) < 0)
		return -1;
	return parse_value(p, &e->value, err);
}

static int parse_array(struct parser *p, struct value *out, struct error *err)
{
	out->kind = ARRAY;
	p->scan.at++;
	for (;;) {
		struct value *item;

		if (skip_lines(p, err) < 0)
			return -1;
		if (toml_peek(&p->scan, 0) == ']')
			break;
		item = arena_alloc(p->scan.arena, sizeof(*item));
		if (count_value(p, toml_here(&p->scan), err) < 0 || parse_value(p, item, err) < 0)
			return -1;
		append(out, item);
		if (skip_lines(p, err) < 0)
			return -1;
		if (toml_peek(&p->scan, 0) == ']')
			break;
		if (toml_peek(&p->scan, 0) != ',')
			return toml_bad(&p->scan, toml_here(&p->scan), err,
					"\",\" or \"]\" must follow a value of an array");
		p->scan.at++;
	}
	p->scan.at++;
	return 0;
}

static int parse_braces(struct parser *p, struct value *out, struct error *err)
{
	out->kind = TABLE;
	out->table = new_table(p);
	p->scan.at++;
	skip_blanks(p);
	if (toml_peek(&p->scan, 0) != '}') {
		for (;;) {
			if (parse_pair(p, out->table, err) < 0)
				return -1;
			skip_blanks(p);
			if (toml_peek(&p->scan, 0) == '}')
				break;
			if (toml_peek(&p->scan, 0) != ',')
				return toml_bad(&p->scan, toml_here(&p->scan), err,
						"\",\" or \"}\" must follow, in the same line");
			p->scan.at++;
			skip_blanks(p);
		}
	}
	p->scan.at++;
	out->table->closed = true;
	return 0;
}

static int parse_value(struct parser *p, struct value *out, struct error *err)
{
	int c = toml_peek(&p->scan, 0), rc;

	out->place = toml_here(&p->scan);
	if (c == '"' || c == '\'') {
		out->quoted = true;
		return toml_string(&p->scan, true, &out->text, err);
	}
	if (c != '[' && c != '{')
		return toml_plain(&p->scan, &out->text, err);
	if (++p->depth >= DEPTH_LIMIT)
		return at_limit(p, out->place, err);
	rc = (c == '[' ? parse_array : parse_braces)(p, out, err);
	p->depth--;
	return rc;
}

static int parse_document(struct parser *p, struct table *root, struct error *err)
{
	struct table *current = root;

	for (;;) {
		if (skip_lines(p, err) < 0)
			return -1;
		if (toml_peek(&p->scan, 0) < 0)
			return 0;
		if (toml_peek(&p->scan, 0) == '[') {
			if (parse_header(p, root, &current, err) < 0)
				return -1;
		} else if (parse_pair(p, current, err) < 0 || end_of_line(p, err) < 0) {
			return -1;
		}
	}
}

static int make_node(const struct parser *p, const struct value *v, unsigned depth,
		     struct node *out, struct error *err);

static int make_map(const struct parser *p, const struct table *t, unsigned depth, struct node *out,
		    struct error *err)
{
	struct node_pair *pairs =
		arena_array(p->scan.arena, t->by_key.len + 1, sizeof(*out->pairs));

	out->type = NODE_MAP;
	out->pairs = pairs;
	for (const struct entry *e = t->first; e; e = e->next) {
		struct node_pair *pair = &pairs[out->count++];

		pair->key = (struct node){ .type = NODE_SCALAR,
					   .file = p->scan.name,
					   .line = e->place.line,
					   .column = e->place.column,
					   .text = e->key,
					   .quoted = true };
		if (make_node(p, &e->value, depth + 1, &pair->value, err) < 0)
			return -1;
	}
	return 0;
}

static int make_node(const struct parser *p, const struct value *v, unsigned depth,
		     struct node *out, struct error *err)
{
	struct node *items;

	if (depth >= DEPTH_LIMIT)
		return at_limit(p, v->place, err);
	*out = (struct node){ .type = NODE_SCALAR,
			      .file = p->scan.name,
			      .line = v->place.line,
			      .column = v->place.column,
			      .text = v->kind == SCALAR ? v->text : "",
			      .quoted = v->quoted };
	if (v->kind == TABLE)
		return make_map(p, v->table, depth, out, err);
	if (v->kind == SCALAR)
		return 0;
	items = arena_array(p->scan.arena, v->count + 1, sizeof(*items));
	out->type = NODE_LIST;
	out->items = items;
	for (const struct value *i = v->first; i; i = i->next) {
		if (make_node(p, i, depth + 1, &items[out->count++], err) < 0)
			return -1;
	}
	return 0;
}

/* The length of the UTF-8 sequence at `i`, or 0 when it is none. */
static size_t utf8_length(struct slice s, size_t i)
{
	const uint8_t *b = s.data + i;
	size_t n = b[0] < 0x80                   ? 1
		   : b[0] >= 0xc2 && b[0] < 0xe0 ? 2
		   : b[0] >= 0xe0 && b[0] < 0xf0 ? 3
		   : b[0] >= 0xf0 && b[0] < 0xf5 ? 4
						 : 0;

	if (!n || s.len - i < n)
		return 0;
	for (size_t k = 1; k < n; k++) {
		if ((b[k] & 0xc0) != 0x80)
			return 0;
	}
	if ((b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) ||
	    (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f))
		return 0;
	return n;
}

static int check_utf8(struct toml_scan *s, struct error *err)
{
	struct toml_scan at = *s;
	size_t n;

	for (; at.at < at.text.len; at.at += n) {
		n = utf8_length(at.text, at.at);
		if (!n)
			return toml_bad(&at, toml_here(&at), err,
					"the byte 0x%02x is not UTF-8 here", at.text.data[at.at]);
	}
	return 0;
}

int toml_parse(struct slice text, const char *name, struct arena *arena, struct node *out,
	       struct error *err)
{
	struct parser p = { .scan = { .text = text.len ? text : slice_str(""),
				      .name = name,
				      .arena = arena,
				      .place = { 1, 1 } } };
	struct value top = { .kind = TABLE, .place = { 1, 1 } };
	int rc;

	if (text.len > TEXT_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s: %zu bytes; the limit is %d", name, text.len,
				 TEXT_LIMIT);
	if (check_utf8(&p.scan, err) < 0)
		return -1;
	if (slice_starts(text, "\xef\xbb\xbf"))
		p.scan.at = p.scan.counted = 3;
	top.table = new_table(&p);
	top.table->defined = true;
	rc = parse_document(&p, top.table, err);
	if (rc == 0)
		rc = make_node(&p, &top, 0, out, err);
	for (struct table *t = p.made; t; t = t->next_made)
		map_release(&t->by_key);
	return rc;
}
