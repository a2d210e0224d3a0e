#include "formats/rpm_files.h"

#include <sys/stat.h>

#include "base/alloc.h"

#define PATH_BYTES_LIMIT (UINT64_C(512) << 20) /* of all paths together */

enum { PATH_LIMIT = 4096, TRIGGERS_MAX = 64, HASH_SHA256 = 8 /* as in OpenPGP */ };

/* The columns of the table of files. */
struct columns {
	struct rpm_value names, dirs, dir_of, links, users, groups, digests, caps;
	struct rpm_value sizes, modes, mtimes, flags, devices, inodes;
};

struct column {
	uint32_t tag;
	size_t offset;
	bool texts, optional, other_count;
	const char *what;
};

#define COLUMN(tag_, member) \
	.tag = tag_, .offset = offsetof(struct columns, member), .what = #member

static const struct column columns[] = {
	{ COLUMN(RPMTAG_BASENAMES, names), .texts = true },
	{ COLUMN(RPMTAG_DIRNAMES, dirs), .texts = true, .other_count = true },
	{ COLUMN(RPMTAG_DIRINDEXES, dir_of) },
	{ COLUMN(RPMTAG_FILELINKTOS, links), .texts = true },
	{ COLUMN(RPMTAG_FILEUSERNAME, users), .texts = true },
	{ COLUMN(RPMTAG_FILEGROUPNAME, groups), .texts = true },
	{ COLUMN(RPMTAG_FILEDIGESTS, digests), .texts = true },
	{ COLUMN(RPMTAG_FILECAPS, caps), .texts = true, .optional = true },
	{ COLUMN(RPMTAG_FILEMODES, modes) },
	{ COLUMN(RPMTAG_FILEMTIMES, mtimes) },
	{ COLUMN(RPMTAG_FILEFLAGS, flags) },
	{ COLUMN(RPMTAG_FILEDEVICES, devices) },
	{ COLUMN(RPMTAG_FILEINODES, inodes) },
};

static int find_columns(const struct rpm_header *h, struct columns *out, uint32_t *out_count,
			struct error *err)
{
	*out_count = rpm_header_find(h, RPMTAG_BASENAMES, &out->names) ? out->names.count : 0;
	for (size_t i = 0; i < ARRAY_LEN(columns) && *out_count; i++) {
		const struct column *c = &columns[i];
		struct rpm_value *v = (struct rpm_value *)((uint8_t *)out + c->offset);
		uint64_t number;

		if (!rpm_header_find(h, c->tag, v)) {
			if (c->optional)
				continue;
			return error_set(err, ERROR_FORMAT, "header: files without their %s",
					 c->what);
		}
		if (c->texts ? !rpm_value_is_text(v) : !rpm_value_number(v, 0, &number))
			return error_set(err, ERROR_FORMAT, "header: the %s of files are malformed",
					 c->what);
		if (!c->other_count && v->count != *out_count)
			return error_set(err, ERROR_FORMAT,
					 "header: %" PRIu32 " files, and %" PRIu32 " %s",
					 *out_count, v->count, c->what);
	}
	if (*out_count && !rpm_header_find(h, RPMTAG_LONGFILESIZES, &out->sizes) &&
	    !rpm_header_find(h, RPMTAG_FILESIZES, &out->sizes))
		return error_set(err, ERROR_FORMAT, "header: files without their sizes");
	if (*out_count && out->sizes.count != *out_count)
		return error_set(err, ERROR_FORMAT,
				 "header: %" PRIu32 " files, and %" PRIu32 " sizes", *out_count,
				 out->sizes.count);
	return 0;
}

/* "/usr/lib/" and "libz.so": every part a name. The root itself is "/" and "". */
static bool is_clean(const char *dir, const char *name)
{
	if (str_equal(dir, "/") && !*name)
		return true;
	if (!*name || strchr(name, '/') || str_equal(name, ".") || str_equal(name, ".."))
		return false;
	if (*dir != '/' || !str_ends(dir, "/") || strstr(dir, "//"))
		return false;
	return !strstr(dir, "/./") && !strstr(dir, "/../");
}

static const char *make_path(const char *dir, const char *name, struct arena *arena,
			     uint64_t *total, struct error *err)
{
	cleanup_strbuf struct strbuf shown = { 0 };
	size_t len = strlen(dir) + strlen(name);

	*total += len;
	if (len > PATH_LIMIT || *total > PATH_BYTES_LIMIT) {
		error_set(err, ERROR_LIMIT, "header: a path of %zu bytes, or too much in all", len);
		return NULL;
	}
	if (!is_clean(dir, name)) {
		strbuf_add_quoted(&shown, slice_str(dir), 100);
		strbuf_adds(&shown, " ");
		strbuf_add_quoted(&shown, slice_str(name), 100);
		error_set(err, ERROR_FORMAT, "header: %s is no proper path", strbuf_text(&shown));
		return NULL;
	}
	return arena_printf(arena, "%s%s", dir + 1, name);
}

