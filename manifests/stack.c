#include "manifests/stack.h"

#include "base/alloc.h"
#include "base/map.h"
#include "formats/node.h"
#include "manifests/stack_check.h"
#include "manifests/stack_keys.h"
#include "manifests/stack_parse.h"

enum { QUOTE_LIMIT = 60 };

/* Where in the manifest the parser stands: "stages.runtime.files[0]", from the inside out. */
struct frame {
	const struct frame *up;
	const char *name; /* NULL: an item of a list */
	size_t index;
};

struct parser {
	struct stack *stack;
	bool other;          /* not a manifest but another document with a table of keys */
	struct arena *arena; /* of the stack */
	struct error *err;
};

static void add_path(const struct frame *at, struct strbuf *out)
{
	if (!at)
		return;
	add_path(at->up, out);
	if (at->name)
		strbuf_addf(out, "%s%.60s", out->len ? "." : "", at->name);
	else
		strbuf_addf(out, "[%zu]", at->index);
}

/* "FILE:LINE:COLUMN: path: text" */
static int bad(struct parser *p, const struct frame *at, const struct node *node, const char *fmt,
	       ...) PRINTF_LIKE(4, 5);
static int bad(struct parser *p, const struct frame *at, const struct node *node, const char *fmt,
	       ...)
{
	cleanup_strbuf struct strbuf path = { 0 };
	cleanup_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	add_path(at, &path);
	return stack_error(p->stack, stack_place_of(node), p->err, "%s%s%s", strbuf_text(&path),
			   path.len ? ": " : "", what);
}

/* 'name', or "item 3 of 'name'": what a message is about. Heap. */
static char *subject(const char *name, size_t index)
{
	return index == SIZE_MAX ? xasprintf("'%.60s'", name)
				 : xasprintf("item %zu of '%.60s'", index + 1, name);
}

static int bad_type(struct parser *p, const struct frame *at, const struct node *node,
		    const char *name, size_t index, const char *wanted, const char *advice)
{
	cleanup_free char *what = subject(name, index);

	return bad(p, at, node, "%s must be %s, not %s%s", what, wanted, node_type_name(node),
		   advice);
}

/* A text that passes the key's check. */
static int parse_text(struct parser *p, const struct frame *at, const struct stack_key *key,
		      const struct node *node, const char *name, size_t index, const char **out)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	cleanup_free char *what = NULL;
	const char *wrong;

	if (node->type != NODE_SCALAR)
		return bad_type(p, at, node, name, index, "text",
				node->type == NODE_NULL && key->empty_ok
					? "; write \"\" for an empty one"
					: "");
	what = subject(name, index);
	if (!*node->text && !key->empty_ok)
		return bad(p, at, node, "%s must not be empty", what);
	wrong = key->check ? key->check(node->text, p->arena) : NULL;
	if (wrong) {
		strbuf_add_quoted(&quoted, slice_str(node->text), QUOTE_LIMIT);
		return bad(p, at, node, "%s: %s %s", what, strbuf_text(&quoted), wrong);
	}
	*out = node->text;
	return 0;
}

static int parse_choice(struct parser *p, const struct frame *at, const struct stack_key *key,
			const struct node *node, unsigned *out)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	cleanup_strbuf struct strbuf all = { 0 };
	const char *near;
	unsigned count = 0;

	if (node->type != NODE_SCALAR)
		return bad_type(p, at, node, key->name, SIZE_MAX, "text", "");
	for (; key->choices[count]; count++) {
		if (str_equal(node->text, key->choices[count])) {
			*out = count;
			return 0;
		}
		strbuf_addf(&all, "%s%s", count ? ", " : "", key->choices[count]);
	}
	near = stack_nearest(node->text, key->choices, count);
	strbuf_add_quoted(&quoted, slice_str(node->text), QUOTE_LIMIT);
	return bad(p, at, node, "'%s': %s is not %s%s%s%s%s", key->name, strbuf_text(&quoted),
		   count > 1 ? "one of " : "", strbuf_text(&all), near ? "; did you mean '" : "",
		   near ? near : "", near ? "'?" : "");
}

