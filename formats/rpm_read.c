#include "formats/rpm_read.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/reader.h"
#include "formats/compress.h"
#include "formats/rpm_files.h"

enum {
	LEAD_BYTES = 96,
	MAGIC_BYTES = 8,
	SIGNATURE_LIMIT = 16 * 1024 * 1024,
	NEWC_BYTES = 110,
	STRIPPED_BYTES = 14,
	NAME_LIMIT = 8192,
};

static const uint8_t lead_magic[] = { 0xed, 0xab, 0xee, 0xdb };
static const uint8_t header_magic[MAGIC_BYTES] = { 0x8e, 0xad, 0xe8, 0x01, 0, 0, 0, 0 };

/* Content of one file of the payload. */
struct content {
	struct stream base;
	struct rpm_reader *reader;
	uint64_t left; /* bytes */
	bool checked;  /* against `want` at its end */
	struct digest want;
	struct digest_state state;
	const char *path;
};

struct rpm_reader {
	struct stream *file; /* borrowed */
	struct stream *hashed, *plain;
	struct digest_state packed;
	struct arena arena;
	struct map paths;
	struct rpm_package package;
	uint8_t *seen; /* by file */
	struct content content;
	uint64_t offset; /* bytes of the payload so far, of the padding's sake */
	bool has_digest, ended;
	struct digest digest; /* of the packed payload */
};

/* ---- headers ---- */

static int read_lead(struct stream *file, struct error *err)
{
	uint8_t lead[LEAD_BYTES];

	if (stream_read_exact(file, lead, sizeof(lead), err) < 0)
		return error_wrap(err, "lead");
	if (memcmp(lead, lead_magic, sizeof(lead_magic)) != 0)
		return error_set(err, ERROR_FORMAT, "no .rpm: it does not begin as one");
	if (lead[4] < 3)
		return error_set(err, ERROR_FORMAT, "an .rpm of format %u; 3 and 4 are read",
				 lead[4]);
	return 0;
}

/* One header with its magic. `out` is the blob without it, in the arena. */
static int read_header(struct rpm_reader *r, uint64_t limit, struct digest_state *state,
		       struct slice *out, struct error *err)
{
	uint8_t head[MAGIC_BYTES + 8];
	struct reader sizes;
	uint64_t entries, bytes;
	uint8_t *blob;

	if (stream_read_exact(r->file, head, sizeof(head), err) < 0)
		return -1;
	if (memcmp(head, header_magic, sizeof(header_magic)) != 0)
		return error_set(err, ERROR_FORMAT, "does not begin as one");
	sizes = reader_of(slice_of(head + MAGIC_BYTES, 8));
	sizes.big_endian = true;
	entries = reader_u32(&sizes);
	bytes = reader_u32(&sizes);
	if (entries > RPM_ENTRIES_LIMIT || bytes > limit)
		return error_set(err, ERROR_LIMIT,
				 "%" PRIu64 " entries and %" PRIu64
				 " bytes, more than %d or %" PRIu64,
				 entries, bytes, RPM_ENTRIES_LIMIT, limit);
	bytes += 8 + entries * RPM_ENTRY_BYTES;
	blob = arena_alloc(&r->arena, bytes);
	memcpy(blob, head + MAGIC_BYTES, 8);
	if (stream_read_exact(r->file, blob + 8, bytes - 8, err) < 0)
		return -1;
	if (state) {
		digest_update(state, head, MAGIC_BYTES);
		digest_update(state, blob, bytes);
	}
	*out = slice_of(blob, bytes);
	return 0;
}

static int parse_header(struct slice blob, struct rpm_header *out, struct error *err)
{
	uint32_t tag;

	if (rpm_header_parse(blob, out, err) < 0)
		return -1;
	if (rpm_header_repeats(out, &tag))
		return error_set(err, ERROR_FORMAT, "header: tag %" PRIu32 " stands there twice",
				 tag);
	return 0;
}

static int read_signature(struct rpm_reader *r, struct error *err)
{
	struct rpm_package *p = &r->package;
	uint8_t padding[8];
	size_t odd;

	if (read_header(r, SIGNATURE_LIMIT, NULL, &p->signature_blob, err) < 0 ||
	    parse_header(p->signature_blob, &p->signature, err) < 0)
		return error_wrap(err, "signature header");
	odd = p->signature.store.len % 8;
	if (odd && stream_read_exact(r->file, padding, 8 - odd, err) < 0)
		return error_wrap(err, "signature header");
	return 0;
}

