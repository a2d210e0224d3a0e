#include "manifests/stack_load.h"

#include "base/alloc.h"
#include "base/map.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "manifests/stack_check.h"
#include "manifests/stack_keys.h"

enum { QUOTE_LIMIT = 60 };

/* The files from the one that was named to the one at hand. */
struct chain {
	const struct chain *up;
	const char *file;
	size_t depth;
};

struct loader {
	const struct stack_options *options;
	struct arena *arena;
	struct error *err;
};

/* ---- merging ---- */

static struct node merge_maps(const struct node *base, const struct node *over, struct arena *arena)
{
	cleanup_map struct map above = { 0 }, below = { 0 };
	struct node merged = *over;
	struct node_pair *pairs = arena_array(arena, base->count + over->count, sizeof(*pairs));
	size_t n = 0;

	for (size_t i = 0; i < over->count; i++)
		map_put(&above, over->pairs[i].key.text, (void *)(uintptr_t)&over->pairs[i]);
	for (size_t i = 0; i < base->count; i++) {
		const struct node_pair *pair = &base->pairs[i];
		const struct node_pair *by = map_get(&above, pair->key.text);

		map_put(&below, pair->key.text, (void *)(uintptr_t)pair);
		if (by && by->value.type == NODE_NULL)
			continue;
		pairs[n].key = by && by->key.line ? by->key : pair->key;
		pairs[n++].value = by ? stack_merge(&pair->value, &by->value, arena) : pair->value;
	}
	for (size_t i = 0; i < over->count; i++) {
		if (!map_has(&below, over->pairs[i].key.text))
			pairs[n++] = over->pairs[i];
	}
	if (!over->line) { /* not in a text: the map is still where it was */
		merged.file = base->file;
		merged.line = base->line;
		merged.column = base->column;
	}
	merged.pairs = pairs;
	merged.count = n;
	return merged;
}

struct node stack_merge(const struct node *base, const struct node *over, struct arena *arena)
{
	if (base->type == NODE_MAP && over->type == NODE_MAP)
		return merge_maps(base, over, arena);
	return *over;
}

struct node stack_without(const struct node *map, const char *key, struct arena *arena)
{
	struct node left = *map;
	struct node_pair *pairs;
	size_t n = 0;

	if (!node_get(map, key))
		return left;
	pairs = arena_array(arena, map->count, sizeof(*pairs));
	for (size_t i = 0; i < map->count; i++) {
		if (!str_equal(map->pairs[i].key.text, key))
			pairs[n++] = map->pairs[i];
	}
	left.pairs = pairs;
	left.count = n;
	return left;
}

/* ---- --set ---- */

/* One "PATH=VALUE" while its tree is made. */
struct set {
	const char *label; /* "--set 'stack.cuda=12.6'": stands for the file in error texts */
	const char *path, *value;
	struct arena *arena;
	struct error *err;
};

static struct node set_scalar(const struct set *set, const char *text)
{
	return (struct node){ .type = NODE_SCALAR, .text = text, .file = set->label };
}

static struct node set_map(const struct set *set, const char *key, const struct node *value)
{
	struct node_pair *pair = arena_array(set->arena, 1, sizeof(*pair));

	pair->key = set_scalar(set, key);
	pair->value = *value;
	return (struct node){
		.type = NODE_MAP, .text = "", .file = set->label, .pairs = pair, .count = 1
	};
}

static struct node set_list(const struct set *set)
{
	struct slice rest = slice_str(set->value), item;
	struct node *items;
	size_t n = 1;

	for (const char *c = set->value; *c; c++)
		n += *c == ',';
	items = arena_array(set->arena, n, sizeof(*items));
	n = 0;
	while (*set->value && slice_cut(&rest, ',', &item))
		items[n++] = set_scalar(set, arena_slice(set->arena, slice_trim(item)));
	return (struct node){
		.type = NODE_LIST, .text = "", .file = set->label, .items = items, .count = n
	};
}

static int set_yaml(const struct set *set, struct node *out)
{
	if (yaml_parse(slice_str(set->value), set->label, set->arena, out, set->err) == 0)
		return 0;
	if (set->err->code == ERROR_FORMAT)
		set->err->code = ERROR_USAGE;
	return -1;
}

