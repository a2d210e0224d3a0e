#include "manifests/table_read.h"

#include "base/fs.h"
#include "manifests/dotted.h"
#include "manifests/embedded.h"

#define TABLE_LIMIT (4 * MIB)

int table_open(const char *dir, const char *file, struct table *out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice bytes = embedded_file(file);

	*out = (struct table){ .file = file };
	if (dir) {
		cleanup_free char *path = xasprintf("%s/%s", dir, file);

		if (fs_read(AT_FDCWD, path, TABLE_LIMIT, &text, err) < 0)
			return error_wrap(err, "tables");
		bytes = strbuf_slice(&text);
	}
	if (json_parse_named(bytes, file, &out->root, err) < 0)
		return -1;
	if (!json_is_object(out->root)) {
		table_close(out);
		return error_set(err, ERROR_FORMAT, "%s: is not an object", file);
	}
	return 0;
}

void table_close(struct table *table)
{
	json_decref(table->root);
	table->root = NULL;
}

int table_list(const struct table *table, const char *key, json_t **out, struct error *err)
{
	if (json_get_array(table->root, "", key, out, err) < 0)
		return error_wrap(err, "%s", table->file);
	return 0;
}

int table_object(const struct table *table, const char *key, json_t **out, struct error *err)
{
	if (json_get_object(table->root, "", key, out, err) < 0)
		return error_wrap(err, "%s", table->file);
	return 0;
}

static const char *name_of(const json_t *value, size_t i, struct arena *arena)
{
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		return arena_printf(arena, "%lld", (long long)json_integer_value(value));
	return arena_printf(arena, "row %zu", i);
}

int table_row_at(const struct table *table, const char *section, const json_t *list, size_t i,
		 const char *name_key, struct arena *arena, struct table_row *out,
		 struct error *err)
{
	const json_t *json = json_array_get(list, i);

	*out = (struct table_row){ .table = table, .section = section, .json = json };
	out->name = name_of(json_object_get(json, name_key), i, arena);
	if (!json_is_object(json))
		return error_set(err, ERROR_FORMAT, "%s: %s: row %zu: is not an object",
				 table->file, section, i);
	return 0;
}

int row_error(const struct table_row *row, const char *key, struct error *err, const char *fmt, ...)
{
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return error_set(err, ERROR_FORMAT, "%s: %s: %s: %s: %s", row->table->file, row->section,
			 row->name, key, text);
}

int row_text_opt(const struct table_row *row, const char *key, const char **out, struct error *err)
{
	const json_t *value = json_object_get(row->json, key);

	*out = NULL;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_string(value))
		return row_error(row, key, err, "is not a text");
	*out = json_string_value(value);
	return 0;
}

int row_text(const struct table_row *row, const char *key, const char **out, struct error *err)
{
	if (row_text_opt(row, key, out, err) < 0)
		return -1;
	return *out ? 0 : row_error(row, key, err, "is missing");
}

int row_version_opt(const struct table_row *row, const char *key, const char **out,
		    struct error *err)
{
	if (row_text_opt(row, key, out, err) < 0)
		return -1;
	if (*out && !dotted_is(slice_str(*out)))
		return row_error(row, key, err, "'%.40s' is not a version (digits and dots)", *out);
	return 0;
}

int row_version(const struct table_row *row, const char *key, const char **out, struct error *err)
{
	if (row_version_opt(row, key, out, err) < 0)
		return -1;
	return *out ? 0 : row_error(row, key, err, "is missing");
}

int row_number_opt(const struct table_row *row, const char *key, unsigned *out, struct error *err)
{
	const json_t *value = json_object_get(row->json, key);

	*out = 0;
	if (!value || json_is_null(value))
		return 0;
	if (!json_is_integer(value) || json_integer_value(value) < 0 ||
	    json_integer_value(value) > INT_MAX)
		return row_error(row, key, err, "is not a whole number");
	*out = (unsigned)json_integer_value(value);
	return 0;
}

