#include "manifests/driver_libraries.h"

#include <fnmatch.h>

#include "formats/json.h"
#include "manifests/embedded.h"

static const char **read_texts(const json_t *array, struct arena *arena, size_t *count)
{
	const char **out = arena_array(arena, json_array_size(array) + 1, sizeof(*out));

	*count = 0;
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (json_is_string(json_array_get(array, i)))
			out[(*count)++] =
				arena_strdup(arena, json_string_value(json_array_get(array, i)));
	}
	return out;
}

static int read_entry(const json_t *row, struct arena *arena, struct driver_entry *out,
		      struct error *err)
{
	const char *name, *match, *kind, *capability, *severity;

	if (json_get_str(row, "entries", "name", &name, err) < 0 ||
	    json_get_str(row, "entries", "match", &match, err) < 0 ||
	    json_get_str(row, "entries", "kind", &kind, err) < 0 ||
	    json_get_str(row, "entries", "capability", &capability, err) < 0 ||
	    json_get_str(row, "entries", "severity", &severity, err) < 0)
		return -1;
	*out = (struct driver_entry){
		.name = arena_strdup(arena, name),
		.match = arena_strdup(arena, match),
		.kind = arena_strdup(arena, kind),
		.capability = arena_strdup(arena, capability),
		.verdict = str_equal(severity, "error")     ? DRIVER_ERROR
			   : str_equal(severity, "warning") ? DRIVER_WARNING
							    : DRIVER_ALLOW,
	};
	out->sonames = read_texts(json_object_get(row, "sonames"), arena, &out->soname_count);
	out->allowed_where =
		read_texts(json_object_get(row, "allowed_where"), arena, &out->allowed_count);
	return 0;
}

int driver_libraries_load(struct driver_libraries *out, struct error *err)
{
	cleanup_json json_t *table = NULL;
	struct driver_libraries made = { 0 };
	json_t *entries;

	if (json_parse(embedded_file("driver-libraries.json"), &table, err) < 0 ||
	    json_get_array(table, "", "entries", &entries, err) < 0)
		return error_wrap(err, "driver-libraries.json");
	made.entries = arena_array(&made.arena, json_array_size(entries), sizeof(*made.entries));
	for (size_t i = 0; i < json_array_size(entries); i++) {
		if (read_entry(json_array_get(entries, i), &made.arena, &made.entries[made.count++],
			       err) < 0) {
			driver_libraries_release(&made);
			return error_wrap(err, "driver-libraries.json: row %zu", i);
		}
	}
	made.always_allowed = read_texts(json_object_get(table, "always_allowed_paths"),
					 &made.arena, &made.always_allowed_count);
	*out = made;
	return 0;
}

void driver_libraries_release(struct driver_libraries *table)
{
	arena_release(&table->arena);
}

static const struct driver_entry *entry_of(const struct driver_libraries *table, const char *kind,
					   const char *name)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct driver_entry *e = &table->entries[i];

		if (str_equal(e->kind, kind) && !strchr(e->match, '/') &&
		    fnmatch(e->match, name, 0) == 0)
			return e;
	}
	return NULL;
}

const struct driver_entry *driver_library(const struct driver_libraries *table, const char *name)
{
	return str_starts(name, "lib") ? entry_of(table, "library", name) : NULL;
}

const struct driver_entry *driver_program(const struct driver_libraries *table, const char *name)
{
	return entry_of(table, "binary", name);
}

static bool matches_any(const char *const *patterns, size_t count, const char *path)
{
	for (size_t i = 0; i < count; i++) {
		if (fnmatch(patterns[i], path, 0) == 0)
			return true;
	}
	return false;
}

bool driver_allowed_at(const struct driver_libraries *table, const struct driver_entry *entry,
		       const char *path)
{
	return matches_any(table->always_allowed, table->always_allowed_count, path) ||
	       matches_any(entry->allowed_where, entry->allowed_count, path);
}
