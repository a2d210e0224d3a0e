#include "builder/sources/rpm_package.h"

#include <sys/stat.h>

#include "base/map.h"
#include "builder/sources/host_record.h"
#include "builder/sources/package_file.h"
#include "builder/sources/package_source.h"
#include "formats/doc_path.h"
#include "formats/file_caps.h"
#include "formats/rpm_read.h"
#include "formats/rpm_record.h"

#define CONTENT_LIMIT (UINT64_C(64) << 30)

/* Where the bytes of a file lie in the content. */
struct place {
	uint64_t offset, size;
};

struct unpacking {
	struct component *c;
	struct sink *content;
	const struct rpm_package *package;
	struct place *places; /* by file; of files that are one under the last */
	uint64_t written;     /* bytes of content so far */
	uint8_t *kept;        /* of a record, by file: 1 when the image has it; else NULL */
};

static int unpack_file(struct unpacking *u, struct rpm_reader *reader, uint32_t i,
		       struct error *err)
{
	const struct rpm_file *f = &u->package->files[i];
	uint64_t bytes = 0;

	if (!S_ISREG(f->mode) || f->last_twin != i)
		return 0;
	if (u->kept && !doc_path_is(u->package->files[f->first_twin].path))
		return 0;
	if (f->size > CONTENT_LIMIT - u->written)
		return error_set(err, ERROR_LIMIT, "%s: more than 64 GiB of content", f->path);
	if (sink_copy(u->content, rpm_read_content(reader), &bytes, err) < 0)
		return -1;
	u->places[i] = (struct place){ .offset = u->written, .size = bytes };
	u->written += bytes;
	return 0;
}

static int unpack_payload(struct unpacking *u, struct rpm_reader *reader, struct error *err)
{
	uint32_t i = 0;
	int rc;

	while ((rc = rpm_read_next(reader, &i, err)) > 0) {
		if (unpack_file(u, reader, i, err) < 0)
			return -1;
	}
	return rc;
}

static int set_type(const struct rpm_package *p, uint32_t i, struct tar_entry *tar,
		    struct error *err)
{
	const struct rpm_file *f = &p->files[i];

	if (S_ISDIR(f->mode)) {
		tar->type = TAR_DIR;
	} else if (S_ISLNK(f->mode)) {
		tar->type = TAR_SYMLINK;
		tar->link = f->link;
	} else if (!S_ISREG(f->mode)) {
		return error_set(err, ERROR_FORMAT, "%s is a device node, pipe or socket", f->path);
	} else if (f->first_twin != i) {
		tar->type = TAR_HARDLINK;
		tar->link = p->files[f->first_twin].path;
	} else {
		tar->type = TAR_FILE;
		tar->size = f->size;
	}
	return 0;
}

static void set_owner(struct unpacking *u, const struct rpm_file *f)
{
	struct arena *a = &u->c->arena;
	struct component_owner owner = { .entry = u->c->entries.len - 1 };

	if (str_equal(f->user, "root") && str_equal(f->group, "root"))
		return;
	owner.user = arena_strdup(a, f->user);
	owner.group = arena_strdup(a, f->group);
	vec_push(&u->c->owners, owner);
}

static int add_entry(struct unpacking *u, uint32_t i, struct error *err)
{
	const struct rpm_file *f = &u->package->files[i];
	struct tar_entry tar = { .path = f->path,
				 .link = "",
				 .mode = f->mode & 07777,
				 .mtime = MAX(f->mtime, INT64_C(0)) };
	uint8_t caps[FILE_CAPS_BYTES];
	const struct tar_xattr xattr = { "security.capability", caps, sizeof(caps) };
	const struct tar_extras extras = { .xattrs = &xattr, .xattr_count = 1 };
	struct component_entry *made;

	if (f->flags & RPMFILE_GHOST || !*f->path)
		return 0;
	if (set_type(u->package, i, &tar, err) < 0)
		return -1;
	if (u->kept) {
		u->kept[i] = host_record_keeps(&tar);
		if (!u->kept[i])
			return 0;
	}
	if (*f->caps && tar.type == TAR_FILE) {
		if (!file_caps_encode(f->caps, caps))
			return error_set(err, ERROR_FORMAT,
					 "%s has capabilities '%.80s', which "
					 "are not known",
					 f->path, f->caps);
		tar.extras = &extras;
	}
	made = component_add(u->c, &tar);
	set_owner(u, f);
	if (tar.type != TAR_FILE)
		return 0;
	made->content = (struct content){ .kind = CONTENT_RANGE,
					  .fd = -1,
					  .offset = u->places[f->last_twin].offset,
					  .path = made->tar.path };
	if (f->has_digest)
		content_set_digest(&made->content, &f->digest);
	return 0;
}