static int parse_uint(struct parser *p, const struct frame *at, const struct stack_key *key,
		      const struct node *node, uint64_t *out)
{
	cleanup_strbuf struct strbuf quoted = { 0 };

	if (node->type != NODE_SCALAR)
		return bad_type(p, at, node, key->name, SIZE_MAX, "a whole number", "");
	if (node_u64(node, out) && *out <= key->max)
		return 0;
	strbuf_add_quoted(&quoted, slice_str(node->text), QUOTE_LIMIT);
	return bad(p, at, node, "'%s': %s is not a whole number from 0 to %" PRIu64, key->name,
		   strbuf_text(&quoted), key->max);
}

bool stack_size_parse(const char *text, uint64_t *out)
{
	static const struct {
		const char *suffix;
		uint64_t unit;
	} units[] = { { "KiB", KIB }, { "MiB", MIB }, { "GiB", GIB }, { "", 1 } };

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct slice number = slice_str(text);

		if (!str_ends(text, units[i].suffix))
			continue;
		number.len -= strlen(units[i].suffix);
		return slice_u64(slice_trim(number), out) && *out &&
		       !mul_overflows(*out, units[i].unit, out) && *out <= INT64_MAX;
	}
	return false;
}

static int parse_size(struct parser *p, const struct frame *at, const struct stack_key *key,
		      const struct node *node, uint64_t *out)
{
	cleanup_strbuf struct strbuf quoted = { 0 };

	if (node->type != NODE_SCALAR)
		return bad_type(p, at, node, key->name, SIZE_MAX, "a size", "");
	if (stack_size_parse(node->text, out))
		return 0;
	strbuf_add_quoted(&quoted, slice_str(node->text), QUOTE_LIMIT);
	return bad(
		p, at, node,
		"'%s': %s is not a size; write a whole number above 0 and KiB, MiB or GiB, such as "
		"512MiB",
		key->name, strbuf_text(&quoted));
}

/* A list, or nothing; `optional` nothing is an empty list. */
static int expect_list(struct parser *p, const struct frame *at, const struct node *node,
		       const char *name)
{
	cleanup_free char *advice = NULL;

	if (node->type == NODE_LIST || node->type == NODE_NULL)
		return 0;
	if (node->type == NODE_SCALAR && strlen(node->text) <= QUOTE_LIMIT &&
	    !strpbrk(node->text, "\"\\\n"))
		advice = xasprintf("; write [\"%s\"]", node->text);
	return bad_type(p, at, node, name, SIZE_MAX, "a list", advice ? advice : "");
}

static int parse_texts(struct parser *p, const struct frame *at, const struct stack_key *key,
		       const struct node *node, struct stack_texts *out)
{
	cleanup_map struct map seen = { 0 };

	if (expect_list(p, at, node, key->name) < 0)
		return -1;
	if (key->required && !node->count)
		return bad(p, at, node, "'%s' must not be empty", key->name);
	out->items = arena_array(p->arena, node->count, sizeof(*out->items));
	for (size_t i = 0; i < node->count; i++) {
		const struct node *item = &node->items[i], *first;

		if (parse_text(p, at, key, item, key->name, i, &out->items[i]) < 0)
			return -1;
		first = key->distinct ? map_get(&seen, item->text) : NULL;
		if (first)
			return bad(p, at, item, "'%s' names '%.60s' twice (first in line %zu)",
				   key->name, item->text, first->line);
		if (key->distinct)
			map_put(&seen, item->text, (void *)item);
	}
	out->count = node->count;
	return 0;
}

static int expect_map(struct parser *p, const struct frame *at, const struct node *node,
		      const char *name, size_t index)
{
	if (node->type == NODE_MAP || node->type == NODE_NULL)
		return 0;
	return bad_type(p, at, node, name, index, "a map", "");
}

static int check_map_key(struct parser *p, const struct frame *at, const struct stack_key *key,
			 const struct node *name)
{
	cleanup_strbuf struct strbuf quoted = { 0 };
	const char *wrong = key->check_key ? key->check_key(name->text, p->arena) : NULL;

	strbuf_add_quoted(&quoted, slice_str(name->text), QUOTE_LIMIT);
	if (!*name->text)
		return bad(p, at, name, "a key in '%s' is empty", key->name);
	if (wrong)
		return bad(p, at, name, "'%s': %s %s", key->name, strbuf_text(&quoted), wrong);
	return 0;
}

