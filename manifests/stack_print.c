#include "manifests/stack_print.h"

#include "base/fs.h"
#include "base/vec.h"
#include "manifests/stack_keys.h"

enum { INDENT = 2, LONG_KEY = 100 };

/* ---- values ---- */

/* The code point at *at, which moves behind it; text that was parsed is valid UTF-8. */
static uint32_t next_rune(const unsigned char **at)
{
	const unsigned char *c = *at;
	size_t more = *c < 0xc0 ? 0 : *c < 0xe0 ? 1 : *c < 0xf0 ? 2 : 3;
	uint32_t rune = more ? *c & (0x3fu >> more) : *c;

	for (size_t i = 1; i <= more && c[i]; i++)
		rune = rune << 6 | (c[i] & 0x3f);
	*at = c + 1;
	while ((**at & 0xc0) == 0x80)
		(*at)++;
	return rune;
}

/* Characters that YAML does not take as they are, or folds. */
static bool needs_escape(uint32_t rune)
{
	return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) || rune == 0x2028 || rune == 0x2029 ||
	       rune == 0xfeff || rune == 0xfffe || rune == 0xffff;
}

static void add_quoted(const char *text, struct strbuf *out)
{
	const unsigned char *at = (const unsigned char *)text;

	strbuf_addc(out, '"');
	while (*at) {
		const unsigned char *start = at;
		uint32_t rune = next_rune(&at);

		if (rune == '"' || rune == '\\')
			strbuf_addf(out, "\\%c", (char)rune);
		else if (rune == '\n')
			strbuf_adds(out, "\\n");
		else if (needs_escape(rune))
			strbuf_addf(out, "\\u%04x", rune);
		else
			strbuf_add(out, start, (size_t)(at - start));
	}
	strbuf_addc(out, '"');
}

static void add_indent(size_t depth, struct strbuf *out)
{
	strbuf_addf(out, "%*s", (int)(depth * INDENT), "");
}

/* The start of a line, a key that a user chose, and ":"; very long ones need another form. */
static void add_key(const char *key, size_t depth, struct strbuf *out)
{
	bool is_long = strlen(key) > LONG_KEY;

	add_indent(depth, out);
	if (is_long)
		strbuf_adds(out, "? ");
	add_quoted(key, out);
	if (is_long) {
		strbuf_addc(out, '\n');
		add_indent(depth, out);
	}
	strbuf_addc(out, ':');
}

static void add_size(uint64_t bytes, struct strbuf *out)
{
	if (bytes % GIB == 0)
		strbuf_addf(out, "%" PRIu64 "GiB", bytes / GIB);
	else if (bytes % MIB == 0)
		strbuf_addf(out, "%" PRIu64 "MiB", bytes / MIB);
	else
		strbuf_addf(out, "%" PRIu64, bytes);
}

static void add_texts(const struct stack_texts *texts, struct strbuf *out)
{
	strbuf_addc(out, '[');
	for (size_t i = 0; i < texts->count; i++) {
		if (i)
			strbuf_adds(out, ", ");
		add_quoted(texts->items[i], out);
	}
	strbuf_addc(out, ']');
}

static const char *text_at(const uint8_t *field)
{
	const char *text;

	memcpy(&text, field, sizeof(text));
	return text;
}

/* Pointer and count of a list, a map or packages. */
static const uint8_t *items_at(const struct stack_key *key, const uint8_t *base, size_t *out_count)
{
	const uint8_t *items;

	memcpy(&items, base + key->offset, sizeof(items));
	memcpy(out_count, base + key->count_offset, sizeof(*out_count));
	return items;
}

/* Whether the section says anything: what it requires is there. */
static bool is_section_there(const struct stack_section *section, const uint8_t *base)
{
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];

		if (key->required && key->type == KEY_TEXT && key->offset != STACK_NO_OFFSET &&
		    !text_at(base + key->offset))
			return false;
	}
	return true;
}

static bool is_there(const struct stack_key *key, const uint8_t *base)
{
	const uint8_t *field = base + key->offset;
	size_t count;

	if (key->offset == STACK_NO_OFFSET)
		return key->required; /* the version of the format; `extends` is used up */
	switch (key->type) {
	case KEY_TEXT:
	case KEY_CHOICE:
		return text_at(field);
	case KEY_FLAG:
		return *(const bool *)field;
	case KEY_ENUM:
	case KEY_UINT:
	case KEY_SIZE:
		return true;
	case KEY_TEXTS:
		return ((const struct stack_texts *)(const void *)field)->count;
	case KEY_PAIRS:
		return ((const struct stack_pairs *)(const void *)field)->count;
	case KEY_SECTION:
		return is_section_there(key->section, field);
	case KEY_LIST:
	case KEY_MAP:
	case KEY_PACKAGES:
		break;
	}
	items_at(key, base, &count);
	return count;
}

