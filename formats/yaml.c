#include <yaml.h>

#include "formats/yaml.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { TEXT_LIMIT = 16 << 20, DEPTH_LIMIT = 64, NODE_LIMIT = 200000, QUOTE_LIMIT = 60 };

static const char core_tag[] = "tag:yaml.org,2002:";

/* A value that an alias may name. */
struct anchor {
	struct node node;
	size_t weight; /* nodes below it and itself, aliases expanded */
};

struct parser {
	yaml_parser_t yaml;
	struct slice text;
	const char *name; /* of the text */
	struct arena *arena;
	struct map anchors; /* struct anchor in the arena */
	size_t nodes;       /* so far, aliases expanded */
};

static size_t at_line(yaml_mark_t mark)
{
	return mark.line + 1;
}

static size_t at_column(yaml_mark_t mark)
{
	return mark.column + 1;
}

/* libyaml knows a byte offset only when the text is not valid UTF-8. */
static yaml_mark_t mark_of_offset(const struct parser *p, size_t offset)
{
	yaml_mark_t mark = { 0 };

	for (size_t i = 0; i < MIN(offset, p->text.len); i++) {
		if (p->text.data[i] == '\n') {
			mark.line++;
			mark.column = 0;
		} else if ((p->text.data[i] & 0xc0) != 0x80) {
			mark.column++;
		}
	}
	return mark;
}

static int not_yaml(struct parser *p, struct error *err)
{
	const yaml_parser_t *y = &p->yaml;
	yaml_mark_t mark = y->problem_mark;

	if (y->error == YAML_READER_ERROR)
		mark = mark_of_offset(p, y->problem_offset);
	if (y->error == YAML_MEMORY_ERROR)
		out_of_memory();
	if (y->context && y->error != YAML_READER_ERROR)
		return error_set(err, ERROR_FORMAT,
				 "%s:%zu:%zu: not valid YAML: %s (%s that begins at line %zu)",
				 p->name, at_line(mark), at_column(mark), y->problem, y->context,
				 at_line(y->context_mark));
	return error_set(err, ERROR_FORMAT, "%s:%zu:%zu: not valid YAML: %s", p->name,
			 at_line(mark), at_column(mark),
			 y->problem ? y->problem : "no reason given");
}

static int bad(const struct parser *p, yaml_mark_t mark, struct error *err, const char *fmt, ...)
	PRINTF_LIKE(4, 5);
static int bad(const struct parser *p, yaml_mark_t mark, struct error *err, const char *fmt, ...)
{
	cleanup_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	return error_set(err, ERROR_FORMAT, "%s:%zu:%zu: %s", p->name, at_line(mark),
			 at_column(mark), what);
}

static int count_nodes(struct parser *p, yaml_mark_t mark, size_t more, struct error *err)
{
	if (add_overflows(p->nodes, more, &p->nodes) || p->nodes > NODE_LIMIT)
		return error_set(
			err, ERROR_LIMIT,
			"%s:%zu:%zu: more than %d values, aliases expanded; that is the most "
			"a document may hold",
			p->name, at_line(mark), at_column(mark), NODE_LIMIT);
	return 0;
}

static int next_event(struct parser *p, yaml_event_t *out, struct error *err)
{
	memset(out, 0, sizeof(*out));
	return yaml_parser_parse(&p->yaml, out) ? 0 : not_yaml(p, err);
}

/* The tag of an event must be absent or the core's own for `kinds`. */
static int check_tag(const struct parser *p, const yaml_event_t *event, const yaml_char_t *tag,
		     const char *const *kinds, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	const char *text = (const char *)tag;

	if (!text || str_equal(text, "!"))
		return 0;
	if (str_starts(text, core_tag)) {
		for (size_t i = 0; kinds[i]; i++) {
			if (str_equal(text + sizeof(core_tag) - 1, kinds[i]))
				return 0;
		}
	}
	strbuf_add_quoted(&quoted, slice_str(text), QUOTE_LIMIT);
	return bad(p, event->start_mark, err, "the tag %s cannot be used here; leave it out",
		   strbuf_text(&quoted));
}