/* The value of a key that the path ends at. */
static int set_value(const struct set *set, enum stack_key_type type, struct node *out)
{
	switch (type) {
	case KEY_TEXT:
	case KEY_CHOICE:
	case KEY_ENUM:
	case KEY_FLAG:
	case KEY_UINT:
	case KEY_SIZE:
		*out = set_scalar(set, set->value);
		return 0;
	case KEY_TEXTS:
		if (set->value[0] == '[')
			break;
		*out = set_list(set);
		return 0;
	case KEY_PAIRS:
	case KEY_SECTION:
	case KEY_LIST:
	case KEY_MAP:
	case KEY_PACKAGES:
		break;
	}
	return set_yaml(set, out);
}

static int set_section(const struct set *set, const struct stack_section *section, const char *path,
		       struct node *out);

/* What lies below a key that holds more than a value; `rest` is the path from there. */
static int set_below(const struct set *set, const struct stack_key *key, const char *rest,
		     struct node *out)
{
	struct node inner;
	const char *dot = strchr(rest, '.'), *name = rest;

	switch (key->type) {
	case KEY_SECTION:
		return set_section(set, key->section, rest, out);
	case KEY_PAIRS:
		inner = set_scalar(set, set->value);
		break;
	case KEY_PACKAGES:
		if (set_value(set, KEY_TEXTS, &inner) < 0)
			return -1;
		break;
	case KEY_MAP:
		if (!dot) {
			if (set_yaml(set, &inner) < 0)
				return -1;
			break;
		}
		name = arena_slice(set->arena, slice_of(rest, (size_t)(dot - rest)));
		if (set_section(set, key->section, dot + 1, &inner) < 0)
			return -1;
		break;
	default:
		return error_set(set->err, ERROR_USAGE, "%s: nothing lies below '%.*s': it is %s",
				 set->label, (int)(rest - set->path - 1), set->path,
				 key->type == KEY_LIST || key->type == KEY_TEXTS
					 ? "a list, which is set as a whole"
					 : "one value");
	}
	*out = set_map(set, name, &inner);
	return 0;
}

static int set_section(const struct set *set, const struct stack_section *section, const char *path,
		       struct node *out)
{
	const char *dot = strchr(path, '.');
	const char *name =
		dot ? arena_slice(set->arena, slice_of(path, (size_t)(dot - path))) : path;
	const struct stack_key *key = stack_key_find(section, name);
	struct node inner = set_scalar(set, set->value);

	if (key && dot && set_below(set, key, dot + 1, &inner) < 0)
		return -1;
	if (key && !dot && set_value(set, key->type, &inner) < 0)
		return -1;
	*out = set_map(set, name, &inner);
	return 0;
}

/*
 * The tree of one "PATH=VALUE". Values are read by the type of their key: texts as they stand,
 * lists as "a,b" or "[a, b]", maps and lists of maps as YAML. An unknown key is left for the
 * reader of the merged tree to refuse.
 */
static int load_set(const char *text, struct arena *arena, struct node *out, struct error *err)
{
	cleanup_strbuf struct strbuf label = { 0 };
	cleanup_json json_t *judged = json_string(text); /* NULL: not UTF-8 */
	const char *equal = strchr(text, '=');
	struct set set = { .arena = arena, .err = err };

	strbuf_adds(&label, "--set ");
	strbuf_add_quoted(&label, slice_str(text), QUOTE_LIMIT);
	set.label = arena_strdup(arena, strbuf_text(&label));
	if (!judged)
		return error_set(err, ERROR_USAGE, "%s: is not UTF-8", set.label);
	if (!equal || equal == text)
		return error_set(err, ERROR_USAGE, "%s: write PATH=VALUE, such as stack.cuda=12.6",
				 set.label);
	set.path = arena_slice(arena, slice_of(text, (size_t)(equal - text)));
	set.value = arena_strdup(arena, equal + 1);
	if (str_equal(set.path, "extends"))
		return error_set(err, ERROR_USAGE, "%s: 'extends' stands in a file", set.label);
	return set_section(&set, &stack_top, set.path, out);
}

/* ---- extends ---- */