static int parse_pairs(struct parser *p, const struct frame *at, const struct stack_key *key,
		       const struct node *node, struct stack_pairs *out)
{
	struct frame inner = { .up = at, .name = key->name };

	if (expect_map(p, at, node, key->name, SIZE_MAX) < 0)
		return -1;
	out->items = arena_array(p->arena, node->count, sizeof(*out->items));
	for (size_t i = 0; i < node->count; i++) {
		const struct node_pair *pair = &node->pairs[i];

		if (check_map_key(p, at, key, &pair->key) < 0 ||
		    parse_text(p, &inner, key, &pair->value, pair->key.text, SIZE_MAX,
			       &out->items[i].value) < 0)
			return -1;
		out->items[i].key = pair->key.text;
	}
	out->count = node->count;
	return 0;
}

static int parse_key(struct parser *p, const struct frame *at, const struct stack_key *key,
		     const struct node *node, uint8_t *target);

static int unknown_key(struct parser *p, const struct frame *at,
		       const struct stack_section *section, const struct node *key)
{
	cleanup_free const char **names = xcalloc(section->key_count, sizeof(*names));
	cleanup_strbuf struct strbuf path = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	const char *near, *other;

	add_path(at, &path);
	for (size_t i = 0; i < section->key_count; i++)
		names[i] = section->keys[i].name;
	near = stack_nearest(key->text, names, section->key_count);
	other = p->other ? NULL : stack_key_elsewhere(key->text);
	strbuf_adds(&text, "unknown key ");
	strbuf_add_quoted(&text, slice_str(key->text), QUOTE_LIMIT);
	if (path.len)
		strbuf_addf(&text, " in %s", strbuf_text(&path));
	if (near) {
		strbuf_addf(&text, "; did you mean '%s'?", near);
	} else if (other) {
		strbuf_addf(&text, "; it belongs in %s", other);
	} else {
		strbuf_adds(&text, "; known here: ");
		for (size_t i = 0; i < section->key_count; i++)
			strbuf_addf(&text, "%s%s", i ? ", " : "", names[i]);
	}
	return stack_error(p->stack, stack_place_of(key), p->err, "%s", strbuf_text(&text));
}

/* `node` is a map or nothing. */
static int parse_section(struct parser *p, const struct frame *at,
			 const struct stack_section *section, const struct node *node,
			 uint8_t *target)
{
	if (section->place_offset != STACK_NO_OFFSET) {
		struct stack_place place = stack_place_of(node);

		memcpy(target + section->place_offset, &place, sizeof(place));
	}
	for (size_t i = 0; i < node->count; i++) {
		const struct node_pair *pair = &node->pairs[i];
		const struct stack_key *key = stack_key_find(section, pair->key.text);

		if (!key)
			return unknown_key(p, at, section, &pair->key);
		if (parse_key(p, at, key, &pair->value, target) < 0)
			return -1;
	}
	for (size_t i = 0; i < section->key_count; i++) {
		if (section->keys[i].required && !node_get(node, section->keys[i].name))
			return bad(p, at, node, "'%s' is missing", section->keys[i].name);
	}
	return 0;
}

/* A list of sections into an array of their structs, which the arena owns. */
static int parse_items(struct parser *p, const struct frame *at,
		       const struct stack_section *section, const char *name,
		       const struct node *node, void **out, size_t *out_count)
{
	struct frame list = { .up = at, .name = name };
	uint8_t *items;

	if (expect_list(p, at, node, name) < 0)
		return -1;
	items = arena_array(p->arena, node->count, section->size);
	for (size_t i = 0; i < node->count; i++) {
		struct frame item = { .up = &list, .index = i };
		const struct node *value = &node->items[i];
		uint8_t *target = items + i * section->size;
		bool plain = section->plain_offset != STACK_NO_OFFSET && value->type == NODE_SCALAR;

		if (plain && !*value->text)
			return bad(p, at, value, "item %zu of '%s' must not be empty", i + 1, name);
		if (plain) {
			struct stack_place place = stack_place_of(value);

			memcpy(target + section->plain_offset, &value->text, sizeof(value->text));
			memcpy(target + section->place_offset, &place, sizeof(place));
			continue;
		}
		if (value->type != NODE_MAP)
			return bad_type(p, at, value, name, i,
					section->plain_offset != STACK_NO_OFFSET ? "text or a map"
										 : "a map",
					"");
		if (parse_section(p, &item, section, value, target) < 0)
			return -1;
	}
	*out = items;
	*out_count = node->count;
	return 0;
}