static int read_main(struct rpm_reader *r, struct error *err)
{
	cleanup_digest struct digest_state state = { 0 };
	struct rpm_package *p = &r->package;
	const char *hex = rpm_header_text(&p->signature, RPMTAG_SHA256HEADER);
	char shown[DIGEST_TEXT_MAX];
	struct digest got, want;

	digest_init(&state, DIGEST_SHA256);
	if (read_header(r, RPM_HEADER_LIMIT, &state, &p->header_blob, err) < 0)
		return error_wrap(err, "header");
	got = digest_finish(&state);
	if (hex) {
		if (digest_parse_sha256_hex(slice_str(hex), &want, err) < 0)
			return error_wrap(err, "signature header");
		if (!digest_equal(&got, &want))
			return error_set(err, ERROR_INTEGRITY,
					 "header: has digest %s, which is not what the package "
					 "says",
					 digest_text(&got, shown));
	}
	return parse_header(p->header_blob, &p->header, err);
}

/* ---- payload ---- */

static ssize_t plain_read(struct rpm_reader *r, void *buf, size_t len, struct error *err)
{
	ssize_t n = stream_read(r->plain, buf, len, err);

	if (n > 0)
		r->offset += (uint64_t)n;
	return n;
}

static int plain_exact(struct rpm_reader *r, void *buf, size_t len, struct error *err)
{
	if (stream_read_exact(r->plain, buf, len, err) < 0)
		return -1;
	r->offset += len;
	return 0;
}

/* Everything in the archive begins at a multiple of four. */
static int plain_align(struct rpm_reader *r, struct error *err)
{
	uint8_t padding[4];
	size_t odd = (size_t)(r->offset % 4);

	return odd ? plain_exact(r, padding, 4 - odd, err) : 0;
}

static int content_end(struct content *c, struct error *err)
{
	struct digest got;
	char text[DIGEST_TEXT_MAX];

	if (!c->checked)
		return 0;
	c->checked = false;
	got = digest_finish(&c->state);
	digest_release(&c->state);
	if (digest_equal(&got, &c->want))
		return 0;
	return error_set(err, ERROR_INTEGRITY,
			 "%s: has digest %s, which is not what the package says", c->path,
			 digest_text(&got, text));
}

static ssize_t content_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct content *c = (struct content *)base;
	ssize_t n;

	if (!c->left)
		return content_end(c, err);
	n = plain_read(c->reader, buf, (size_t)MIN((uint64_t)len, c->left), err);
	if (n < 0)
		return -1;
	if (n == 0)
		return error_set(err, ERROR_FORMAT, "%s: ends early, %" PRIu64 " bytes are missing",
				 c->path, c->left);
	if (c->checked)
		digest_update(&c->state, buf, (size_t)n);
	c->left -= (uint64_t)n;
	return n;
}

/* Eight hexadecimal digits. */
static bool read_hex(const uint8_t *at, uint32_t *out)
{
	uint32_t v = 0;

	for (int i = 0; i < 8; i++) {
		uint8_t c = at[i];
		uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
				 : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
							: 16;

		if (digit > 15)
			return false;
		v = v << 4 | digit;
	}
	*out = v;
	return true;
}

/* Whether the payload holds this file's bytes at this place. */
static bool has_content(const struct rpm_package *p, uint32_t i)
{
	const struct rpm_file *f = &p->files[i];

	return S_ISLNK(f->mode) || (S_ISREG(f->mode) && f->last_twin == i);
}

/* "./usr/bin/x" or "/usr/bin/x"; the root itself is ".". */
static const char *member_path(const char *name)
{
	if (str_starts(name, "./"))
		return name + 2;
	if (*name == '/')
		return name + 1;
	return str_equal(name, ".") ? "" : name;
}

