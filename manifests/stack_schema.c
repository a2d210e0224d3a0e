#include "manifests/stack_schema.h"

#include "base/alloc.h"
#include "formats/json.h"
#include "manifests/stack_check.h"

#define VERSION "[ ]*(>=|<=|==|!=|~=|>|<|=)?[ ]*[A-Za-z0-9][A-Za-z0-9.*+_~!-]*[ ]*"
#define NAME_PART "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*"
#define CDI_NAME "[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9])?"
/* Names with "{axis}" in them are templates of a matrix. */
#define TEMPLATE "^[^{}]*([{][a-z]+[}][^{}]*)+$"

/* What each check of a text says, as a pattern. */
static const struct {
	stack_check_fn *check;
	const char *pattern;
} patterns[] = {
	{ stack_check_version, "^1$" },
	{ stack_check_name, "^" NAME_PART "(/" NAME_PART ")*$|" TEMPLATE },
	{ stack_check_tag, "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$|" TEMPLATE },
	{ stack_check_platform, "^linux/(amd64|arm64)$" },
	{ stack_check_constraint, "^" VERSION "(," VERSION ")*$" },
	{ stack_check_axis, "^[A-Za-z0-9][A-Za-z0-9._+-]*([.][*])?$" },
	{ stack_check_file, "[^/]$" },
	{ stack_check_id, "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" },
	{ stack_check_url, "^(https?://|file:///)[!-~]+$" },
	{ stack_check_relative, "^[^/]" },
	{ stack_check_absolute, "^/" },
	{ stack_check_mode, "^(0[0-7]{2,4}|[0-7]{3,4})$" },
	{ stack_check_device,
	  "^" CDI_NAME "/" CDI_NAME "=[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$" },
	{ stack_check_duration, "^[0-9]{1,9}[smh]$" },
	{ stack_check_user, "^[a-z_][a-z0-9_-]{0,31}$" },
	{ stack_check_env_name, "^[A-Za-z_][A-Za-z0-9_]*$" },
	{ stack_check_expose, "^[0-9]+(/(tcp|udp|sctp))?$" },
	{ stack_check_signal, "^(SIG[A-Z][A-Z0-9+-]*|[0-9]+)$" },
	{ stack_check_digest, "^sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})$" },
	{ stack_check_rule, "^[A-Z]{3}[0-9]{3}$" },
	{ stack_check_date, "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" },
	{ stack_check_reference, "^[!-~]+$" },
};

const char *stack_schema_pattern(stack_check_fn *check)
{
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		if (patterns[i].check == check)
			return patterns[i].pattern;
	}
	return check ? NULL : "";
}

static void put_pattern(json_t *schema, stack_check_fn *check)
{
	const char *pattern = stack_schema_pattern(check);

	if (pattern && *pattern)
		json_put(schema, "pattern", json_text(pattern));
}

/* {"type": [a, b, …]}; ends with NULL. */
static json_t *of_types(const char *const *types)
{
	json_t *schema = json_object(), *list = json_texts(types);

	if (json_array_size(list) == 1)
		json_put(schema, "type", json_incref(json_array_get(list, 0)));
	else
		json_put(schema, "type", json_incref(list));
	json_decref(list);
	return schema;
}

/* A list or map; nothing may stand for an empty one, but where one must not be empty. */
static json_t *of_group(const struct stack_key *key, const char *type)
{
	const char *const types[] = { type, key->required ? NULL : "null", NULL };

	return of_types(types);
}

static json_t *a_text(const struct stack_key *key)
{
	static const char *const types[] = { "string", "number", "boolean", NULL };
	json_t *schema = of_types(types);

	if (!key->empty_ok)
		json_put(schema, "minLength", json_integer(1));
	put_pattern(schema, key->check);
	return schema;
}

/* Written as a number by nearly everybody, which a pattern would not see. */
static json_t *a_version(void)
{
	json_t *schema = json_object(), *list = json_array();

	json_push(list, json_integer(1));
	json_push(list, json_text("1"));
	json_put(schema, "enum", list);
	return schema;
}