static int read_digest(struct rpm_file *f, const char *hex, bool sha256, struct error *err)
{
	if (!sha256 || !*hex || !S_ISREG(f->mode))
		return 0;
	f->has_digest = true;
	if (digest_parse_sha256_hex(slice_str(hex), &f->digest, err) < 0)
		return error_wrap(err, "header: digest of %s", f->path);
	return 0;
}

static uint64_t number_of(const struct rpm_value *v, uint32_t i)
{
	uint64_t n = 0;
	bool ok = rpm_value_number(v, i, &n);

	return ok ? n : 0;
}

static int fill_file(struct rpm_file *f, struct columns *c, uint32_t i, bool sha256,
		     struct error *err)
{
	const char *hex = rpm_value_next(&c->digests), *caps = rpm_value_next(&c->caps);

	f->mode = (uint32_t)number_of(&c->modes, i);
	f->flags = (uint32_t)number_of(&c->flags, i);
	f->size = number_of(&c->sizes, i);
	f->mtime = (int64_t)number_of(&c->mtimes, i);
	f->link = rpm_value_next(&c->links);
	f->user = rpm_value_next(&c->users);
	f->group = rpm_value_next(&c->groups);
	f->caps = caps ? caps : "";
	f->next_twin = RPM_ALONE;
	f->first_twin = f->last_twin = i;
	if (S_ISLNK(f->mode) ? !*f->link : *f->link)
		return error_set(err, ERROR_FORMAT, "header: %s and its target do not agree",
				 f->path);
	if (f->size > INT64_MAX)
		return error_set(err, ERROR_LIMIT, "header: size of %s", f->path);
	return read_digest(f, hex, sha256, err);
}

static int fill_files(struct rpm_package *p, struct arena *arena, struct map *paths,
		      struct columns *c, struct error *err)
{
	const char **dirs = arena_array(arena, (size_t)c->dirs.count + 1, sizeof(*dirs));
	uint32_t dir_count = c->dirs.count;
	uint64_t algorithm = 0, total = 0;

	for (uint32_t i = 0; i < dir_count; i++)
		dirs[i] = rpm_value_next(&c->dirs);
	rpm_header_number(&p->header, RPMTAG_FILEDIGESTALGO, 0, &algorithm);
	for (uint32_t i = 0; i < p->file_count; i++) {
		struct rpm_file *f = &p->files[i];
		uint64_t dir = number_of(&c->dir_of, i);

		if (dir >= dir_count)
			return error_set(err, ERROR_FORMAT, "header: a file in no folder");
		f->path = make_path(dirs[dir], rpm_value_next(&c->names), arena, &total, err);
		if (!f->path || fill_file(f, c, i, algorithm == HASH_SHA256, err) < 0)
			return -1;
		if (f->flags & RPMFILE_GHOST)
			continue;
		if (map_put(paths, f->path, (void *)(uintptr_t)((uint64_t)i + 1)))
			return error_set(err, ERROR_FORMAT, "header: %s stands there twice",
					 f->path);
	}
	return 0;
}

/* The content is stored and checked under the last twin, and used under the first. */
static int check_twins(const struct rpm_package *p, struct error *err)
{
	for (uint32_t i = 0; i < p->file_count; i++) {
		const struct rpm_file *f = &p->files[i], *last = &p->files[f->last_twin];

		if (f->size != last->size || f->has_digest != last->has_digest ||
		    (f->has_digest && !digest_equal(&f->digest, &last->digest)))
			return error_set(err, ERROR_FORMAT,
					 "header: %s and %s are one file, but not of one content",
					 f->path, last->path);
	}
	return 0;
}

/* Regular files of one device and inode are one file. */
static void find_twins(struct rpm_package *p, const struct columns *c)
{
	cleanup_map struct map last = { 0 };

	for (uint32_t i = 0; i < p->file_count; i++) {
		struct rpm_file *f = &p->files[i];
		char key[48];
		uintptr_t before;

		if (!S_ISREG(f->mode) || f->flags & RPMFILE_GHOST)
			continue;
		snprintf(key, sizeof(key), "%" PRIx64 ":%" PRIx64, number_of(&c->devices, i),
			 number_of(&c->inodes, i));
		before = (uintptr_t)map_get(&last, key);
		if (before) {
			p->files[before - 1].next_twin = i;
			f->first_twin = p->files[before - 1].first_twin;
		}
		map_put(&last, key, (void *)(uintptr_t)((uint64_t)i + 1));
	}
	for (uint32_t i = p->file_count; i-- > 0;) {
		struct rpm_file *f = &p->files[i];

		if (f->next_twin != RPM_ALONE)
			f->last_twin = p->files[f->next_twin].last_twin;
	}
}

