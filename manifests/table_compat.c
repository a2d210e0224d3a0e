#include "manifests/table_compat.h"

static int read_package(const struct table_row *row, struct arena *arena,
			struct compat_package *out, struct error *err)
{
	if (row_text(row, "package", &out->name, err) < 0 ||
	    row_version(row, "cuda", &out->cuda, err) < 0 ||
	    row_number(row, "built_from_branch", &out->built_from, err) < 0 ||
	    row_numbers(row, "host_branches", arena, &out->hosts, err) < 0)
		return -1;
	out->origin = row_origin(row, NULL, arena);
	return 0;
}

int table_compat_read(const struct table *table, struct arena *arena, struct table_compat *out,
		      struct error *err)
{
	json_t *packages, *columns;
	struct table_row row;

	if (table_list(table, "packages", &packages, err) < 0 ||
	    table_list(table, "host_columns", &columns, err) < 0)
		return -1;
	out->items = arena_array(arena, json_array_size(packages) + 1, sizeof(*out->items));
	out->columns.items = arena_array(arena, json_array_size(columns) + 1, sizeof(unsigned));
	for (size_t i = 0; i < json_array_size(packages); i++) {
		if (table_row_at(table, "packages", packages, i, "package", arena, &row, err) < 0 ||
		    read_package(&row, arena, &out->items[out->count++], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < json_array_size(columns); i++) {
		if (table_row_at(table, "host_columns", columns, i, "branch", arena, &row, err) <
			    0 ||
		    row_number(&row, "branch", &out->columns.items[out->columns.count++], err) < 0)
			return -1;
	}
	return 0;
}

const struct compat_package *compat_for(const struct table_compat *t, const char *cuda_minor)
{
	for (size_t i = 0; i < t->count; i++) {
		if (str_equal(t->items[i].cuda, cuda_minor))
			return &t->items[i];
	}
	return NULL;
}
