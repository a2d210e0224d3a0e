#include "formats/node.h"

#include <stdarg.h>

#include "base/alloc.h"

void node_set_list(struct node *out, const struct node *items, size_t count, struct arena *arena)
{
	struct node *kept = arena_array(arena, count, sizeof(*kept));

	if (count)
		memcpy(kept, items, count * sizeof(*kept));
	out->type = NODE_LIST;
	out->items = kept;
	out->count = count;
}

void node_set_map(struct node *out, const struct node_pair *pairs, size_t count,
		  struct arena *arena)
{
	struct node_pair *kept = arena_array(arena, count, sizeof(*kept));

	if (count)
		memcpy(kept, pairs, count * sizeof(*kept));
	out->type = NODE_MAP;
	out->pairs = kept;
	out->count = count;
}

const struct node *node_get(const struct node *map, const char *key)
{
	if (map->type != NODE_MAP)
		return NULL;
	for (size_t i = 0; i < map->count; i++) {
		if (str_equal(map->pairs[i].key.text, key))
			return &map->pairs[i].value;
	}
	return NULL;
}

const char *node_type_name(const struct node *node)
{
	switch (node->type) {
	case NODE_MAP:
		return "a map";
	case NODE_LIST:
		return "a list";
	case NODE_SCALAR:
		return "text";
	case NODE_NULL:
		break;
	}
	return "nothing";
}

bool node_bool(const struct node *node, bool *out)
{
	static const struct {
		const char *text;
		bool value;
	} words[] = {
		{ "true", true }, { "True", true },   { "TRUE", true },   { "yes", true },
		{ "Yes", true },  { "YES", true },    { "on", true },     { "On", true },
		{ "ON", true },   { "false", false }, { "False", false }, { "FALSE", false },
		{ "no", false },  { "No", false },    { "NO", false },    { "off", false },
		{ "Off", false }, { "OFF", false },
	};

	if (node->type != NODE_SCALAR || node->quoted)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (str_equal(node->text, words[i].text)) {
			*out = words[i].value;
			return true;
		}
	}
	return false;
}

bool node_u64(const struct node *node, uint64_t *out)
{
	if (node->type != NODE_SCALAR || node->quoted)
		return false;
	/* "0755" is octal to some readers and decimal to others: neither is taken. */
	if (node->text[0] == '0' && node->text[1])
		return false;
	return slice_u64(slice_str(node->text), out);
}

int node_error(const struct node *at, enum error_code code, struct error *err, const char *fmt, ...)
{
	cleanup_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	return error_set(err, code, "%s:%zu:%zu: %s", at->file, at->line, at->column, what);
}