static void add_script(struct rpm_package *p, const char *name, const char *text,
		       const char *interpreter)
{
	p->scripts[p->script_count++] = (struct rpm_script){
		.name = name,
		.interpreter = interpreter ? interpreter : "/bin/sh",
		.text = text ? text : "",
	};
}

static const struct {
	const char *name;
	uint32_t text, interpreter;
} scriptlets[] = {
	{ "pretrans", RPMTAG_PRETRANS, RPMTAG_PRETRANSPROG },
	{ "pre", RPMTAG_PREIN, RPMTAG_PREINPROG },
	{ "post", RPMTAG_POSTIN, RPMTAG_POSTINPROG },
	{ "posttrans", RPMTAG_POSTTRANS, RPMTAG_POSTTRANSPROG },
	{ "preun", RPMTAG_PREUN, RPMTAG_PREUNPROG },
	{ "postun", RPMTAG_POSTUN, RPMTAG_POSTUNPROG },
};

static const struct trigger {
	const char *name;
	uint32_t texts, interpreters, indexes, flags;
} triggers[] = {
	{ "filetrigger", RPMTAG_FILETRIGGERSCRIPTS, RPMTAG_FILETRIGGERSCRIPTPROG,
	  RPMTAG_FILETRIGGERINDEX, RPMTAG_FILETRIGGERFLAGS },
	{ "transfiletrigger", RPMTAG_TRANSFILETRIGGERSCRIPTS, RPMTAG_TRANSFILETRIGGERSCRIPTPROG,
	  RPMTAG_TRANSFILETRIGGERINDEX, RPMTAG_TRANSFILETRIGGERFLAGS },
};

/* Whether script number `i` runs at an installation. */
static bool runs_at_installation(const struct rpm_header *h, const struct trigger *t, uint32_t i)
{
	enum { TRIGGER_IN = 1 << 16 };
	struct rpm_value indexes, flags;
	uint64_t index, flag;

	if (!rpm_header_find(h, t->indexes, &indexes) || !rpm_header_find(h, t->flags, &flags))
		return false;
	for (uint32_t k = 0; k < indexes.count; k++) {
		if (rpm_value_number(&indexes, k, &index) && index == i &&
		    rpm_value_number(&flags, k, &flag) && flag & TRIGGER_IN)
			return true;
	}
	return false;
}

static void find_triggers(struct rpm_package *p, const struct trigger *t)
{
	struct rpm_value texts = { 0 }, interpreters = { 0 };
	const char *text, *interpreter;

	rpm_header_find(&p->header, t->texts, &texts);
	rpm_header_find(&p->header, t->interpreters, &interpreters);
	for (uint32_t i = 0; (text = rpm_value_next(&texts)) && i < TRIGGERS_MAX; i++) {
		interpreter = rpm_value_next(&interpreters);
		if (runs_at_installation(&p->header, t, i))
			add_script(p, t->name, text, interpreter);
	}
}

static void find_scripts(struct rpm_package *p, struct arena *arena)
{
	p->scripts = arena_array(arena,
				 ARRAY_LEN(scriptlets) + ARRAY_LEN(triggers) * (size_t)TRIGGERS_MAX,
				 sizeof(*p->scripts));
	for (size_t i = 0; i < ARRAY_LEN(scriptlets); i++) {
		const char *text = rpm_header_text(&p->header, scriptlets[i].text);
		const char *interpreter = rpm_header_text(&p->header, scriptlets[i].interpreter);

		if (text || interpreter)
			add_script(p, scriptlets[i].name, text, interpreter);
	}
	for (size_t i = 0; i < ARRAY_LEN(triggers); i++)
		find_triggers(p, &triggers[i]);
}

int rpm_files_fill(struct rpm_package *p, struct arena *arena, struct map *paths, struct error *err)
{
	cleanup_free char *evr = NULL;
	struct columns c = { 0 };
	const char *license;

	if (!rpm_header_identity(&p->header, &p->name, &evr, &p->arch) ||
	    str_equal(p->arch, "(none)"))
		return error_set(err, ERROR_FORMAT,
				 "header: no proper name, version, release and architecture");
	p->version = arena_strdup(arena, evr);
	p->source = rpm_header_text(&p->header, RPMTAG_SOURCERPM);
	license = rpm_header_text(&p->header, RPMTAG_LICENSE);
	p->license = license ? license : "";
	if (!p->source)
		return error_set(err, ERROR_FORMAT,
				 "a source package; it is for building, not for installing");
	if (find_columns(&p->header, &c, &p->file_count, err) < 0)
		return -1;
	if (p->file_count > RPM_FILES_LIMIT)
		return error_set(err, ERROR_LIMIT, "header: more than %d files", RPM_FILES_LIMIT);
	p->files = arena_array(arena, p->file_count, sizeof(*p->files));
	if (fill_files(p, arena, paths, &c, err) < 0)
		return -1;
	find_twins(p, &c);
	if (check_twins(p, err) < 0)
		return -1;
	find_scripts(p, arena);
	return 0;
}