static bool has_core_tag(const yaml_char_t *tag, const char *kind)
{
	return tag && str_starts((const char *)tag, core_tag) &&
	       str_equal((const char *)tag + sizeof(core_tag) - 1, kind);
}

static bool is_null_word(const char *text)
{
	return !*text || str_equal(text, "~") || str_equal(text, "null") ||
	       str_equal(text, "Null") || str_equal(text, "NULL");
}

static int read_scalar(struct parser *p, const yaml_event_t *event, struct node *out,
		       struct error *err)
{
	static const char *const kinds[] = { "str", "int", "float", "bool", "null", NULL };
	const yaml_char_t *tag = event->data.scalar.tag;
	struct slice text = slice_of(event->data.scalar.value, event->data.scalar.length);

	if (check_tag(p, event, tag, kinds, err) < 0)
		return -1;
	if (text.len && memchr(text.data, 0, text.len))
		return bad(p, event->start_mark, err, "a NUL character in a text");
	out->type = NODE_SCALAR;
	out->text = arena_slice(p->arena, text);
	out->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	if (tag)
		out->quoted = has_core_tag(tag, "str") || str_equal((const char *)tag, "!");
	if (!out->quoted && is_null_word(out->text)) {
		out->type = NODE_NULL;
		out->text = "";
	}
	return 0;
}

static int read_alias(struct parser *p, const yaml_event_t *event, struct node *out,
		      struct error *err)
{
	const char *name = (const char *)event->data.alias.anchor;
	const struct anchor *anchor = map_get(&p->anchors, name);

	if (!anchor)
		return bad(p, event->start_mark, err,
			   "the alias '*%.60s' names no anchor that ends before it", name);
	/* The alias itself was counted already. */
	if (count_nodes(p, event->start_mark, anchor->weight - 1, err) < 0)
		return -1;
	*out = anchor->node;
	out->line = at_line(event->start_mark);
	out->column = at_column(event->start_mark);
	return 0;
}

static int read_node(struct parser *p, const yaml_event_t *event, unsigned depth, struct node *out,
		     struct error *err);

static int read_list(struct parser *p, const yaml_event_t *start, unsigned depth, struct node *out,
		     struct error *err)
{
	static const char *const kinds[] = { "seq", NULL };
	VEC(struct node) items = { 0 };
	int rc = check_tag(p, start, start->data.sequence_start.tag, kinds, err);

	while (rc == 0) {
		yaml_event_t event;

		rc = next_event(p, &event, err);
		if (rc < 0)
			break;
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			break;
		}
		rc = read_node(p, &event, depth + 1, vec_add(&items), err);
		yaml_event_delete(&event);
	}
	if (rc == 0)
		node_set_list(out, items.items, items.len, p->arena);
	vec_release(&items);
	return rc;
}

/* A key: text, once in its map. `seen` holds those before it. */
static int check_key(struct parser *p, const yaml_event_t *event, struct node *key,
		     struct map *seen, struct error *err)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	const struct node *first;

	if (key->type == NODE_LIST || key->type == NODE_MAP)
		return bad(p, event->start_mark, err, "a key must be text, not %s",
			   node_type_name(key));
	if (key->type == NODE_NULL)
		return bad(p, event->start_mark, err, "a key without text");
	if (str_equal(key->text, "<<") && !key->quoted)
		return bad(p, event->start_mark, err,
			   "merge keys ('<<') are not read; write out what is to be merged");
	first = map_get(seen, key->text);
	if (first) {
		strbuf_add_quoted(&quoted, slice_str(key->text), QUOTE_LIMIT);
		return bad(p, event->start_mark, err,
			   "key %s stands twice in one map (first in line %zu)",
			   strbuf_text(&quoted), first->line);
	}
	first = memcpy(arena_alloc(p->arena, sizeof(*key)), key, sizeof(*key));
	map_put(seen, key->text, (void *)first);
	return 0;
}

static int read_pair(struct parser *p, const yaml_event_t *key_event, unsigned depth,
		     struct map *seen, struct node_pair *out, struct error *err)
{
	yaml_event_t event;
	int rc;