/* A value that fits behind its key. */
static void add_plain(const struct stack_key *key, const uint8_t *field, struct strbuf *out)
{
	unsigned choice;
	uint64_t number;

	switch (key->type) {
	case KEY_TEXT:
		add_quoted(text_at(field), out);
		return;
	case KEY_CHOICE:
		strbuf_adds(out, text_at(field));
		return;
	case KEY_ENUM:
		memcpy(&choice, field, sizeof(choice));
		strbuf_adds(out, key->choices[choice]);
		return;
	case KEY_FLAG:
		strbuf_adds(out, key->choices[0]);
		return;
	case KEY_UINT:
	case KEY_SIZE:
		memcpy(&number, field, sizeof(number));
		if (key->type == KEY_SIZE)
			add_size(number, out);
		else
			strbuf_addf(out, "%" PRIu64, number);
		return;
	case KEY_TEXTS:
		add_texts((const void *)field, out);
		return;
	case KEY_PAIRS:
	case KEY_SECTION:
	case KEY_LIST:
	case KEY_MAP:
	case KEY_PACKAGES:
		return;
	}
}

/* ---- the whole ---- */

static void print_section(const struct stack_section *section, const uint8_t *base, size_t depth,
			  struct strbuf *out);

/* An item of a list: a text that stands for the map, or the map behind a dash. */
static void print_item(const struct stack_section *section, const uint8_t *item, size_t depth,
		       struct strbuf *out)
{
	const char *plain = section->plain_offset == STACK_NO_OFFSET
				    ? NULL
				    : text_at(item + section->plain_offset);
	size_t start = out->len;

	if (plain) {
		add_indent(depth, out);
		strbuf_adds(out, "- ");
		add_quoted(plain, out);
		strbuf_addc(out, '\n');
		return;
	}
	print_section(section, item, depth + 1, out);
	if (out->len > start)
		out->data[start + depth * INDENT] = '-';
}

static void print_packages(const struct stack_key *key, const uint8_t *base, size_t depth,
			   struct strbuf *out)
{
	size_t count;
	const struct stack_packages *packages = (const void *)items_at(key, base, &count);

	for (size_t i = 0; i < count; i++) {
		add_key(packages[i].source, depth, out);
		strbuf_adds(out, packages[i].count ? "\n" : " []\n");
		for (size_t k = 0; k < packages[i].count; k++)
			print_item(key->section, (const uint8_t *)&packages[i].items[k], depth + 1,
				   out);
	}
}

/* What stands below a key, in lines of its own. */
static void print_group(const struct stack_key *key, const uint8_t *base, size_t depth,
			struct strbuf *out)
{
	const struct stack_pairs *pairs = (const void *)(base + key->offset);
	const uint8_t *items;
	size_t count;

	switch (key->type) {
	case KEY_SECTION:
		print_section(key->section, base + key->offset, depth, out);
		return;
	case KEY_PAIRS:
		for (size_t i = 0; i < pairs->count; i++) {
			add_key(pairs->items[i].key, depth, out);
			strbuf_addc(out, ' ');
			add_quoted(pairs->items[i].value, out);
			strbuf_addc(out, '\n');
		}
		return;
	case KEY_PACKAGES:
		print_packages(key, base, depth, out);
		return;
	case KEY_LIST:
	case KEY_MAP:
		break;
	default:
		return;
	}
	items = items_at(key, base, &count);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *item = items + i * key->section->size;

		if (key->type == KEY_LIST) {
			print_item(key->section, item, depth, out);
			continue;
		}
		add_key(text_at(item + key->section->name_offset), depth, out);
		strbuf_addc(out, '\n');
		print_section(key->section, item, depth + 1, out);
	}
}

static bool is_group(enum stack_key_type type)
{
	return type == KEY_PAIRS || type == KEY_SECTION || type == KEY_LIST || type == KEY_MAP ||
	       type == KEY_PACKAGES;
}

static void print_key(const struct stack_key *key, const uint8_t *base, size_t depth,
		      struct strbuf *out)
{
	size_t start = out->len, inner;

	if (!is_there(key, base))
		return;
	add_indent(depth, out);
	strbuf_addf(out, "%s:", key->name);
	if (!is_group(key->type)) {
		strbuf_addc(out, ' ');
		if (key->offset == STACK_NO_OFFSET)
			strbuf_adds(out, "1");
		else
			add_plain(key, base + key->offset, out);
		strbuf_addc(out, '\n');
		return;
	}
	strbuf_addc(out, '\n');
	inner = out->len;
	print_group(key, base, depth + 1, out);
	if (out->len == inner)
		strbuf_truncate(out, start);
}

static void print_section(const struct stack_section *section, const uint8_t *base, size_t depth,
			  struct strbuf *out)
{
	for (size_t i = 0; i < section->key_count; i++)
		print_key(&section->keys[i], base, depth, out);
}

void stack_print(const struct stack *stack, struct strbuf *out)
{
	print_section(&stack_top, (const uint8_t *)stack, 0, out);
}

/* ---- digests of the keys ---- */

struct prints {
	struct stack *stack;
	struct {
		struct stack_fingerprint *items;
		size_t len, cap;
	} found;
};

