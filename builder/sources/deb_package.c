#include "builder/sources/deb_package.h"

#include "base/map.h"
#include "builder/sources/deb_record.h"
#include "builder/sources/deb_relation.h"
#include "builder/sources/host_record.h"
#include "builder/sources/package_file.h"
#include "builder/sources/package_source.h"
#include "formats/ar_read.h"
#include "formats/compress.h"
#include "formats/tar_read.h"

enum { ENTRIES_LIMIT = 2000000, CONTROL_FILE_LIMIT = 16 * 1024 * 1024, CONTROL_FILES_LIMIT = 100 };
#define CONTENT_LIMIT (UINT64_C(64) << 30)

struct reading {
	struct component *c;
	struct sink *content;
	uint64_t written; /* bytes of content so far */
	struct map paths; /* path → the entry's type + 1, as a pointer */
	bool has_control;
	bool record; /* only what the package database and the documentation have */
};

static int keep_text(struct reading *r, struct stream *s, struct slice *out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (stream_read_all(s, CONTROL_FILE_LIMIT, &text, err) < 0)
		return -1;
	*out = slice_of(arena_slice(&r->c->arena, strbuf_slice(&text)), text.len);
	return 0;
}

static bool is_script(const char *name)
{
	static const char *const names[] = { "preinst", "postinst", "prerm", "postrm", "config" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_equal(name, names[i]))
			return true;
	}
	return false;
}

static int keep_script(struct reading *r, const char *name, struct stream *s, struct error *err)
{
	struct component_script script = { .name = arena_strdup(&r->c->arena, name) };
	struct slice text;

	if (keep_text(r, s, &text, err) < 0)
		return -1;
	script.text = (const char *)text.data;
	script.len = text.len;
	for (size_t i = 0; i < r->c->scripts.len; i++) {
		if (str_equal(r->c->scripts.items[i].name, name))
			return error_set(err, ERROR_FORMAT, "%s stands there twice", name);
	}
	vec_push(&r->c->scripts, script);
	return 0;
}

/* Any other: dpkg keeps them all, under names that are a file's and nothing else. */
static int keep_control(struct reading *r, const struct tar_entry *e, struct stream *s,
			struct error *err)
{
	struct component_control control = { .name = arena_strdup(&r->c->arena, e->path),
					     .mode = e->mode & 0777 };

	if (!*e->path ||
	    strspn(e->path, "abcdefghijklmnopqrstuvwxyz0123456789-_") != strlen(e->path))
		return 0;
	for (size_t i = 0; i < r->c->controls.len; i++) {
		if (str_equal(r->c->controls.items[i].name, e->path))
			return error_set(err, ERROR_FORMAT, "%s stands there twice", e->path);
	}
	if (keep_text(r, s, &control.text, err) < 0)
		return -1;
	vec_push(&r->c->controls, control);
	return 0;
}

static int read_control_entry(struct reading *r, const struct tar_entry *e, struct stream *s,
			      struct error *err)
{
	static const struct {
		const char *name;
		size_t offset;
	} kept[] = {
		{ "control", offsetof(struct component, control) },
		{ "conffiles", offsetof(struct component, conffiles) },
		{ "md5sums", offsetof(struct component, md5sums) },
		{ "triggers", offsetof(struct component, triggers) },
	};

	if (e->type != TAR_FILE)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		struct slice *out = (struct slice *)((uint8_t *)r->c + kept[i].offset);

		if (!str_equal(e->path, kept[i].name))
			continue;
		if (out->data)
			return error_set(err, ERROR_FORMAT, "%s stands there twice", e->path);
		return keep_text(r, s, out, err);
	}
	return is_script(e->path) ? keep_script(r, e->path, s, err) : keep_control(r, e, s, err);
}

