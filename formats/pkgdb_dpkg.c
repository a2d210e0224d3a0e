#include "formats/pkgdb.h"

#include "formats/deb822.h"

static bool is_installed(struct slice status)
{
	/* files of status.d have none */
	return !status.data || slice_is(status, "install ok installed") ||
	       slice_is(status, "hold ok installed");
}

static const char *word(struct arena *arena, struct slice text)
{
	return pkgdb_is_word(text) ? arena_slice(arena, text) : "";
}

static int add(const struct deb822 *stanza, struct arena *arena, struct pkgdb *out,
	       struct error *err)
{
	struct slice name = deb822_get(stanza, "Package"), version = deb822_get(stanza, "Version"),
		     source = deb822_get(stanza, "Source"), first;
	struct pkgdb_package *p;

	if (!pkgdb_is_word(name) || !pkgdb_is_word(version) ||
	    !is_installed(deb822_get(stanza, "Status")))
		return 0;
	p = pkgdb_add(out, "dpkg", err);
	if (!p)
		return -1;
	p->name = arena_slice(arena, name);
	p->version = arena_slice(arena, version);
	p->arch = word(arena, deb822_get(stanza, "Architecture"));
	p->source = slice_cut(&source, ' ', &first) ? word(arena, first) : "";
	if (slice_u64(deb822_get(stanza, "Installed-Size"), &p->bytes) &&
	    mul_overflows(p->bytes, UINT64_C(1024), &p->bytes))
		p->bytes = 0;
	return 0;
}

int pkgdb_dpkg(struct slice text, struct arena *arena, struct pkgdb *out, struct error *err)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	size_t line = 1;
	int rc = 1;

	while (text.data && (rc = deb822_next(&text, "status", &line, &stanza, err)) > 0) {
		if (add(&stanza, arena, out, err) < 0)
			return -1;
	}
	return rc < 0 ? -1 : 0;
}

int pkgdb_dpkg_files(struct slice text, bool sums, struct arena *arena, struct pkgdb *db,
		     struct pkgdb_package *package, struct error *err)
{
	enum { SUM_BYTES = 34 }; /* 32 digits and two blanks */
	struct slice rest = text, line;
	const char **files;
	size_t count = 0;

	while (slice_cut(&rest, '\n', &line))
		count += line.len > 0;
	if (count > PKGDB_FILES_LIMIT - db->files)
		return error_set(err, ERROR_LIMIT, "%s: more than %d files", package->name,
				 PKGDB_FILES_LIMIT);
	files = arena_array(arena, count, sizeof(*files));
	while (slice_cut(&text, '\n', &line)) {
		if (sums && line.len > SUM_BYTES)
			files[package->file_count++] =
				arena_printf(arena, "/%.*s", (int)(line.len - SUM_BYTES),
					     (const char *)line.data + SUM_BYTES);
		else if (!sums && line.len > 1 && line.data[0] == '/' && !slice_is(line, "/."))
			files[package->file_count++] = arena_slice(arena, line);
	}
	package->files = files;
	db->files += package->file_count;
	return 0;
}
