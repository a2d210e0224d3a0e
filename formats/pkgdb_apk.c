#include "formats/pkgdb.h"

/*
 * Paragraphs of lines "X:value", an empty line between them. P name, V version, A architecture,
 * I installed bytes, L licence, o origin; F begins a folder, R names a file in it.
 */
struct reading {
	struct arena *arena;
	struct pkgdb *out;
	struct pkgdb_package *package; /* NULL between paragraphs */
	const char *folder;
	VEC(const char *) files;
};

static void end_package(struct reading *r)
{
	const char **files;

	if (!r->package)
		return;
	files = arena_array(r->arena, r->files.len, sizeof(*files));
	if (r->files.len)
		memcpy(files, r->files.items, r->files.len * sizeof(*files));
	r->package->files = files;
	r->package->file_count = r->files.len;
	if (!*r->package->name || !*r->package->version)
		r->out->len--;
	else
		r->out->files += r->files.len;
	r->files.len = 0;
	r->package = NULL;
	r->folder = "";
}

static int take_file(struct reading *r, struct slice name, struct error *err)
{
	if (r->files.len + r->out->files >= PKGDB_FILES_LIMIT)
		return error_set(err, ERROR_LIMIT, "more than %d files", PKGDB_FILES_LIMIT);
	vec_push(&r->files, arena_printf(r->arena, "/%s%s%.*s", r->folder, *r->folder ? "/" : "",
					 (int)name.len, (const char *)name.data));
	return 0;
}

static int take_line(struct reading *r, struct slice line, struct error *err)
{
	struct slice value = slice_of(line.data + 2, line.len - 2);
	const char **text = NULL;

	if (!r->package) {
		r->package = pkgdb_add(r->out, "apk", err);
		if (!r->package)
			return -1;
	}
	switch (line.data[0]) {
	case 'P':
		text = &r->package->name;
		break;
	case 'V':
		text = &r->package->version;
		break;
	case 'A':
		text = &r->package->arch;
		break;
	case 'o':
		text = &r->package->source;
		break;
	case 'L':
		r->package->license = arena_slice(r->arena, value);
		break;
	case 'I':
		slice_u64(value, &r->package->bytes);
		break;
	case 'F':
		r->folder = arena_slice(r->arena, value);
		break;
	case 'R':
		return take_file(r, value, err);
	default:
		break;
	}
	if (text && pkgdb_is_word(value))
		*text = arena_slice(r->arena, value);
	return 0;
}

int pkgdb_apk(struct slice text, struct arena *arena, struct pkgdb *out, struct error *err)
{
	struct reading r = { .arena = arena, .out = out, .folder = "" };
	struct slice line;
	int rc = 0;

	while (rc == 0 && slice_cut(&text, '\n', &line)) {
		if (!line.len)
			end_package(&r);
		else if (line.len < 2 || line.data[1] != ':')
			rc = error_set(err, ERROR_FORMAT, "a line that is no field of apk");
		else
			rc = take_line(&r, line, err);
	}
	end_package(&r);
	vec_release(&r.files);
	return rc;
}