static void found(struct prints *p, const char *path, const struct strbuf *text)
{
	struct stack_fingerprint f = { .path = arena_strdup(&p->stack->arena, path),
				       .digest = digest_of(strbuf_slice(text)) };

	vec_push(&p->found, f);
}

static void keys_of_section(struct prints *p, const struct stack_section *section,
			    const uint8_t *base, const char *path);

/* Each item of a list, or of a map and beside them the order of its keys. */
static void keys_of_items(struct prints *p, const struct stack_key *key, const uint8_t *base,
			  const char *path)
{
	cleanup_strbuf struct strbuf order = { 0 };
	size_t count;
	const uint8_t *items = items_at(key, base, &count);

	for (size_t i = 0; i < count; i++) {
		const uint8_t *item = items + i * key->section->size;
		cleanup_strbuf struct strbuf text = { 0 };
		cleanup_free char *at = NULL;

		if (key->type == KEY_LIST) {
			at = xasprintf("%s[%zu]", path, i);
			print_item(key->section, item, 0, &text);
			found(p, at, &text);
			continue;
		}
		at = xasprintf("%s.%s", path, text_at(item + key->section->name_offset));
		add_quoted(text_at(item + key->section->name_offset), &order);
		keys_of_section(p, key->section, item, at);
	}
	if (key->type == KEY_MAP)
		found(p, path, &order);
}

static void keys_of_packages(struct prints *p, const struct stack_key *key, const uint8_t *base,
			     const char *path)
{
	size_t count;
	const struct stack_packages *packages = (const void *)items_at(key, base, &count);

	for (size_t i = 0; i < count; i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		cleanup_free char *at = xasprintf("%s.%s", path, packages[i].source);

		for (size_t k = 0; k < packages[i].count; k++)
			print_item(key->section, (const uint8_t *)&packages[i].items[k], 0, &text);
		found(p, at, &text);
	}
}

static void keys_of_section(struct prints *p, const struct stack_section *section,
			    const uint8_t *base, const char *path)
{
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];
		cleanup_free char *at = xasprintf("%s%s%s", path, *path ? "." : "", key->name);
		cleanup_strbuf struct strbuf text = { 0 };

		if (key->offset == STACK_NO_OFFSET || !is_there(key, base))
			continue;
		if (key->type == KEY_SECTION) {
			keys_of_section(p, key->section, base + key->offset, at);
		} else if (key->type == KEY_LIST || key->type == KEY_MAP) {
			keys_of_items(p, key, base, at);
		} else if (key->type == KEY_PACKAGES) {
			keys_of_packages(p, key, base, at);
		} else {
			print_key(key, base, 0, &text);
			found(p, at, &text);
		}
	}
}

static void keys_of_files(struct prints *p, const struct stack_options *options)
{
	const struct stack *stack = p->stack;

	for (size_t i = 0; i < stack->stage_count; i++) {
		const struct stack_stage *stage = &stack->stages[i];

		for (size_t k = 0; k < stage->package_count; k++) {
			for (size_t n = 0; n < stage->packages[k].count; n++) {
				const char *name = stage->packages[k].items[n].requirements;
				cleanup_free char *path = NULL, *at = NULL;
				cleanup_strbuf struct strbuf text = { 0 };
				struct error ignored = { 0 };

				if (!name)
					continue;
				path = fs_join(stack->directory, name);
				at = xasprintf("./%s", name);
				if (options->load(options->load_user, path, &text, &ignored) < 0) {
					found(p, at, &text);
					p->found.items[p->found.len - 1].digest =
						(struct digest){ 0 };
				} else {
					found(p, at, &text);
				}
			}
		}
	}
}

static int by_path(const void *a, const void *b)
{
	const struct stack_fingerprint *x = a, *y = b;

	return strcmp(x->path, y->path);
}

/* The digest of a manifest from those of its keys, which are sorted by path. */
static struct digest fingerprint_digest(const struct stack_fingerprint *keys, size_t count)
{
	cleanup_strbuf struct strbuf all = { 0 };
	char text[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < count; i++)
		strbuf_addf(&all, "%s %s\n", keys[i].path, digest_text(&keys[i].digest, text));
	return digest_of(strbuf_slice(&all));
}

void stack_fingerprint(struct stack *stack, const struct stack_options *options)
{
	struct prints p = { .stack = stack };
	size_t kept = 0;

	keys_of_section(&p, &stack_top, (const uint8_t *)stack, "");
	if (options->load)
		keys_of_files(&p, options);
	vec_sort(&p.found, by_path);
	stack->keys = arena_array(&stack->arena, p.found.len, sizeof(*stack->keys));
	for (size_t i = 0; i < p.found.len; i++) {
		/* Several packages may name one file. */
		if (!kept || !str_equal(stack->keys[kept - 1].path, p.found.items[i].path))
			stack->keys[kept++] = p.found.items[i];
	}
	stack->key_count = kept;
	stack->digest = fingerprint_digest(stack->keys, kept);
	vec_release(&p.found);
}