/* A path below a symlink or file of the same package would end up wherever that points. */
static int check_parents(const struct map *others, const char *path, struct error *err)
{
	cleanup_free char *copy = xstrdup(path);
	char *slash;

	while ((slash = strrchr(copy, '/'))) {
		*slash = '\0';
		if (map_has(others, copy))
			return error_set(err, ERROR_FORMAT,
					 "%s lies below %s, which is no folder in this package",
					 path, copy);
	}
	return 0;
}

static int check_tree(const struct component *c, struct error *err)
{
	cleanup_map struct map others = { 0 };

	for (size_t i = 0; i < c->entries.len; i++) {
		if (c->entries.items[i].tar.type != TAR_DIR)
			map_put(&others, c->entries.items[i].tar.path, (void *)(uintptr_t)1);
	}
	for (size_t i = 0; i < c->entries.len; i++) {
		if (check_parents(&others, c->entries.items[i].tar.path, err) < 0)
			return -1;
	}
	return 0;
}

static struct slice keep(struct component *c, struct slice bytes)
{
	return slice_of(arena_slice(&c->arena, bytes), bytes.len);
}

static void describe(struct component *c, const struct rpm_package *p)
{
	c->name = arena_strdup(&c->arena, p->name);
	c->version = arena_strdup(&c->arena, p->version);
	c->arch = arena_strdup(&c->arena, p->arch);
	c->source_name = arena_strdup(&c->arena, p->source);
	c->license = arena_strdup(&c->arena, p->license);
	c->rpm_header = keep(c, p->header_blob);
	c->rpm_signature = keep(c, p->signature_blob);
	for (size_t i = 0; i < p->script_count; i++) {
		struct component_script script = {
			.name = p->scripts[i].name,
			.text = arena_strdup(&c->arena, p->scripts[i].text),
			.len = strlen(p->scripts[i].text),
			.interpreter = arena_strdup(&c->arena, p->scripts[i].interpreter),
		};

		vec_push(&c->scripts, script);
	}
}

/* The record of a package that the host brings: what is true without its files. */
static void reduce(struct unpacking *u)
{
	static const uint8_t no_signature[8]; /* no entries, no bytes of values */
	cleanup_strbuf struct strbuf header = { 0 };

	rpm_record_header(&u->package->header, u->kept, &header);
	u->c->rpm_header = keep(u->c, strbuf_slice(&header));
	u->c->rpm_signature = keep(u->c, slice_of(no_signature, sizeof(no_signature)));
	u->c->scripts.len = 0;
}

static int unpack(struct unpacking *u, struct stream *file, bool record, struct error *err)
{
	cleanup_rpm_reader struct rpm_reader *reader = rpm_read_open(file, err);
	cleanup_free struct place *places = NULL;
	cleanup_free uint8_t *kept = NULL;

	if (!reader)
		return -1;
	u->package = rpm_read_package(reader);
	u->places = places = xcalloc((size_t)u->package->file_count + 1, sizeof(*places));
	u->kept = kept = record ? xcalloc((size_t)u->package->file_count + 1, 1) : NULL;
	describe(u->c, u->package);
	if (unpack_payload(u, reader, err) < 0)
		return -1;
	for (uint32_t i = 0; i < u->package->file_count; i++) {
		if (add_entry(u, i, err) < 0)
			return -1;
	}
	if (check_tree(u->c, err) < 0)
		return -1;
	if (record)
		reduce(u);
	return sink_finish(u->content, err);
}

int rpm_unpack(struct stream *file, struct sink *content, struct component *c, struct error *err)
{
	struct unpacking u = { .c = c, .content = content };

	return unpack(&u, file, false, err);
}

int rpm_unpack_record(struct stream *file, struct sink *content, struct component *c,
		      struct error *err)
{
	struct unpacking u = { .c = c, .content = content };

	return unpack(&u, file, true, err);
}

struct component *rpm_open(struct store *store, const struct lock_input *input, struct error *err)
{
	static const struct package_format format = { .kind = COMPONENT_RPM,
						      .recipe = "rpm 1",
						      .listing = "metadata",
						      .unpack = rpm_unpack };
	static const struct package_format record = { .kind = COMPONENT_RPM,
						      .recipe = "rpm record 1",
						      .listing = "metadata",
						      .unpack = rpm_unpack_record };

	return package_file_open(store, input, lock_input_is_hosts(input) ? &record : &format, err);
}