/* A map of sections, in the order written. */
static int parse_map(struct parser *p, const struct frame *at, const struct stack_key *key,
		     const struct node *node, void **out, size_t *out_count)
{
	struct frame map = { .up = at, .name = key->name };
	const struct stack_section *section = key->section;
	uint8_t *items;

	if (expect_map(p, at, node, key->name, SIZE_MAX) < 0)
		return -1;
	if (key->required && !node->count)
		return bad(p, at, node, "'%s' must not be empty", key->name);
	items = arena_array(p->arena, node->count, section->size);
	for (size_t i = 0; i < node->count; i++) {
		const struct node_pair *pair = &node->pairs[i];
		struct frame item = { .up = &map, .name = pair->key.text };
		struct stack_place place = stack_place_of(&pair->key);
		uint8_t *target = items + i * section->size;

		if (check_map_key(p, at, key, &pair->key) < 0 ||
		    expect_map(p, &map, &pair->value, pair->key.text, SIZE_MAX) < 0)
			return -1;
		memcpy(target + section->name_offset, &pair->key.text, sizeof(pair->key.text));
		if (parse_section(p, &item, section, &pair->value, target) < 0)
			return -1;
		memcpy(target + section->place_offset, &place, sizeof(place));
	}
	*out = items;
	*out_count = node->count;
	return 0;
}

static int parse_packages(struct parser *p, const struct frame *at, const struct stack_key *key,
			  const struct node *node, void **out, size_t *out_count)
{
	struct frame map = { .up = at, .name = key->name };
	struct stack_packages *items;

	if (expect_map(p, at, node, key->name, SIZE_MAX) < 0)
		return -1;
	items = arena_array(p->arena, node->count, sizeof(*items));
	for (size_t i = 0; i < node->count; i++) {
		const struct node_pair *pair = &node->pairs[i];
		void *packages;

		if (check_map_key(p, at, key, &pair->key) < 0 ||
		    parse_items(p, &map, key->section, pair->key.text, &pair->value, &packages,
				&items[i].count) < 0)
			return -1;
		items[i].items = packages;
		items[i].source = pair->key.text;
		items[i].place = stack_place_of(&pair->key);
	}
	*out = items;
	*out_count = node->count;
	return 0;
}

static int parse_group(struct parser *p, const struct frame *at, const struct stack_key *key,
		       const struct node *node, uint8_t *target)
{
	struct frame inner = { .up = at, .name = key->name };
	void *items = NULL;
	size_t count = 0;
	int rc;

	if (key->type == KEY_SECTION) {
		if (expect_map(p, at, node, key->name, SIZE_MAX) < 0)
			return -1;
		return parse_section(p, &inner, key->section, node, target + key->offset);
	}
	if (key->type == KEY_LIST)
		rc = parse_items(p, at, key->section, key->name, node, &items, &count);
	else if (key->type == KEY_MAP)
		rc = parse_map(p, at, key, node, &items, &count);
	else
		rc = parse_packages(p, at, key, node, &items, &count);
	if (rc < 0)
		return -1;
	memcpy(target + key->offset, &items, sizeof(items));
	memcpy(target + key->count_offset, &count, sizeof(count));
	return 0;
}

static int parse_key(struct parser *p, const struct frame *at, const struct stack_key *key,
		     const struct node *node, uint8_t *target)
{
	bool stored = key->offset != STACK_NO_OFFSET;
	uint8_t *field = stored ? target + key->offset : NULL;
	const char *text = NULL;
	uint64_t number = 0;
	unsigned choice = 0;

	switch (key->type) {
	case KEY_TEXT:
		if (parse_text(p, at, key, node, key->name, SIZE_MAX, &text) < 0)
			return -1;
		if (stored)
			memcpy(field, &text, sizeof(text));
		return 0;
	case KEY_CHOICE:
	case KEY_ENUM:
	case KEY_FLAG:
		if (parse_choice(p, at, key, node, &choice) < 0)
			return -1;
		if (key->type == KEY_CHOICE)
			memcpy(field, &key->choices[choice], sizeof(text));
		else if (key->type == KEY_ENUM)
			memcpy(field, &choice, sizeof(choice));
		else
			*(bool *)field = true;
		return 0;
	case KEY_UINT:
	case KEY_SIZE:
		if ((key->type == KEY_UINT ? parse_uint : parse_size)(p, at, key, node, &number) <
		    0)
			return -1;
		memcpy(field, &number, sizeof(number));
		return 0;
	case KEY_TEXTS:
		return parse_texts(p, at, key, node, (struct stack_texts *)(void *)field);
	case KEY_PAIRS:
		return parse_pairs(p, at, key, node, (struct stack_pairs *)(void *)field);
	case KEY_SECTION:
	case KEY_LIST:
	case KEY_MAP:
	case KEY_PACKAGES:
		break;
	}
	return parse_group(p, at, key, node, target);
}