/* The rest of a newc header. *out_index RPM_ALONE: the trailer. */
static int read_newc(struct rpm_reader *r, const uint8_t *head, uint32_t *out_index,
		     uint64_t *out_size, struct error *err)
{
	uint8_t rest[NEWC_BYTES - STRIPPED_BYTES];
	char name[NAME_LIMIT + 1];
	uint32_t size, name_bytes, ignored;
	uintptr_t found;

	if (plain_exact(r, rest, sizeof(rest), err) < 0)
		return -1;
	if (!read_hex(head + 6, &ignored) || !read_hex(rest + 40, &size) ||
	    !read_hex(rest + 80, &name_bytes) || !name_bytes || name_bytes > NAME_LIMIT)
		return error_set(err, ERROR_FORMAT, "payload: a malformed header of cpio");
	if (plain_exact(r, name, name_bytes, err) < 0 || plain_align(r, err) < 0)
		return -1;
	name[name_bytes] = '\0';
	*out_size = size;
	if (str_equal(name, "TRAILER!!!")) {
		*out_index = RPM_ALONE;
		return 0;
	}
	found = (uintptr_t)map_get(&r->paths, member_path(name));
	if (!found || strlen(name) + 1 != name_bytes) {
		cleanup_strbuf struct strbuf shown = { 0 };

		strbuf_add_quoted(&shown, slice_str(name), 120);
		return error_set(err, ERROR_FORMAT, "payload: %s is no file of the header",
				 strbuf_text(&shown));
	}
	*out_index = (uint32_t)(found - 1);
	return 0;
}

static int read_stripped(struct rpm_reader *r, const uint8_t *head, uint32_t *out_index,
			 uint64_t *out_size, struct error *err)
{
	const struct rpm_package *p = &r->package;

	if (!read_hex(head + 6, out_index))
		return error_set(err, ERROR_FORMAT, "payload: a malformed header of cpio");
	if (plain_align(r, err) < 0)
		return -1;
	if (*out_index == RPM_ALONE)
		return 0;
	if (*out_index >= p->file_count || p->files[*out_index].flags & RPMFILE_GHOST)
		return error_set(err, ERROR_FORMAT,
				 "payload: number %" PRIu32 " is no file of the header",
				 *out_index);
	*out_size = has_content(p, *out_index) ? p->files[*out_index].size : 0;
	return 0;
}

static int read_member(struct rpm_reader *r, uint32_t *out_index, uint64_t *out_size,
		       struct error *err)
{
	uint8_t head[STRIPPED_BYTES];

	if (plain_align(r, err) < 0 || plain_exact(r, head, sizeof(head), err) < 0)
		return -1;
	if (memcmp(head, "07070X", 6) == 0)
		return read_stripped(r, head, out_index, out_size, err);
	if (memcmp(head, "070701", 6) == 0 || memcmp(head, "070702", 6) == 0)
		return read_newc(r, head, out_index, out_size, err);
	return error_set(err, ERROR_FORMAT, "payload: no header of cpio where one must be");
}

/* What the payload says of a file must agree with the header. */
static int check_member(struct rpm_reader *r, uint32_t i, uint64_t size, struct error *err)
{
	const struct rpm_file *f = &r->package.files[i];
	uint64_t want = has_content(&r->package, i) ? f->size : 0;

	if (r->seen[i])
		return error_set(err, ERROR_FORMAT, "payload: %s stands there twice", f->path);
	r->seen[i] = 1;
	if (S_ISLNK(f->mode))
		want = strlen(f->link);
	if (size != want)
		return error_set(err, ERROR_FORMAT,
				 "payload: %s has %" PRIu64 " bytes instead of %" PRIu64, f->path,
				 size, want);
	return 0;
}

static int check_all_seen(const struct rpm_reader *r, struct error *err)
{
	for (uint32_t i = 0; i < r->package.file_count; i++) {
		if (!r->seen[i] && !(r->package.files[i].flags & RPMFILE_GHOST))
			return error_set(err, ERROR_FORMAT, "payload: %s is missing",
					 r->package.files[i].path);
	}
	return 0;
}

/* All of the payload has been used; its digest, and that nothing follows. */
static int end_payload(struct rpm_reader *r, struct error *err)
{
	char text[DIGEST_TEXT_MAX];
	struct digest got;
	uint64_t behind = 0;

	if (stream_drain(r->plain, NULL, err) < 0 || stream_drain(r->hashed, &behind, err) < 0)
		return error_wrap(err, "payload");
	if (behind)
		return error_set(err, ERROR_FORMAT, "%" PRIu64 " bytes behind the payload", behind);
	got = digest_finish(&r->packed);
	if (r->has_digest && !digest_equal(&got, &r->digest))
		return error_set(err, ERROR_INTEGRITY,
				 "payload: has digest %s, which is not what the package says",
				 digest_text(&got, text));
	return check_all_seen(r, err);
}