static json_t *a_choice(const struct stack_key *key)
{
	json_t *schema = json_object(), *list = json_array();

	for (const char *const *c = key->choices; *c; c++) {
		if (**c)
			json_push(list, json_text(*c));
	}
	json_put(schema, "enum", list);
	return schema;
}

static json_t *a_number(const struct stack_key *key)
{
	json_t *schema = json_object();

	json_put(schema, "type", json_text("integer"));
	json_put(schema, "minimum", json_integer(0));
	json_put(schema, "maximum", json_integer((json_int_t)key->max));
	return schema;
}

static json_t *a_size(void)
{
	static const char *const types[] = { "string", "integer", NULL };
	json_t *schema = of_types(types);

	json_put(schema, "minimum", json_integer(1));
	json_put(schema, "pattern", json_text("^0*[1-9][0-9]* *(KiB|MiB|GiB)?$"));
	return schema;
}

static json_t *list_of(const struct stack_key *key, json_t *items)
{
	json_t *schema = of_group(key, "array");

	json_put(schema, "items", items);
	if (key->required)
		json_put(schema, "minItems", json_integer(1));
	if (key->distinct)
		json_put(schema, "uniqueItems", json_true());
	return schema;
}

static json_t *map_of(const struct stack_key *key, json_t *values)
{
	json_t *schema = of_group(key, "object"), *names = json_object();

	json_put(names, "minLength", json_integer(1));
	put_pattern(names, key->check_key);
	json_put(schema, "propertyNames", names);
	json_put(schema, "additionalProperties", values);
	if (key->required)
		json_put(schema, "minProperties", json_integer(1));
	return schema;
}

/* The name of a section's definition: its title, but for the brackets. */
static char *definition_of(const struct stack_section *section)
{
	char *name = xstrdup(section->title), *to = name;

	for (const char *c = section->title; *c; c++) {
		if (*c != '[' && *c != ']')
			*to++ = *c;
	}
	*to = '\0';
	return name;
}

static json_t *section_ref(const struct stack_section *section)
{
	cleanup_free char *name = definition_of(section), *ref = xasprintf("#/$defs/%s", name);
	json_t *schema = json_object();

	json_put(schema, "$ref", json_text(ref));
	return schema;
}

static json_t *any_of(json_t *a, json_t *b)
{
	json_t *schema = json_object(), *list = json_array();

	json_push(list, a);
	json_push(list, b);
	json_put(schema, "anyOf", list);
	return schema;
}

static json_t *nothing(void)
{
	json_t *schema = json_object();

	json_put(schema, "type", json_text("null"));
	return schema;
}

/* An item of a list of sections; a text may stand for it. */
static json_t *an_item(const struct stack_section *section)
{
	static const struct stack_key plain = { .type = KEY_TEXT };

	return section->plain_offset == STACK_NO_OFFSET
		       ? section_ref(section)
		       : any_of(a_text(&plain), section_ref(section));
}

static json_t *a_value(const struct stack_key *key)
{
	static const struct stack_key inner = { 0 };

	switch (key->type) {
	case KEY_TEXT:
		return key->check == stack_check_version ? a_version() : a_text(key);
	case KEY_CHOICE:
	case KEY_ENUM:
	case KEY_FLAG:
		return a_choice(key);
	case KEY_UINT:
		return a_number(key);
	case KEY_SIZE:
		return a_size();
	case KEY_TEXTS:
		return list_of(key, a_text(key));
	case KEY_PAIRS:
		return map_of(key, a_text(key));
	case KEY_SECTION:
		return any_of(section_ref(key->section), nothing());
	case KEY_LIST:
		return list_of(key, an_item(key->section));
	case KEY_MAP:
		return map_of(key, any_of(section_ref(key->section), nothing()));
	case KEY_PACKAGES:
		return map_of(key, list_of(&inner, an_item(key->section)));
	}
	return json_object();
}

static void put_text(json_t *schema, const char *name, const char *text)
{
	cleanup_free char *line = xstrdup(text);

	for (char *c = line; *c; c++) {
		if (*c == '\n')
			*c = ' ';
	}
	json_put(schema, name, json_text(line));
}