/* Name, version and so on of the control stanza. */
static int read_stanza(struct reading *r, struct error *err)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice rest = r->c->control, name, version, arch, source, word;
	size_t line = 1;
	int rc = deb822_next(&rest, "control", &line, &stanza, err);

	if (rc < 0)
		return -1;
	name = deb822_get(&stanza, "package");
	version = deb822_get(&stanza, "version");
	arch = deb822_get(&stanza, "architecture");
	source = deb822_get(&stanza, "source");
	if (!deb_name_valid(name) || !deb_version_valid(version) || !deb_name_valid(arch))
		return error_set(err, ERROR_FORMAT,
				 "control: no proper Package, Version and Architecture");
	if (!slice_cut(&source, ' ', &word) || !word.len)
		word = name;
	r->c->name = arena_slice(&r->c->arena, name);
	r->c->version = arena_slice(&r->c->arena, version);
	r->c->arch = arena_slice(&r->c->arena, arch);
	r->c->source_name = arena_slice(&r->c->arena, word);
	return 0;
}

static int read_control(struct reading *r, struct stream *plain, struct error *err)
{
	cleanup_tar_reader struct tar_reader *tar = tar_read_open(plain);
	struct tar_entry e;
	size_t count = 0;
	int rc;

	while ((rc = tar_read_next(tar, &e, err)) > 0) {
		if (++count > CONTROL_FILES_LIMIT)
			return error_set(err, ERROR_LIMIT, "more than %d files",
					 CONTROL_FILES_LIMIT);
		if (read_control_entry(r, &e, tar_read_content(tar), err) < 0)
			return -1;
	}
	if (rc < 0)
		return -1;
	if (!r->c->control.data)
		return error_set(err, ERROR_FORMAT, "holds no file control");
	r->has_control = true;
	return read_stanza(r, err);
}

static void *type_mark(enum tar_type type)
{
	return (void *)(uintptr_t)(type + 1);
}

/* A path below a symlink of the same package would end up wherever that points. */
static int check_parents(const struct reading *r, const char *path, struct error *err)
{
	cleanup_free char *copy = xstrdup(path);
	char *slash;

	while ((slash = strrchr(copy, '/'))) {
		void *mark;

		*slash = 0;
		mark = map_get(&r->paths, copy);
		if (mark && mark != type_mark(TAR_DIR))
			return error_set(err, ERROR_FORMAT,
					 "%s lies below %s, which is no folder in this package",
					 path, copy);
	}
	return 0;
}

static int check_entry(const struct reading *r, const struct tar_entry *e, struct error *err)
{
	void *before = map_get(&r->paths, e->path), *target;

	if (e->type == TAR_CHAR || e->type == TAR_BLOCK || e->type == TAR_FIFO)
		return error_set(err, ERROR_FORMAT, "%s is a device node or pipe", e->path);
	if (strchr(e->path, '\n')) /* its lists of files have one a line; dpkg refuses them too */
		return error_set(err, ERROR_FORMAT, "%s: a line break in a name", e->path);
	if (before && !(e->type == TAR_DIR && before == type_mark(TAR_DIR)))
		return error_set(err, ERROR_FORMAT, "%s stands there twice", e->path);
	if (e->type == TAR_HARDLINK) {
		target = map_get(&r->paths, e->link);
		if (target != type_mark(TAR_FILE) && target != type_mark(TAR_HARDLINK))
			return error_set(err, ERROR_FORMAT,
					 "%s is a hard link to %s, which is no file before it",
					 e->path, e->link);
	}
	if (r->c->entries.len == ENTRIES_LIMIT)
		return error_set(err, ERROR_LIMIT, "more than %d entries", ENTRIES_LIMIT);
	return check_parents(r, e->path, err);
}

static int read_data_entry(struct reading *r, const struct tar_entry *e, struct stream *s,
			   struct error *err)
{
	struct component_entry *made;
	uint64_t bytes = 0;

	if (check_entry(r, e, err) < 0)
		return -1;
	if (map_put(&r->paths, e->path, type_mark(e->type)))
		return 0; /* a folder again */
	if (r->record && !host_record_keeps(e))
		return 0;
	made = component_add(r->c, e);
	if (e->type != TAR_FILE)
		return 0;
	if (e->size > CONTENT_LIMIT - r->written)
		return error_set(err, ERROR_LIMIT, "%s: more than 64 GiB of content", e->path);
	if (sink_copy(r->content, s, &bytes, err) < 0)
		return error_wrap(err, "%s", e->path);
	if (bytes != e->size)
		return error_set(err, ERROR_FORMAT, "%s: %" PRIu64 " bytes instead of %" PRIu64,
				 e->path, bytes, e->size);
	made->content = (struct content){
		.kind = CONTENT_RANGE, .fd = -1, .offset = r->written, .path = made->tar.path
	};
	r->written += bytes;
	return 0;
}