static void begin_content(struct rpm_reader *r, uint32_t i, uint64_t size)
{
	const struct rpm_file *f = &r->package.files[i];
	struct content *c = &r->content;

	c->left = size;
	c->path = f->path;
	c->checked = f->has_digest && f->last_twin == i;
	c->want = f->digest;
	if (c->checked)
		digest_init(&c->state, DIGEST_SHA256);
}

int rpm_read_next(struct rpm_reader *r, uint32_t *out_file, struct error *err)
{
	uint64_t size = 0;
	uint32_t i = RPM_ALONE;

	if (r->ended)
		return 0;
	if (stream_drain(&r->content.base, NULL, err) < 0)
		return -1;
	if (read_member(r, &i, &size, err) < 0)
		return error_wrap(err, "payload");
	if (i == RPM_ALONE) {
		r->ended = true;
		return end_payload(r, err);
	}
	if (check_member(r, i, size, err) < 0)
		return -1;
	begin_content(r, i, size);
	*out_file = i;
	return 1;
}

struct stream *rpm_read_content(struct rpm_reader *r)
{
	return &r->content.base;
}

/* The digest that the header has for the payload, and how it is packed. */
static int open_payload(struct rpm_reader *r, struct error *err)
{
	const struct rpm_header *h = &r->package.header;
	const char *format = rpm_header_text(h, RPMTAG_PAYLOADFORMAT);
	const char *packed = rpm_header_text(h, RPMTAG_PAYLOADCOMPRESSOR);
	const char *hex = rpm_header_text(h, RPMTAG_PAYLOADDIGEST);
	static const char *const known[] = { "gzip", "xz", "zstd", "none" };
	bool is_known = !packed;
	uint64_t algorithm = 8;

	for (size_t i = 0; i < ARRAY_LEN(known) && packed; i++)
		is_known |= str_equal(packed, known[i]);
	if (!is_known || (format && !str_equal(format, "cpio")))
		return error_set(err, ERROR_FORMAT,
				 "a payload of form %.20s packed with %.20s; cpio with gzip, xz "
				 "or zstd is read",
				 format ? format : "cpio", packed ? packed : "");
	rpm_header_number(h, RPMTAG_PAYLOADDIGESTALGO, 0, &algorithm);
	r->has_digest = hex && algorithm == 8;
	if (r->has_digest && digest_parse_sha256_hex(slice_str(hex), &r->digest, err) < 0)
		return error_wrap(err, "header: digest of the payload");
	digest_init(&r->packed, DIGEST_SHA256);
	r->hashed = stream_digest(r->file, &r->packed, NULL);
	r->plain = decompress_auto(r->hashed, NULL, err);
	return r->plain ? 0 : error_wrap(err, "payload");
}

static int open_into(struct rpm_reader *r, struct error *err)
{
	struct rpm_package *p = &r->package;

	if (read_lead(r->file, err) < 0 || read_signature(r, err) < 0 || read_main(r, err) < 0 ||
	    rpm_files_fill(p, &r->arena, &r->paths, err) < 0)
		return -1;
	r->seen = arena_alloc(&r->arena, (size_t)p->file_count + 1);
	return open_payload(r, err);
}

struct rpm_reader *rpm_read_open(struct stream *file, struct error *err)
{
	static const struct stream_ops ops = { .read = content_read };
	struct rpm_reader *r = xcalloc(1, sizeof(*r));

	r->file = file;
	r->content.base.ops = &ops;
	r->content.reader = r;
	if (open_into(r, err) < 0) {
		rpm_read_close(r);
		return NULL;
	}
	return r;
}

const struct rpm_package *rpm_read_package(const struct rpm_reader *r)
{
	return &r->package;
}

void rpm_read_close(struct rpm_reader *r)
{
	if (!r)
		return;
	stream_close(r->plain);
	stream_close(r->hashed);
	digest_release(&r->packed);
	digest_release(&r->content.state);
	map_release(&r->paths);
	arena_release(&r->arena);
	free(r);
}
