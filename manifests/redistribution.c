#include "manifests/redistribution.h"

#include <fnmatch.h>

#include "formats/json.h"
#include "manifests/embedded.h"

static int read_row(const json_t *row, const json_t *documents, struct arena *arena,
		    struct redistribution_row *out, struct error *err)
{
	const char *match, *document, *condition, *title;
	json_t *about;

	if (json_get_str(row, "rows", "match", &match, err) < 0 ||
	    json_get_str(row, "rows", "document", &document, err) < 0 ||
	    json_get_str_opt(row, "rows", "condition", &condition, err) < 0 ||
	    json_get_object(documents, "documents", document, &about, err) < 0 ||
	    json_get_str(about, document, "title", &title, err) < 0)
		return -1;
	out->match = arena_strdup(arena, match);
	out->says = condition ? arena_printf(arena, "named in %s, %s", title, condition)
			      : arena_printf(arena, "named in %s", title);
	return 0;
}

int redistribution_load(struct redistribution *out, struct error *err)
{
	cleanup_json json_t *table = NULL;
	struct redistribution made = { 0 };
	json_t *rows, *documents;

	if (json_parse(embedded_file("redistribution.json"), &table, err) < 0 ||
	    json_get_array(table, "", "rows", &rows, err) < 0 ||
	    json_get_object(table, "", "documents", &documents, err) < 0)
		return error_wrap(err, "redistribution.json");
	made.rows = arena_array(&made.arena, json_array_size(rows) + 1, sizeof(*made.rows));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		if (read_row(json_array_get(rows, i), documents, &made.arena,
			     &made.rows[made.count++], err) < 0) {
			redistribution_release(&made);
			return error_wrap(err, "redistribution.json: row %zu", i);
		}
	}
	*out = made;
	return 0;
}

void redistribution_release(struct redistribution *table)
{
	arena_release(&table->arena);
}

const char *redistribution_of(const struct redistribution *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		if (fnmatch(table->rows[i].match, name, 0) == 0)
			return table->rows[i].says;
	}
	return NULL;
}

bool redistribution_governs(const char *license)
{
	return strcasestr(license, "nvidia") || strcasestr(license, "cuda");
}