static int bad(const struct loader *l, const struct node *at, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
static int bad(const struct loader *l, const struct node *at, const char *fmt, ...)
{
	cleanup_free char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	what = xvasprintf(fmt, ap);
	va_end(ap);
	return error_set(l->err, ERROR_USAGE, "%s:%zu:%zu: extends: %s", at->file, at->line,
			 at->column, what);
}

/* The path of `name` as it is written in `file`, without "." and what ".." takes back. */
static const char *beside(const char *file, const char *name, struct arena *arena)
{
	const char *slash = *name == '/' ? NULL : strrchr(file, '/');
	cleanup_free char *joined =
		slash ? xasprintf("%.*s%s", (int)(slash + 1 - file), file, name) : xstrdup(name);
	struct slice rest = slice_str(joined), part;
	cleanup_strbuf struct strbuf out = { 0 };

	if (joined[0] == '/')
		strbuf_addc(&out, '/');
	while (slice_cut(&rest, '/', &part)) {
		const char *text = strbuf_text(&out), *last = strrchr(text, '/');
		const char *name_of_last = last ? last + 1 : text;

		if (!part.len || slice_is(part, "."))
			continue;
		if (slice_is(part, "..") && *name_of_last && !str_equal(name_of_last, "..")) {
			strbuf_truncate(&out, !last ? 0 : last == text ? 1 : (size_t)(last - text));
			continue;
		}
		if (out.len && out.data[out.len - 1] != '/')
			strbuf_addc(&out, '/');
		strbuf_add(&out, part.data, part.len);
	}
	return arena_strdup(arena, strbuf_text(&out));
}

/* "a.yaml extends b.yaml extends a.yaml" */
static void add_chain(const struct chain *at, struct strbuf *out)
{
	if (at->up)
		add_chain(at->up, out);
	strbuf_addf(out, "%s%.80s", at->up ? " extends " : "", at->file);
}

static int load_text(const struct loader *l, struct slice text, const struct chain *at,
		     struct node *out);

static int load_extended(const struct loader *l, const struct node *name, const struct chain *up,
			 struct node *out)
{
	cleanup_strbuf struct strbuf text = { 0 }, quoted = { 0 }, all = { 0 };
	struct chain at = { .up = up, .depth = up->depth + 1 };
	struct error why = { 0 };
	const char *wrong;

	if (name->type != NODE_SCALAR)
		return bad(l, name, "must be the name of a file, not %s", node_type_name(name));
	wrong = stack_check_file(name->text, l->arena);
	strbuf_add_quoted(&quoted, slice_str(name->text), QUOTE_LIMIT);
	if (wrong)
		return bad(l, name, "%s %s", strbuf_text(&quoted), wrong);
	at.file = beside(up->file, name->text, l->arena);
	add_chain(&at, &all);
	for (const struct chain *c = up; c; c = c->up) {
		if (str_equal(beside("", c->file, l->arena), at.file))
			return bad(l, name, "goes in a circle: %s", strbuf_text(&all));
	}
	if (at.depth > STACK_EXTENDS_LIMIT)
		return bad(l, name, "more than %d files below the first: %s", STACK_EXTENDS_LIMIT,
			   strbuf_text(&all));
	if (!l->options->load)
		return bad(l, name, "%s cannot be read from here", strbuf_text(&quoted));
	if (l->options->load(l->options->load_user, at.file, &text, &why) < 0)
		return bad(l, name, "%s", why.text);
	return load_text(l, strbuf_slice(&text), &at, out);
}

static int load_text(const struct loader *l, struct slice text, const struct chain *at,
		     struct node *out)
{
	bool is_json = str_ends(at->file, ".json");
	const struct node *extends;
	struct node own, below;

	if ((is_json ? yaml_parse_json : yaml_parse)(text, at->file, l->arena, &own, l->err) < 0) {
		/* too deep or too large is the writer's to mend, too */
		if (l->err->code == ERROR_FORMAT || l->err->code == ERROR_LIMIT)
			l->err->code = ERROR_USAGE;
		return -1;
	}
	if (own.type != NODE_MAP && own.type != NODE_NULL)
		return error_set(l->err, ERROR_USAGE,
				 "%s:%zu:%zu: the manifest must be a map, not %s", own.file,
				 own.line, own.column, node_type_name(&own));
	extends = node_get(&own, "extends");
	if (!extends) {
		*out = own;
		return 0;
	}
	own = stack_without(&own, "extends", l->arena);
	if (load_extended(l, extends, at, &below) < 0)
		return -1;
	*out = stack_merge(&below, &own, l->arena);
	return 0;
}

int stack_load(struct slice text, const char *file, const struct stack_options *options,
	       struct arena *arena, struct node *out, struct error *err)
{
	struct loader l = { .options = options, .arena = arena, .err = err };
	struct chain first = { .file = file };

	if (load_text(&l, text, &first, out) < 0)
		return -1;
	for (size_t i = 0; i < options->set_count; i++) {
		struct node set;

		if (load_set(options->sets[i], arena, &set, err) < 0)
			return -1;
		*out = stack_merge(out, &set, arena);
	}
	return 0;
}
