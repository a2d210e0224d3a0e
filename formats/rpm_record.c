#include "formats/rpm_record.h"

#include "base/alloc.h"
#include "formats/rpm_header_write.h"

enum {
	TAG_I18NTABLE = 100,
	TAG_SUMMARY = 1004,
	TAG_DESCRIPTION = 1005,
	TAG_BUILDTIME = 1006,
	TAG_BUILDHOST = 1007,
	TAG_DISTRIBUTION = 1010,
	TAG_VENDOR = 1011,
	TAG_PACKAGER = 1015,
	TAG_URL = 1020,
	TAG_OS = 1021,
	TAG_FILEVERIFYFLAGS = 1045,
	TAG_CONFLICTFLAGS = 1053,
	TAG_CONFLICTVERSION = 1055,
	TAG_RPMVERSION = 1064,
	TAG_COOKIE = 1094,
	TAG_FILELANGS = 1097,
	TAG_PROVIDEFLAGS = 1112,
	TAG_PROVIDEVERSION = 1113,
	TAG_OBSOLETEFLAGS = 1114,
	TAG_OBSOLETEVERSION = 1115,
	TAG_DISTURL = 1123,
	TAG_PLATFORM = 1132,
	TAG_FILECOLORS = 1140,
	TAG_ENCODING = 5062,
};

/* What is kept as it is. */
static const uint32_t whole[] = {
	TAG_I18NTABLE,
	RPMTAG_NAME,
	RPMTAG_VERSION,
	RPMTAG_RELEASE,
	RPMTAG_EPOCH,
	TAG_SUMMARY,
	TAG_DESCRIPTION,
	TAG_BUILDTIME,
	TAG_BUILDHOST,
	TAG_DISTRIBUTION,
	TAG_VENDOR,
	RPMTAG_LICENSE,
	TAG_PACKAGER,
	RPMTAG_GROUP,
	TAG_URL,
	TAG_OS,
	RPMTAG_ARCH,
	RPMTAG_SOURCERPM,
	TAG_CONFLICTFLAGS,
	RPMTAG_CONFLICTNAME,
	TAG_CONFLICTVERSION,
	TAG_RPMVERSION,
	RPMTAG_OBSOLETENAME,
	TAG_COOKIE,
	TAG_OBSOLETEFLAGS,
	TAG_OBSOLETEVERSION,
	TAG_DISTURL,
	TAG_PLATFORM,
	TAG_ENCODING,
};

/* One value for each file. */
static const uint32_t columns[] = {
	RPMTAG_FILESIZES,     RPMTAG_FILEMODES,    RPMTAG_FILERDEVS,   RPMTAG_FILEMTIMES,
	RPMTAG_FILEDIGESTS,   RPMTAG_FILELINKTOS,  RPMTAG_FILEFLAGS,   RPMTAG_FILEUSERNAME,
	RPMTAG_FILEGROUPNAME, TAG_FILEVERIFYFLAGS, RPMTAG_FILEDEVICES, RPMTAG_FILEINODES,
	TAG_FILELANGS,        RPMTAG_BASENAMES,    TAG_FILECOLORS,     RPMTAG_LONGFILESIZES,
	RPMTAG_FILECAPS,
};

struct record {
	const struct rpm_header *h;
	const uint8_t *kept;  /* by file */
	uint32_t files, left; /* how many there were, and are */
	struct strbuf dirs;   /* the folders of those, */
	struct strbuf dir_of; /* and which each is in */
	uint32_t dir_count;
	struct strbuf programs; /* paths of those that are not kept */
	uint32_t program_count;
	struct rpm_header_writer writer;
};

static bool is_in(const uint32_t *tags, size_t count, uint32_t tag)
{
	for (size_t i = 0; i < count; i++) {
		if (tags[i] == tag)
			return true;
	}
	return false;
}

static void put_bytes(struct record *r, uint32_t tag, uint32_t type, uint32_t count,
		      const struct strbuf *data)
{
	const struct rpm_value v = {
		.tag = tag, .type = type, .count = count, .data = strbuf_slice(data)
	};

	rpm_header_put(&r->writer, &v);
}

static void add_u32(struct strbuf *out, uint32_t v)
{
	const uint8_t bytes[] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8),
				  (uint8_t)v };

	strbuf_add(out, bytes, sizeof(bytes));
}

static void add_text(struct strbuf *out, const char *text)
{
	strbuf_add(out, text, strlen(text) + 1);
}

/* Of a file's folder and name, what the record has of it. */
static void take_file(struct record *r, uint32_t i, const char *dir, uint32_t *number,
		      const char *name)
{
	if (r->kept[i]) {
		if (*number == UINT32_MAX) {
			*number = r->dir_count++;
			add_text(&r->dirs, dir);
		}
		add_u32(&r->dir_of, *number);
		r->left++;
	} else if (str_ends(dir, "bin/")) {
		strbuf_adds(&r->programs, dir);
		add_text(&r->programs, name);
		r->program_count++;
	}
}

