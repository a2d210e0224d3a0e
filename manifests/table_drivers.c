#include "manifests/table_drivers.h"

#include "manifests/dotted.h"

static int read_branch(const struct table_row *row, struct arena *arena, struct driver_branch *out,
		       struct error *err)
{
	if (row_number(row, "branch", &out->branch, err) < 0 ||
	    row_text_opt(row, "kind", &out->kind, err) < 0 ||
	    row_text_opt(row, "eol", &out->eol, err) < 0 ||
	    row_text_opt(row, "eol_confidence", &out->eol_confidence, err) < 0 ||
	    row_version_opt(row, "native_cuda", &out->native_cuda, err) < 0 ||
	    row_version_opt(row, "latest_seen_linux", &out->latest, err) < 0)
		return -1;
	out->origin = row_origin(row, NULL, arena);
	return 0;
}

int table_drivers_read(const struct table *table, struct arena *arena, struct table_drivers *out,
		       struct error *err)
{
	struct table_row row = { .table = table, .section = "active_at_as_of", .name = "list" };
	json_t *branches, *active;

	if (table_list(table, "branches", &branches, err) < 0 ||
	    table_object(table, "active_at_as_of", &active, err) < 0)
		return -1;
	row.json = active;
	if (row_numbers(&row, "branches", arena, &out->active, err) < 0)
		return -1;
	out->items = arena_array(arena, json_array_size(branches) + 1, sizeof(*out->items));
	for (size_t i = 0; i < json_array_size(branches); i++) {
		if (table_row_at(table, "branches", branches, i, "branch", arena, &row, err) < 0 ||
		    read_branch(&row, arena, &out->items[out->count++], err) < 0)
			return -1;
	}
	return 0;
}

const struct driver_branch *driver_branch(const struct table_drivers *t, unsigned branch)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->items[i].branch == branch)
			return &t->items[i];
	}
	return NULL;
}

const struct driver_branch *driver_branch_of(const struct table_drivers *t, const char *driver)
{
	uint64_t branch = dotted_number(driver, 0);

	for (size_t i = t->count; i-- > 0;) {
		if (t->items[i].branch <= branch)
			return &t->items[i];
	}
	return NULL;
}
