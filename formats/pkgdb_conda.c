#include "formats/json.h"
#include "formats/pkgdb.h"

/* The text of a member that is a word, or "". */
static const char *text_of(const json_t *object, const char *key, struct arena *arena)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && pkgdb_is_word(slice_str(text)) ? arena_strdup(arena, text) : "";
}

static int read_files(const json_t *object, struct arena *arena, struct pkgdb *db,
		      struct pkgdb_package *p, struct error *err)
{
	const json_t *list = json_object_get(object, "files");
	size_t count = json_array_size(list);
	const char **files;

	if (count > PKGDB_FILES_LIMIT - db->files)
		return error_set(err, ERROR_LIMIT, "more than %d files", PKGDB_FILES_LIMIT);
	files = arena_array(arena, count, sizeof(*files));
	for (size_t i = 0; i < count; i++) {
		const char *path = json_string_value(json_array_get(list, i));

		if (path && *path && *path != '/')
			files[p->file_count++] = arena_strdup(arena, path);
	}
	p->files = files;
	db->files += p->file_count;
	return 0;
}

int pkgdb_conda(struct slice text, struct arena *arena, struct pkgdb *out, struct error *err)
{
	cleanup_json json_t *record = NULL;
	const char *name, *version, *license;
	struct pkgdb_package *p;

	if (json_parse(text, &record, err) < 0)
		return -1;
	name = text_of(record, "name", arena);
	version = text_of(record, "version", arena);
	if (!*name || !*version)
		return error_set(err, ERROR_FORMAT, "no name and version of a package");
	p = pkgdb_add(out, "conda", err);
	if (!p)
		return -1;
	license = json_string_value(json_object_get(record, "license"));
	p->name = name;
	p->version = version;
	p->arch = text_of(record, "subdir", arena);
	p->license = license ? arena_strdup(arena, license) : "";
	return read_files(record, arena, out, p, err);
}