static int read_data(struct reading *r, struct stream *plain, struct error *err)
{
	cleanup_tar_reader struct tar_reader *tar = tar_read_open(plain);
	struct tar_entry e;
	int rc;

	while ((rc = tar_read_next(tar, &e, err)) > 0) {
		if (read_data_entry(r, &e, tar_read_content(tar), err) < 0)
			return -1;
	}
	return rc;
}

typedef int read_tar_fn(struct reading *r, struct stream *plain, struct error *err);

/* "control.tar", "data.tar", and with ".gz", ".xz" or ".zst". The bytes say which it is. */
static bool is_tar_member(const char *name, const char *stem)
{
	size_t n = strlen(stem);

	return strncmp(name, stem, n) == 0 && (name[n] == 0 || name[n] == '.');
}

static int read_tar_member(struct reading *r, struct ar_reader *ar, const char *name,
			   read_tar_fn *read_tar, struct error *err)
{
	cleanup_stream struct stream *plain = decompress_auto(ar_read_content(ar), NULL, err);

	if (!plain || read_tar(r, plain, err) < 0)
		return error_wrap(err, "%s", name);
	return 0;
}

static int read_version(struct ar_reader *ar, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (stream_read_all(ar_read_content(ar), 64, &text, err) < 0)
		return -1;
	if (!str_starts(strbuf_text(&text), "2."))
		return error_set(err, ERROR_FORMAT, "debian-binary: not format 2");
	return 0;
}

static int read_members(struct reading *r, struct ar_reader *ar, struct error *err)
{
	bool has_version = false, has_data = false;
	struct ar_member m;
	int rc = 0;

	while ((rc = ar_read_next(ar, &m, err)) > 0) {
		rc = 0;
		if (!has_version) {
			if (!str_equal(m.name, "debian-binary"))
				return error_set(err, ERROR_FORMAT,
						 "no .deb: it does not begin with debian-binary");
			has_version = true;
			rc = read_version(ar, err);
		} else if (is_tar_member(m.name, "control.tar") && !r->has_control) {
			rc = read_tar_member(r, ar, m.name, read_control, err);
		} else if (is_tar_member(m.name, "data.tar") && r->has_control && !has_data) {
			has_data = true;
			rc = read_tar_member(r, ar, m.name, read_data, err);
		} else if (m.name[0] != '_') {
			rc = error_set(err, ERROR_FORMAT, "%.60s is not expected there", m.name);
		}
		if (rc < 0)
			return -1;
	}
	if (rc == 0 && !has_data)
		return error_set(err, ERROR_FORMAT,
				 "no .deb: control.tar and data.tar are missing");
	return rc;
}

static int read_package(struct reading *r, struct stream *file, struct error *err)
{
	cleanup_ar_reader struct ar_reader *ar = ar_read_open(file);
	int rc = read_members(r, ar, err);

	if (rc == 0)
		rc = sink_finish(r->content, err);
	map_release(&r->paths);
	return rc;
}

int deb_read(struct stream *file, struct sink *content, struct component *c, struct error *err)
{
	struct reading r = { .c = c, .content = content };

	return read_package(&r, file, err);
}

int deb_read_record(struct stream *file, struct sink *content, struct component *c,
		    struct error *err)
{
	struct reading r = { .c = c, .content = content, .record = true };

	if (read_package(&r, file, err) < 0)
		return -1;
	deb_record_reduce(c);
	return 0;
}

struct component *deb_open(struct store *store, const struct lock_input *input, struct error *err)
{
	static const struct package_format format = {
		.kind = COMPONENT_DEB, .recipe = "deb 1", .listing = "index", .unpack = deb_read
	};
	static const struct package_format record = { .kind = COMPONENT_DEB,
						      .recipe = "deb record 1",
						      .listing = "index",
						      .unpack = deb_read_record };

	return package_file_open(store, input, lock_input_is_hosts(input) ? &record : &format, err);
}