/* What the manifest may leave out; before it is read. */
static void set_defaults(struct stack *stack)
{
	stack->tag = "latest";
	stack->layers = (struct stack_layers){
		.compression = COMPRESSION_GZIP,
		.level = LEVEL_DEFAULT,
		.split = SPLIT_COMPONENT,
		.max_size = GIB,
	};
	stack->lint_fail_on = "error";
}

/* What is left out and follows from what is there, or from where it is. */
static void derive_defaults(struct stack *stack, const struct node *top)
{
	struct stack_image *image = &stack->image;
	const struct node *image_node = node_get(top, "image");
	const struct node *user = image_node ? node_get(image_node, "user") : NULL;
	const struct node *stages = node_get(top, "stages");

	if (!stack->platforms.count) {
		stack->platforms.items = arena_array(&stack->arena, 1, sizeof(char *));
		stack->platforms.items[0] = "linux/amd64";
		stack->platforms.count = 1;
	}
	for (size_t i = 0; stages && i < stages->count; i++) {
		if (!node_get(&stages->pairs[i].value, "profile"))
			stack->stages[i].profile = PROFILE_RUNTIME;
	}
	if (!image->user_name)
		return;
	if (!image->home)
		image->home = str_equal(image->user_name, "root")
				      ? "/root"
				      : arena_printf(&stack->arena, "/home/%s", image->user_name);
	if (user && !node_get(user, "gid"))
		image->gid = image->uid;
}

int stack_parse_tree(const struct node *top, struct stack *stack, struct error *err)
{
	struct parser p = { .stack = stack, .arena = &stack->arena, .err = err };

	set_defaults(stack);
	if (parse_section(&p, NULL, &stack_top, top, (uint8_t *)stack) < 0)
		return -1;
	derive_defaults(stack, top);
	return stack_check_whole(stack, err);
}

int stack_parse_matrix(const struct node *matrix, struct stack *head, struct error *err)
{
	struct parser p = { .stack = head, .arena = &head->arena, .err = err };

	return parse_key(&p, NULL, stack_key_find(&stack_top, "matrix"), matrix, (uint8_t *)head);
}

int stack_parse_section(const struct node *top, const struct stack_section *section,
			const char *file, struct arena *arena, void *target, struct error *err)
{
	struct stack place = { .file = file };
	struct parser p = { .stack = &place, .other = true, .arena = arena, .err = err };

	if (top->type != NODE_MAP)
		return bad(&p, NULL, top, "it must be a map, not %s", node_type_name(top));
	return parse_section(&p, NULL, section, top, target);
}

void stack_release(struct stack *stack)
{
	if (!stack)
		return;
	arena_release(&stack->arena);
	*stack = (struct stack){ 0 };
}

const struct stack_source *stack_source(const struct stack *stack, const char *id)
{
	for (size_t i = 0; i < stack->source_count; i++) {
		if (str_equal(stack->sources[i].id, id))
			return &stack->sources[i];
	}
	return NULL;
}

const struct stack_stage *stack_stage(const struct stack *stack, const char *name)
{
	for (size_t i = 0; i < stack->stage_count; i++) {
		if (str_equal(stack->stages[i].name, name))
			return &stack->stages[i];
	}
	return NULL;
}

int stack_error(const struct stack *stack, struct stack_place place, struct error *err,
		const char *fmt, ...)
{
	const char *file = place.file ? place.file : stack->file;
	cleanup_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	if (!place.line)
		return error_set(err, ERROR_USAGE, "%s: %s", file, what);
	return error_set(err, ERROR_USAGE, "%s:%zu:%zu: %s", file, place.line, place.column, what);
}

const char *stack_source_type_name(enum stack_source_type type)
{
	const struct stack_key *sources = stack_key_find(&stack_top, "sources");

	return stack_key_find(sources->section, "type")->choices[type];
}

const char *stack_profile_name(enum stack_profile profile)
{
	const struct stack_key *stages = stack_key_find(&stack_top, "stages");

	return stack_key_find(stages->section, "profile")->choices[profile];
}