/* Absence in words of the page: `auto` is a value, "the uid" is not. */
static void put_default(json_t *schema, const struct stack_key *key)
{
	size_t len = key->fallback ? strlen(key->fallback) : 0;
	cleanup_free char *value = NULL;

	if (len < 3 || key->fallback[0] != '`' || key->fallback[len - 1] != '`' ||
	    key->type == KEY_TEXTS || strchr(key->fallback + 1, '`') != key->fallback + len - 1)
		return;
	value = xstrndup(key->fallback + 1, len - 2);
	json_put(schema, "default", json_text(value));
}

static json_t *properties_of(const struct stack_section *section)
{
	json_t *properties = json_object();

	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];
		json_t *value = a_value(key);

		put_text(value, "description", key->help);
		put_default(value, key);
		json_put(properties, key->name, value);
	}
	return properties;
}

static json_t *required_of(const struct stack_section *section)
{
	json_t *required = json_array();

	for (size_t i = 0; i < section->key_count; i++) {
		if (section->keys[i].required)
			json_push(required, json_text(section->keys[i].name));
	}
	return required;
}

/* `in_list`: lists are not merged, so what their items need must be in them. */
static void put_section(json_t *schema, const struct stack_section *section, bool in_list)
{
	json_t *required = required_of(section);

	json_put(schema, "type", json_text("object"));
	put_text(schema, "description", section->help);
	json_put(schema, "properties", properties_of(section));
	json_put(schema, "additionalProperties", json_false());
	if (in_list && json_array_size(required))
		json_put(schema, "required", json_incref(required));
	json_decref(required);
}

static void put_definitions(json_t *definitions, const struct stack_section *section)
{
	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];
		cleanup_free char *name = NULL;
		json_t *schema;

		if (!key->section)
			continue;
		name = definition_of(key->section);
		schema = json_object();
		put_section(schema, key->section,
			    key->type == KEY_LIST || key->type == KEY_PACKAGES);
		json_put(definitions, name, schema);
		put_definitions(definitions, key->section);
	}
}

/* What a manifest that extends nothing must have, in sections at any depth; NULL: nothing. */
static json_t *complete(const struct stack_section *section)
{
	json_t *schema = json_object(), *properties = json_object();
	json_t *required = required_of(section);

	for (size_t i = 0; i < section->key_count; i++) {
		const struct stack_key *key = &section->keys[i];
		json_t *below = key->type == KEY_SECTION ? complete(key->section) : NULL;

		if (below)
			json_put(properties, key->name, below);
	}
	if (json_array_size(required))
		json_put(schema, "required", json_incref(required));
	if (json_object_size(properties))
		json_put(schema, "properties", json_incref(properties));
	json_decref(required);
	json_decref(properties);
	if (json_object_size(schema))
		return schema;
	json_decref(schema);
	return NULL;
}

static json_t *names_extends(void)
{
	json_t *schema = json_object(), *list = json_array();

	json_push(list, json_text("extends"));
	json_put(schema, "required", list);
	return schema;
}

static json_t *schema_of(const struct stack_section *top, const char *id, const char *title)
{
	json_t *schema = json_object(), *definitions = json_object();

	json_put(schema, "$schema", json_text("https://json-schema.org/draft/2020-12/schema"));
	json_put(schema, "$id", json_text(id));
	json_put(schema, "title", json_text(title));
	put_section(schema, top, false);
	put_definitions(definitions, top);
	json_put(schema, "$defs", definitions);
	return schema;
}

void stack_section_schema(const struct stack_section *top, const char *id, const char *title,
			  struct strbuf *out)
{
	cleanup_json json_t *schema = schema_of(top, id, title);
	json_t *required = required_of(top);

	if (json_array_size(required))
		json_put(schema, "required", json_incref(required));
	json_decref(required);
	json_pretty(schema, out);
}

void stack_schema(struct strbuf *out)
{
	cleanup_json json_t *schema =
		schema_of(&stack_top, "urn:gpuimg:stack:1", "gpuimg stack manifest");

	json_put(schema, "if", names_extends());
	json_put(schema, "else", complete(&stack_top));
	json_pretty(schema, out);
}