static void take_files(struct record *r)
{
	struct rpm_value names = { 0 }, dirs = { 0 }, dir_of = { 0 };
	cleanup_free const char **folders = NULL;
	cleanup_free uint32_t *numbers = NULL;
	uint32_t count;

	if (!rpm_header_find(r->h, RPMTAG_BASENAMES, &names) ||
	    !rpm_header_find(r->h, RPMTAG_DIRNAMES, &dirs) ||
	    !rpm_header_find(r->h, RPMTAG_DIRINDEXES, &dir_of))
		return;
	r->files = names.count;
	count = dirs.count;
	folders = xcalloc((size_t)count + 1, sizeof(*folders));
	numbers = xcalloc((size_t)count + 1, sizeof(*numbers));
	for (uint32_t i = 0; i < count; i++) {
		folders[i] = rpm_value_next(&dirs);
		numbers[i] = UINT32_MAX;
	}
	for (uint32_t i = 0; i < r->files; i++) {
		const char *name = rpm_value_next(&names);
		uint64_t dir = UINT64_MAX;

		if (name && rpm_value_number(&dir_of, i, &dir) && dir < count && folders[dir])
			take_file(r, i, folders[dir], &numbers[dir], name);
	}
}

/* Of one value for each file, those of the files that are kept. */
static void put_column(struct record *r, struct rpm_value v)
{
	cleanup_strbuf struct strbuf data = { 0 };
	bool texts = rpm_value_is_text(&v);
	size_t size = v.data.len / v.count;

	if (v.count != r->files || !r->left)
		return;
	for (uint32_t i = 0; i < r->files; i++) {
		const char *text = texts ? rpm_value_next(&v) : NULL;

		if (r->kept[i] && texts)
			add_text(&data, text);
		else if (r->kept[i])
			strbuf_add(&data, v.data.data + i * size, size);
	}
	put_bytes(r, v.tag, v.type, r->left, &data);
}

/* Of names, flags or versions that are provided: those there are, and of the programs. */
static void put_provided(struct record *r, const struct rpm_value *v)
{
	cleanup_strbuf struct strbuf data = { 0 };
	struct rpm_value names = { 0 };
	bool texts = rpm_value_is_text(v);

	rpm_header_find(r->h, RPMTAG_PROVIDENAME, &names);
	if (v->count != names.count || !rpm_value_is_text(&names)) {
		rpm_header_put(&r->writer, v);
		return;
	}
	strbuf_add(&data, v->data.data, v->data.len);
	if (v->tag == RPMTAG_PROVIDENAME)
		strbuf_add(&data, r->programs.data, r->programs.len);
	else /* no flags, and the empty text */
		strbuf_add_zeros(&data, r->program_count * (texts ? 1 : v->data.len / v->count));
	put_bytes(r, v->tag, texts ? RPM_TYPE_STRING_ARRAY : v->type, v->count + r->program_count,
		  &data);
}

static void put(struct record *r, const struct rpm_value *v)
{
	if (v->tag == RPMTAG_DIRNAMES && r->left)
		put_bytes(r, v->tag, v->type, r->dir_count, &r->dirs);
	else if (v->tag == RPMTAG_DIRINDEXES && r->left)
		put_bytes(r, v->tag, RPM_TYPE_INT32, r->left, &r->dir_of);
	else if (v->tag == RPMTAG_FILEDIGESTALGO && r->left)
		rpm_header_put(&r->writer, v);
	else if (is_in(whole, ARRAY_LEN(whole), v->tag))
		rpm_header_put(&r->writer, v);
	else if (is_in(columns, ARRAY_LEN(columns), v->tag))
		put_column(r, *v);
	else if (v->tag == RPMTAG_PROVIDENAME || v->tag == TAG_PROVIDEFLAGS ||
		 v->tag == TAG_PROVIDEVERSION)
		put_provided(r, v);
}

static void record_release(struct record *r)
{
	strbuf_release(&r->dirs);
	strbuf_release(&r->dir_of);
	strbuf_release(&r->programs);
	rpm_header_writer_release(&r->writer);
}

void rpm_record_header(const struct rpm_header *h, const uint8_t *kept, struct strbuf *out)
{
	struct record r = { .h = h, .kept = kept };

	take_files(&r);
	for (uint32_t i = 0; i < h->count; i++) {
		struct rpm_value v = rpm_header_entry(h, i);

		put(&r, &v);
	}
	rpm_header_write_region(&r.writer, out);
	record_release(&r);
}
