#include "formats/ar_read.h"

#include "base/alloc.h"

enum { HEADER_BYTES = 60, LONG_NAMES_MAX = 1024 * 1024 };

struct content_stream {
	struct stream base;
	struct stream *inner;
	uint64_t left; /* bytes */
};

struct ar_reader {
	struct stream *inner; /* borrowed */
	struct content_stream content;
	struct strbuf long_names; /* GNU's "//" member */
	bool started, ended;
	bool padded; /* the member has an odd size: one byte follows it */
};

static ssize_t content_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct content_stream *s = (struct content_stream *)base;
	ssize_t n;

	if (!s->left)
		return 0;
	n = stream_read(s->inner, buf, (size_t)MIN((uint64_t)len, s->left), err);
	if (n < 0)
		return -1;
	if (n == 0)
		return error_set(err, ERROR_FORMAT,
				 "ar member ends early, %" PRIu64 " bytes are missing", s->left);
	s->left -= (uint64_t)n;
	return n;
}

struct ar_reader *ar_read_open(struct stream *inner)
{
	static const struct stream_ops ops = { .read = content_read };
	struct ar_reader *r = xcalloc(1, sizeof(*r));

	r->inner = inner;
	r->content.base.ops = &ops;
	r->content.inner = inner;
	return r;
}

/* `len` bytes, or 0 at a clean end; fewer are ERROR_FORMAT. */
static int read_or_end(struct stream *s, uint8_t *buf, size_t len, struct error *err)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = stream_read(s, buf + have, len - have, err);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	if (have && have < len)
		return error_set(err, ERROR_FORMAT, "ar archive ends within a header");
	return have ? 1 : 0;
}

static int read_magic(struct ar_reader *r, struct error *err)
{
	uint8_t magic[8];
	int rc = read_or_end(r->inner, magic, sizeof(magic), err);

	if (rc < 0)
		return -1;
	if (rc == 0 || memcmp(magic, "!<arch>\n", sizeof(magic)) != 0)
		return error_set(err, ERROR_FORMAT, "is not an ar archive");
	r->started = true;
	return 0;
}

/* Past what is left of the member and its padding; the last padding byte may be missing. */
static int skip_member(struct ar_reader *r, struct error *err)
{
	uint8_t pad;

	if (stream_drain(&r->content.base, NULL, err) < 0)
		return -1;
	if (!r->padded)
		return 0;
	r->padded = false;
	return read_or_end(r->inner, &pad, 1, err) < 0 ? -1 : 0;
}

static struct slice trim_blanks(const uint8_t *at, size_t len)
{
	while (len && at[len - 1] == ' ')
		len--;
	return slice_of(at, len);
}

static int set_name(struct ar_member *out, struct slice name, struct error *err)
{
	while (name.len && name.data[name.len - 1] == '/')
		name.len--;
	if (!name.len)
		return error_set(err, ERROR_FORMAT, "ar member without a name");
	if (name.len >= sizeof(out->name))
		return error_set(err, ERROR_FORMAT, "ar member name of %zu bytes (at most %zu)",
				 name.len, sizeof(out->name) - 1);
	if (memchr(name.data, 0, name.len))
		return error_set(err, ERROR_FORMAT, "ar member name with a NUL");
	memcpy(out->name, name.data, name.len);
	out->name[name.len] = '\0';
	return 0;
}

/* "/<offset>" into the table of long names, each ended by "/\n". */
static int set_gnu_name(struct ar_reader *r, struct slice name, struct ar_member *out,
			struct error *err)
{
	struct slice rest, part;
	uint64_t offset;

	name.data++;
	name.len--;
	if (!slice_u64(name, &offset) || offset >= r->long_names.len ||
	    !slice_sub(strbuf_slice(&r->long_names), offset, r->long_names.len - offset, &rest) ||
	    !slice_cut(&rest, '\n', &part))
		return error_set(err, ERROR_FORMAT,
				 "ar member refers to a long name that is not there");
	return set_name(out, part, err);
}

/* "#1/<length>": the name is the first bytes of the content, filled up with NULs. */
static int set_bsd_name(struct ar_reader *r, struct slice name, struct ar_member *out,
			struct error *err)
{
	uint8_t text[sizeof(out->name)];
	uint64_t len;

	if (!slice_u64(slice_of(name.data + 3, name.len - 3), &len) || len > r->content.left ||
	    len > sizeof(text))
		return error_set(err, ERROR_FORMAT, "ar member with an impossible name length");
	if (stream_read_exact(&r->content.base, text, (size_t)len, err) < 0)
		return -1;
	out->size -= len;
	while (len && !text[len - 1])
		len--;
	return set_name(out, slice_of(text, (size_t)len), err);
}

static int read_header(struct ar_reader *r, struct slice *out_name, uint8_t header[HEADER_BYTES],
		       struct ar_member *out, struct error *err)
{
	int rc = read_or_end(r->inner, header, HEADER_BYTES, err);

	if (rc <= 0)
		return rc;
	if (header[58] != '`' || header[59] != '\n' ||
	    !slice_u64(trim_blanks(header + 48, 10), &out->size))
		return error_set(err, ERROR_FORMAT, "ar member header is damaged");
	*out_name = trim_blanks(header, 16);
	r->content.left = out->size;
	r->padded = out->size & 1;
	return 1;
}

/* GNU's table of long names is kept; symbol tables are of no interest. 1 when it was a table. */
static int take_table(struct ar_reader *r, struct slice name, struct error *err)
{
	if (slice_is(name, "/") || slice_is(name, "/SYM64/"))
		return 1;
	if (!slice_is(name, "//"))
		return 0;
	strbuf_truncate(&r->long_names, 0);
	if (stream_read_all(&r->content.base, LONG_NAMES_MAX, &r->long_names, err) < 0)
		return error_wrap(err, "ar table of long names");
	return 1;
}

int ar_read_next(struct ar_reader *r, struct ar_member *out, struct error *err)
{
	uint8_t header[HEADER_BYTES];
	struct slice name;
	int rc;

	if (!r->started && read_magic(r, err) < 0)
		return -1;
	do {
		if (r->ended)
			return 0;
		if (skip_member(r, err) < 0)
			return -1;
		rc = read_header(r, &name, header, out, err);
		r->ended = rc == 0;
		if (rc <= 0)
			return rc;
		rc = take_table(r, name, err);
		if (rc < 0)
			return -1;
	} while (rc == 1);
	if (slice_starts(name, "#1/"))
		return set_bsd_name(r, name, out, err) < 0 ? -1 : 1;
	if (slice_starts(name, "/"))
		return set_gnu_name(r, name, out, err) < 0 ? -1 : 1;
	return set_name(out, name, err) < 0 ? -1 : 1;
}

struct stream *ar_read_content(struct ar_reader *r)
{
	return &r->content.base;
}

void ar_read_close(struct ar_reader *r)
{
	if (!r)
		return;
	strbuf_release(&r->long_names);
	free(r);
}