int row_number(const struct table_row *row, const char *key, unsigned *out, struct error *err)
{
	if (row_number_opt(row, key, out, err) < 0)
		return -1;
	if (!json_is_integer(json_object_get(row->json, key)))
		return row_error(row, key, err, "is missing");
	return 0;
}

int row_bool_opt(const struct table_row *row, const char *key, bool *out, struct error *err)
{
	const json_t *value = json_object_get(row->json, key);

	*out = json_is_true(value);
	if (value && !json_is_null(value) && !json_is_boolean(value))
		return row_error(row, key, err, "is neither true nor false");
	return 0;
}

static int row_list(const struct table_row *row, const char *key, const json_t **out,
		    struct error *err)
{
	*out = json_object_get(row->json, key);
	if (*out && json_is_null(*out))
		*out = NULL;
	if (*out && !json_is_array(*out))
		return row_error(row, key, err, "is not a list");
	return 0;
}

int row_texts(const struct table_row *row, const char *key, struct arena *arena,
	      struct table_texts *out, struct error *err)
{
	const json_t *list;

	*out = (struct table_texts){ 0 };
	if (row_list(row, key, &list, err) < 0)
		return -1;
	out->items = arena_array(arena, json_array_size(list) + 1, sizeof(*out->items));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (!json_is_string(item))
			return row_error(row, key, err, "item %zu is not a text", i);
		out->items[out->count++] = json_string_value(item);
	}
	return 0;
}

int row_numbers(const struct table_row *row, const char *key, struct arena *arena,
		struct table_numbers *out, struct error *err)
{
	const json_t *list;

	*out = (struct table_numbers){ 0 };
	if (row_list(row, key, &list, err) < 0)
		return -1;
	out->items = arena_array(arena, json_array_size(list) + 1, sizeof(*out->items));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		if (!json_is_integer(item) || json_integer_value(item) < 0 ||
		    json_integer_value(item) > INT_MAX)
			return row_error(row, key, err, "item %zu is not a whole number", i);
		out->items[out->count++] = (unsigned)json_integer_value(item);
	}
	return 0;
}

bool table_numbers_have(const struct table_numbers *list, unsigned n)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i] == n)
			return true;
	}
	return false;
}

static const char *source_of_key(const struct table *table, const char *key)
{
	return json_string_value(json_object_get(json_object_get(table->root, "sources"), key));
}

static void add_source(struct strbuf *text, const struct table *table, const json_t *value)
{
	const char *key = json_string_value(value);
	const char *full = key ? source_of_key(table, key) : NULL;

	if (!key)
		return;
	if (text->len)
		strbuf_adds(text, "; ");
	strbuf_adds(text, full ? full : key);
}

static void add_sources(struct strbuf *text, const struct table *table, const json_t *value)
{
	if (json_is_string(value))
		add_source(text, table, value);
	for (size_t i = 0; i < json_array_size(value); i++) {
		bool again = false;

		for (size_t k = 0; k < i; k++)
			again |=
				json_equal(json_array_get(value, i), json_array_get(value, k)) != 0;
		if (!again)
			add_source(text, table, json_array_get(value, i));
	}
}

struct table_origin row_origin(const struct table_row *row, const char *fallback,
			       struct arena *arena)
{
	static const char *const keys[] = { "src", "source", "pins_source", "and_cuda_source" };
	cleanup_strbuf struct strbuf text = { 0 };
	const char *last = fallback ? source_of_key(row->table, fallback) : NULL;

	for (size_t i = 0; i < ARRAY_LEN(keys) && !text.len; i++)
		add_sources(&text, row->table, json_object_get(row->json, keys[i]));
	return (struct table_origin){
		.file = row->table->file,
		.row = arena_printf(arena, "%s %s", row->section, row->name),
		.source = text.len ? arena_slice(arena, strbuf_slice(&text)) : (last ? last : ""),
	};
}
