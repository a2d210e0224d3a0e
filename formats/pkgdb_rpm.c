#include "formats/pkgdb.h"

#include "base/alloc.h"
#include "base/reader.h"
#include "formats/rpm_header.h"

enum { PATH_LIMIT = 4096 };

/* Basenames, each with the number of its folder. */
static int read_files(const struct rpm_header *h, struct arena *arena, struct pkgdb *db,
		      struct pkgdb_package *p, struct error *err)
{
	struct rpm_value names, dirs, dir_of, modes = { 0 };
	const char **folders, **files, *name;
	uint32_t folder_count;

	if (!rpm_header_find(h, RPMTAG_BASENAMES, &names) ||
	    !rpm_header_find(h, RPMTAG_DIRNAMES, &dirs) ||
	    !rpm_header_find(h, RPMTAG_DIRINDEXES, &dir_of))
		return 0;
	if (names.count > PKGDB_FILES_LIMIT - db->files)
		return error_set(err, ERROR_LIMIT, "more than %d files", PKGDB_FILES_LIMIT);
	rpm_header_find(h, RPMTAG_FILEMODES, &modes);
	folder_count = dirs.count;
	folders = arena_array(arena, folder_count, sizeof(*folders));
	for (uint32_t i = 0; i < folder_count; i++)
		folders[i] = rpm_value_next(&dirs);
	files = arena_array(arena, names.count, sizeof(*files));
	for (uint32_t i = 0; (name = rpm_value_next(&names)); i++) {
		uint64_t folder = UINT64_MAX, mode = 0;

		rpm_value_number(&modes, i, &mode);
		if (!rpm_value_number(&dir_of, i, &folder) || folder >= folder_count ||
		    !folders[folder] || (mode & 0170000) == 0040000 ||
		    strlen(folders[folder]) + strlen(name) > PATH_LIMIT)
			continue;
		files[p->file_count++] = arena_printf(arena, "%s%s", folders[folder], name);
	}
	p->files = files;
	db->files += p->file_count;
	return 0;
}

struct collecting {
	struct arena *arena;
	struct pkgdb *out;
};

static int take_header(void *user, struct slice blob, struct error *err)
{
	struct collecting *collecting = user;
	struct arena *arena = collecting->arena;
	struct pkgdb *out = collecting->out;
	const char *name, *arch, *text;
	cleanup_free char *evr = NULL;
	struct rpm_header h;
	struct pkgdb_package *p;

	if (rpm_header_parse(blob, &h, err) < 0)
		return -1;
	if (!rpm_header_identity(&h, &name, &evr, &arch))
		return error_set(err, ERROR_FORMAT, "header: no proper name, version and release");
	if (str_equal(name, "gpg-pubkey"))
		return 0;
	p = pkgdb_add(out, "rpm", err);
	if (!p)
		return -1;
	p->name = arena_strdup(arena, name);
	p->version = arena_strdup(arena, evr);
	p->arch = arena_strdup(arena, arch);
	text = rpm_header_text(&h, RPMTAG_SOURCERPM);
	p->source = text && pkgdb_is_word(slice_str(text)) ? arena_strdup(arena, text) : "";
	text = rpm_header_text(&h, RPMTAG_LICENSE);
	p->license = text ? arena_strdup(arena, text) : "";
	if (!rpm_header_number(&h, RPMTAG_LONGSIZE, 0, &p->bytes))
		rpm_header_number(&h, RPMTAG_SIZE, 0, &p->bytes);
	return read_files(&h, arena, out, p, err);
}

/* Byte order is the machine's that wrote it; all that images are for are little-endian. */
static bool is_bdb(struct slice bytes)
{
	struct reader r = reader_of(bytes);
	uint32_t magic;

	reader_seek(&r, 12);
	magic = reader_u32(&r);
	return !r.bad && (magic == 0x00061561 || magic == 0x61150600);
}

bool pkgdb_rpm_goes_on(const struct error *own, int *rc, struct error *err)
{
	if (*rc == 0 || own->code == ERROR_LIMIT)
		*err = *own;
	*rc = -1;
	return own->code != ERROR_LIMIT;
}

int pkgdb_rpm_each(struct slice bytes, const struct pkgdb_taker *taker, struct error *err)
{
	if (slice_starts(bytes, "SQLite format 3"))
		return pkgdb_rpm_sqlite(bytes, taker, err);
	if (slice_starts(bytes, "RpmP"))
		return pkgdb_rpm_ndb(bytes, taker, err);
	if (is_bdb(bytes))
		return pkgdb_rpm_bdb(bytes, taker, err);
	return error_set(err, ERROR_FORMAT, "neither SQLite, ndb nor a hash of Berkeley DB");
}

int pkgdb_rpm(struct slice bytes, struct arena *arena, struct pkgdb *out, struct error *err)
{
	struct collecting collecting = { arena, out };
	const struct pkgdb_taker taker = { take_header, &collecting };

	return pkgdb_rpm_each(bytes, &taker, err);
}

/* NAME VERSION-RELEASE INSTALLTIME BUILDTIME VENDOR EPOCH SIZE ARCH EPOCHNUM SOURCERPM */
static int add_line(struct slice line, struct arena *arena, struct pkgdb *out, struct error *err)
{
	struct slice fields[10] = { 0 };
	struct pkgdb_package *p;
	size_t count = 0;

	while (count < ARRAY_LEN(fields) && slice_cut(&line, '\t', &fields[count]))
		count++;
	if (count < 8 || !pkgdb_is_word(fields[0]) || !pkgdb_is_word(fields[1]))
		return error_set(err, ERROR_FORMAT, "a line that is no package");
	p = pkgdb_add(out, "rpm", err);
	if (!p)
		return -1;
	p->name = arena_slice(arena, fields[0]);
	p->version = pkgdb_is_word(fields[8]) && !slice_is(fields[8], "(none)") &&
				     !slice_is(fields[8], "0")
			     ? arena_printf(arena, "%.*s:%.*s", (int)fields[8].len,
					    (const char *)fields[8].data, (int)fields[1].len,
					    (const char *)fields[1].data)
			     : arena_slice(arena, fields[1]);
	p->arch = pkgdb_is_word(fields[7]) ? arena_slice(arena, fields[7]) : "";
	p->source = pkgdb_is_word(fields[9]) ? arena_slice(arena, fields[9]) : "";
	slice_u64(fields[6], &p->bytes);
	return 0;
}

int pkgdb_rpm_manifest(struct slice text, struct arena *arena, struct pkgdb *out, struct error *err)
{
	struct slice line;

	while (slice_cut(&text, '\n', &line)) {
		if (line.len && add_line(line, arena, out, err) < 0)
			return -1;
	}
	return 0;
}