	if (read_node(p, key_event, depth + 1, &out->key, err) < 0 ||
	    check_key(p, key_event, &out->key, seen, err) < 0 || next_event(p, &event, err) < 0)
		return -1;
	rc = read_node(p, &event, depth + 1, &out->value, err);
	yaml_event_delete(&event);
	return rc;
}

static int read_map(struct parser *p, const yaml_event_t *start, unsigned depth, struct node *out,
		    struct error *err)
{
	static const char *const kinds[] = { "map", NULL };
	VEC(struct node_pair) pairs = { 0 };
	cleanup_map struct map seen = { 0 };
	int rc = check_tag(p, start, start->data.mapping_start.tag, kinds, err);

	while (rc == 0) {
		yaml_event_t event;

		rc = next_event(p, &event, err);
		if (rc < 0)
			break;
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			break;
		}
		rc = read_pair(p, &event, depth, &seen, vec_add(&pairs), err);
		yaml_event_delete(&event);
	}
	if (rc == 0)
		node_set_map(out, pairs.items, pairs.len, p->arena);
	vec_release(&pairs);
	return rc;
}

static void set_anchor(struct parser *p, const yaml_char_t *name, const struct node *node,
		       size_t weight)
{
	struct anchor *anchor;

	if (!name)
		return;
	anchor = arena_alloc(p->arena, sizeof(*anchor));
	*anchor = (struct anchor){ .node = *node, .weight = weight };
	map_put(&p->anchors, (const char *)name, anchor);
}

/* The value that `event` begins. The event stays the caller's. */
static int read_node(struct parser *p, const yaml_event_t *event, unsigned depth, struct node *out,
		     struct error *err)
{
	size_t before = p->nodes;
	const yaml_char_t *anchor = NULL;
	int rc = -1;

	if (depth > DEPTH_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s:%zu:%zu: nested deeper than %d levels",
				 p->name, at_line(event->start_mark), at_column(event->start_mark),
				 DEPTH_LIMIT);
	if (count_nodes(p, event->start_mark, 1, err) < 0)
		return -1;
	*out = (struct node){ .text = "",
			      .file = p->name,
			      .line = at_line(event->start_mark),
			      .column = at_column(event->start_mark) };
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return read_alias(p, event, out, err);
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		rc = read_scalar(p, event, out, err);
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		rc = read_list(p, event, depth, out, err);
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		rc = read_map(p, event, depth, out, err);
		break;
	default:
		return bad(p, event->start_mark, err, "not valid YAML: a value is missing");
	}
	if (rc == 0)
		set_anchor(p, anchor, out, p->nodes - before);
	return rc;
}

static int read_document(struct parser *p, struct node *out, struct error *err)
{
	bool have = false;
	int rc = 0;

	*out = (struct node){
		.type = NODE_NULL, .text = "", .file = p->name, .line = 1, .column = 1
	};
	while (rc == 0) {
		yaml_event_t event;

		rc = next_event(p, &event, err);
		if (rc < 0)
			break;
		if (event.type == YAML_STREAM_END_EVENT) {
			yaml_event_delete(&event);
			break;
		}
		if (event.type == YAML_DOCUMENT_START_EVENT && have)
			rc = bad(p, event.start_mark, err,
				 "a second document begins here; one is all that is read");
		if (event.type != YAML_DOCUMENT_START_EVENT &&
		    event.type != YAML_DOCUMENT_END_EVENT &&
		    event.type != YAML_STREAM_START_EVENT) {
			have = true;
			rc = read_node(p, &event, 0, out, err);
		}
		yaml_event_delete(&event);
	}
	return rc;
}

int yaml_parse(struct slice text, const char *name, struct arena *arena, struct node *out,
	       struct error *err)
{
	struct parser p = { .text = text, .name = name, .arena = arena };
	int rc;

	if (text.len > TEXT_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s: %zu bytes of YAML; %d are allowed", name,
				 text.len, TEXT_LIMIT);
	if (!yaml_parser_initialize(&p.yaml))
		out_of_memory();
	yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&p.yaml, text.data ? text.data : (const uint8_t *)"",
				     text.len);
	rc = read_document(&p, out, err);
	yaml_parser_delete(&p.yaml);
	map_release(&p.anchors);
	return rc;
}
