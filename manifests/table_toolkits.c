#include "manifests/table_toolkits.h"

#include "manifests/dotted.h"

static int read_major(const struct table_row *row, struct arena *arena, struct toolkit_major *out,
		      struct error *err)
{
	if (row_number(row, "major", &out->major, err) < 0 ||
	    row_bool_opt(row, "minor_version_compat", &out->minor_compat, err) < 0 ||
	    row_number_opt(row, "min_driver_branch", &out->min_branch, err) < 0 ||
	    row_version_opt(row, "min_driver_linux_x86_64", &out->min_driver, err) < 0)
		return -1;
	if (out->minor_compat && !out->min_driver)
		return row_error(row, "min_driver_linux_x86_64", err,
				 "is missing, although minor_version_compat is true");
	out->origin = row_origin(row, NULL, arena);
	return 0;
}

static int read_toolkit(const struct table_row *row, struct arena *arena, struct toolkit *out,
			struct error *err)
{
	unsigned minor;

	if (row_version(row, "version", &out->version, err) < 0 ||
	    row_number(row, "major", &out->major, err) < 0 ||
	    row_number(row, "minor", &minor, err) < 0 ||
	    row_text(row, "label", &out->label, err) < 0 ||
	    row_text(row, "status", &out->status, err) < 0 ||
	    row_number_opt(row, "driver_branch", &out->branch, err) < 0 ||
	    row_version_opt(row, "cudart_version", &out->runtime, err) < 0 ||
	    row_text_opt(row, "redist_json_sha256", &out->redist_sha256, err) < 0 ||
	    row_version_opt(row, "min_driver_linux_x86_64", &out->min_driver, err) < 0)
		return -1;
	if (dotted_number(out->version, 0) != out->major || dotted_number(out->version, 1) != minor)
		return row_error(row, "version", err, "does not begin with %u.%u", out->major,
				 minor);
	out->minor = arena_printf(arena, "%u.%u", out->major, minor);
	out->origin = row_origin(row, NULL, arena);
	return 0;
}

/* Where the release notes name no driver: the branch they name, else that of the release. */
static int read_own_drivers(const struct table *table, struct arena *arena,
			    struct table_toolkits *out, struct error *err)
{
	json_t *floors;

	if (table_list(table, "branch_only_floors", &floors, err) < 0)
		return -1;
	for (size_t i = 0; i < out->count; i++) {
		struct toolkit *t = &out->items[i];

		t->own_driver = t->min_driver;
		if (!t->min_driver && t->branch)
			t->own_driver = arena_printf(arena, "%u", t->branch);
		for (size_t k = 0; k < json_array_size(floors) && !t->min_driver; k++) {
			struct table_row row;
			const char *cuda;
			unsigned branch;

			if (table_row_at(table, "branch_only_floors", floors, k, "cuda", arena,
					 &row, err) < 0 ||
			    row_version(&row, "cuda", &cuda, err) < 0 ||
			    row_number(&row, "branch", &branch, err) < 0)
				return -1;
			if (str_equal(cuda, t->minor))
				t->own_driver = arena_printf(arena, "%u", branch);
		}
	}
	return 0;
}

static int read_never_released(const struct table *table, struct arena *arena,
			       struct table_toolkits *out, struct error *err)
{
	json_t *list;

	if (table_list(table, "never_released", &list, err) < 0)
		return -1;
	out->never_released.items = arena_array(arena, json_array_size(list) + 1, sizeof(char *));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct table_row row;

		if (table_row_at(table, "never_released", list, i, "cuda", arena, &row, err) < 0 ||
		    row_version(&row, "cuda",
				&out->never_released.items[out->never_released.count++], err) < 0)
			return -1;
	}
	return 0;
}

int table_toolkits_read(const struct table *table, struct arena *arena, struct table_toolkits *out,
			struct error *err)
{
	json_t *majors, *toolkits;
	struct table_row row;

	if (table_list(table, "majors", &majors, err) < 0 ||
	    table_list(table, "toolkits", &toolkits, err) < 0)
		return -1;
	out->majors = arena_array(arena, json_array_size(majors) + 1, sizeof(*out->majors));
	out->items = arena_array(arena, json_array_size(toolkits) + 1, sizeof(*out->items));
	for (size_t i = 0; i < json_array_size(majors); i++) {
		if (table_row_at(table, "majors", majors, i, "major", arena, &row, err) < 0 ||
		    read_major(&row, arena, &out->majors[out->major_count++], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < json_array_size(toolkits); i++) {
		if (table_row_at(table, "toolkits", toolkits, i, "version", arena, &row, err) < 0 ||
		    read_toolkit(&row, arena, &out->items[out->count++], err) < 0)
			return -1;
	}
	if (read_own_drivers(table, arena, out, err) < 0)
		return -1;
	return read_never_released(table, arena, out, err);
}

const struct toolkit_major *toolkit_major(const struct table_toolkits *t, unsigned major)
{
	for (size_t i = 0; i < t->major_count; i++) {
		if (t->majors[i].major == major)
			return &t->majors[i];
	}
	return NULL;
}

bool toolkit_released(const struct toolkit *toolkit)
{
	return str_starts(toolkit->status, "ga");
}

const struct toolkit *toolkit_find(const struct table_toolkits *t, const char *version)
{
	for (size_t i = t->count; i-- > 0;) {
		if (toolkit_released(&t->items[i]) &&
		    dotted_prefix(slice_str(t->items[i].version), slice_str(version)))
			return &t->items[i];
	}
	return NULL;
}

const struct toolkit *toolkit_of_runtime(const struct table_toolkits *t, const char *runtime)
{
	for (size_t i = t->count; i-- > 0;) {
		if (toolkit_released(&t->items[i]) && t->items[i].runtime &&
		    str_equal(t->items[i].runtime, runtime))
			return &t->items[i];
	}
	return NULL;
}
