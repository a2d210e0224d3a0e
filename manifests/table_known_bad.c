#include "manifests/table_known_bad.h"

#include "manifests/dotted.h"

static int read_range(const struct table_row *row, const char *key, const char **out,
		      struct error *err)
{
	if (row_text_opt(row, key, out, err) < 0)
		return -1;
	if (*out && dotted_range_check(*out, err) < 0) {
		struct error cause = *err;

		return row_error(row, key, err, "%s", cause.text);
	}
	return 0;
}

static int read_when(const struct table_row *row, struct arena *arena, struct known_bad *out,
		     struct error *err)
{
	static const char *const frameworks[] = { "torch", "tensorflow", "jax", "onnxruntime-gpu" };
	struct table_row when = *row;
	const char *libraries;

	when.json = json_object_get(row->json, "when");
	if (!json_is_object(when.json))
		return row_error(row, "when", err, "is not an object");
	if (read_range(&when, "cudnn", &out->cudnn, err) < 0 ||
	    read_range(&when, "cuda", &out->cuda, err) < 0 ||
	    row_texts(&when, "gpu", arena, &out->gpus, err) < 0 ||
	    row_text_opt(&when, "libraries", &libraries, err) < 0)
		return -1;
	out->system_libraries = libraries != NULL;
	for (size_t i = 0; i < ARRAY_LEN(frameworks); i++) {
		const char *range;

		if (read_range(&when, frameworks[i], &range, err) < 0)
			return -1;
		if (range) {
			out->framework = frameworks[i];
			out->framework_range = range;
		}
	}
	return 0;
}

int table_known_bad_read(const struct table *table, struct arena *arena,
			 struct table_known_bad *out, struct error *err)
{
	json_t *rows;

	if (table_list(table, "rows", &rows, err) < 0)
		return -1;
	out->items = arena_array(arena, json_array_size(rows) + 1, sizeof(*out->items));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		struct known_bad *b = &out->items[out->count++];
		struct table_row row;
		const char *level;

		if (table_row_at(table, "rows", rows, i, "id", arena, &row, err) < 0 ||
		    row_text(&row, "id", &b->id, err) < 0 ||
		    row_text(&row, "effect", &b->effect, err) < 0 ||
		    row_text(&row, "level", &level, err) < 0 || read_when(&row, arena, b, err) < 0)
			return -1;
		b->avoid = str_equal(level, "avoid");
		if (!b->avoid && !str_equal(level, "warn"))
			return row_error(&row, "level", err, "'%.20s' is neither avoid nor warn",
					 level);
		b->origin = row_origin(&row, NULL, arena);
	}
	return 0;
}
