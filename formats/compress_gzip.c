/* gzip: members written by libdeflate or deflate_write, any gzip read through ISA-L. */
#include <isa-l/igzip_lib.h>
#include <libdeflate.h>

#include "base/alloc.h"
#include "formats/compress_family.h"
#include "formats/deflate_write.h"
#include "formats/entropy.h"

enum { STORED_MAX = 65535, STORED_HEADER_BYTES = 5 };

/* One of the two. */
struct gzip_coder {
	struct libdeflate_compressor *library;
	struct deflate_write *fast;
};

static int library_level(enum compression_level level)
{
	return level == LEVEL_MAX ? 12 : 6;
}

char *gzip_parameters(enum compression_level level)
{
	if (level == LEVEL_FAST)
		return xasprintf("own-%d", DEFLATE_WRITE_VERSION);
	return xasprintf("libdeflate-%s level %d", LIBDEFLATE_VERSION_STRING, library_level(level));
}

static uint8_t *put_le(uint8_t *at, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		*at++ = (uint8_t)(value >> 8 * i);
	return at;
}

void gzip_header(uint8_t out[GZIP_HEADER_BYTES])
{
	static const uint8_t header[GZIP_HEADER_BYTES] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff };

	memcpy(out, header, sizeof(header));
}

void gzip_trailer(uint8_t out[GZIP_TRAILER_BYTES], uint32_t crc32, uint64_t size)
{
	put_le(put_le(out, crc32, 4), size, 4);
}

static void *gzip_open(enum compression_level level)
{
	struct gzip_coder *c = xcalloc(1, sizeof(*c));

	if (level == LEVEL_FAST)
		c->fast = deflate_write_new();
	else
		c->library = libdeflate_alloc_compressor(library_level(level));
	if (!c->fast && !c->library)
		out_of_memory();
	return c;
}

static void gzip_close(void *ctx)
{
	struct gzip_coder *c = ctx;

	deflate_write_free(c->fast);
	libdeflate_free_compressor(c->library);
	free(c);
}

static size_t stored_bytes(size_t len)
{
	return len + STORED_HEADER_BYTES * MAX((len + STORED_MAX - 1) / STORED_MAX, (size_t)1);
}

static size_t gzip_bound(size_t len)
{
	size_t coded = MAX(libdeflate_deflate_compress_bound(NULL, len), deflate_write_bound(len));

	return GZIP_HEADER_BYTES + MAX(coded, stored_bytes(len)) + GZIP_TRAILER_BYTES;
}

/* RFC 1951 section 3.2.4: a byte with the block type, the length and its complement. */
static size_t encode_stored(const uint8_t *in, size_t len, uint8_t *out)
{
	uint8_t *at = out;

	do {
		size_t n = MIN(len, (size_t)STORED_MAX);

		*at++ = n == len; /* the last block? */
		at = put_le(at, n, 2);
		at = put_le(at, n ^ 0xffff, 2);
		memcpy(at, in, n);
		at += n;
		in += n;
		len -= n;
	} while (len);
	return (size_t)(at - out);
}

static size_t gzip_encode(void *ctx, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	const struct gzip_coder *c = ctx;
	uint8_t *at = out + GZIP_HEADER_BYTES;
	size_t n = 0;

	gzip_header(out);
	if (entropy_is_dense(slice_of(in, len)))
		n = 0;
	else if (c->fast)
		n = deflate_write(c->fast, slice_of(in, len), at);
	else
		n = libdeflate_deflate_compress(c->library, in, len, at,
						cap - GZIP_HEADER_BYTES - GZIP_TRAILER_BYTES);
	if (!n)
		n = encode_stored(in, len, at);
	at += n;
	gzip_trailer(at, libdeflate_crc32(0, in, len), len);
	return (size_t)(at + GZIP_TRAILER_BYTES - out);
}

const struct coder coder_gzip = {
	.block = GZIP_MEMBER_BYTES,
	.bound = gzip_bound,
	.open = gzip_open,
	.encode = gzip_encode,
	.close = gzip_close,
};

/*
 * Raw deflate through ISA-L. Headers, check sums and the join between members are ours: the
 * library's own gzip mode knows one member only.
 */
struct inflater {
	struct inflate_state state;
	struct input in;
};

static void inflater_init(struct inflater *z, struct stream *inner)
{
	isal_inflate_init(&z->state);
	z->state.crc_flag = ISAL_DEFLATE;
	input_init(&z->in, inner);
}

/*
 * Whole bytes that the bit buffer still holds after the end marker belong to what follows. They
 * may have come with an earlier fill, hence the room before the data.
 */
static void inflater_give_back(struct inflater *z)
{
	unsigned bits = z->state.read_in_length > 0 ? (unsigned)z->state.read_in_length : 0;
	unsigned bytes = bits / 8;
	uint64_t held = z->state.read_in >> bits % 8;

	assert(bytes <= 8 && z->in.pos >= bytes);
	z->in.pos -= bytes;
	put_le(z->in.buf + z->in.pos, held, bytes);
	z->state.read_in_length = 0;
	z->state.read_in = 0;
}

static int inflate_complaint(int rc, struct error *err)
{
	const char *what = rc == ISAL_INVALID_LOOKBACK ? "a distance before the start"
			   : rc == ISAL_INVALID_SYMBOL ? "a symbol without a meaning"
						       : "an invalid block";

	return error_set(err, ERROR_FORMAT, "deflate data holds %s", what);
}

/* Decoded bytes, 0 when the end marker was met (the input then stands behind it), -1. */
static ssize_t inflater_read(struct inflater *z, uint8_t *buf, size_t len, struct error *err)
{
	uint32_t room = (uint32_t)MIN(len, (size_t)1 << 30);

	while (z->state.block_state != ISAL_BLOCK_FINISH) {
		size_t before = z->in.len - z->in.pos;
		int rc;

		z->state.next_in = z->in.buf + z->in.pos;
		z->state.avail_in = (uint32_t)before;
		z->state.next_out = buf;
		z->state.avail_out = room;
		rc = isal_inflate(&z->state);
		if (rc != ISAL_DECOMP_OK)
			return inflate_complaint(rc, err);
		z->in.pos = z->in.len - z->state.avail_in;
		if (z->state.block_state == ISAL_BLOCK_FINISH)
			inflater_give_back(z);
		if (z->state.avail_out < room)
			return room - z->state.avail_out;
		if (z->state.block_state == ISAL_BLOCK_FINISH || z->in.pos < z->in.len)
			continue;
		rc = input_fill(&z->in, err);
		if (rc < 0)
			return -1;
		if (rc == 0)
			return error_set(err, ERROR_FORMAT, "deflate data ends early");
	}
	return 0;
}

enum gunzip_state { GUNZIP_HEADER, GUNZIP_BODY, GUNZIP_END };

struct gunzip_stream {
	struct stream base;
	struct inflater z;
	enum gunzip_state state;
	bool members; /* at least one was read */
	uint32_t crc;
	uint64_t bytes; /* of this member */
};

static int gunzip_byte(struct gunzip_stream *s, uint8_t *out, struct error *err)
{
	int rc = input_byte(&s->z.in, out, err);

	return rc ? MIN(rc, 0) : error_set(err, ERROR_FORMAT, "gzip data ends early");
}

static int gunzip_le(struct gunzip_stream *s, unsigned bytes, uint32_t *out, struct error *err)
{
	uint8_t b;

	*out = 0;
	for (unsigned i = 0; i < bytes; i++) {
		if (gunzip_byte(s, &b, err) < 0)
			return -1;
		*out |= (uint32_t)b << 8 * i;
	}
	return 0;
}

static int gunzip_skip(struct gunzip_stream *s, uint32_t count, struct error *err)
{
	uint8_t b;

	for (uint32_t i = 0; i < count; i++) {
		if (gunzip_byte(s, &b, err) < 0)
			return -1;
	}
	return 0;
}

static int gunzip_skip_text(struct gunzip_stream *s, struct error *err)
{
	uint8_t b;

	do {
		if (gunzip_byte(s, &b, err) < 0)
			return -1;
	} while (b);
	return 0;
}

/* RFC 1952 section 2.3, from behind the two bytes of the magic number. */
static int gunzip_header(struct gunzip_stream *s, struct error *err)
{
	enum { HCRC = 2, EXTRA = 4, NAME = 8, COMMENT = 16, RESERVED = 0xe0 };
	uint32_t method, flags, extra;

	if (gunzip_le(s, 1, &method, err) < 0 || gunzip_le(s, 1, &flags, err) < 0 ||
	    gunzip_skip(s, 6, err) < 0)
		return -1;
	if (method != 8)
		return error_set(err, ERROR_FORMAT, "gzip method %" PRIu32 " is not deflate",
				 method);
	if (flags & RESERVED)
		return error_set(err, ERROR_FORMAT, "gzip header has unknown flags 0x%02" PRIx32,
				 flags);
	if (flags & EXTRA) {
		if (gunzip_le(s, 2, &extra, err) < 0 || gunzip_skip(s, extra, err) < 0)
			return -1;
	}
	if (flags & NAME && gunzip_skip_text(s, err) < 0)
		return -1;
	if (flags & COMMENT && gunzip_skip_text(s, err) < 0)
		return -1;
	return flags & HCRC ? gunzip_skip(s, 2, err) : 0;
}

/* Behind the last member only zeros may stand (tape padding); they are read to the end. */
static int gunzip_padding(struct gunzip_stream *s, struct error *err)
{
	uint8_t b = 0;
	int rc;

	while ((rc = input_byte(&s->z.in, &b, err)) == 1) {
		if (b)
			return error_set(err, ERROR_FORMAT,
					 "gzip data is followed by something else");
	}
	s->state = GUNZIP_END;
	return rc;
}

/* The next member's header, or the end. */
static int gunzip_start(struct gunzip_stream *s, struct error *err)
{
	uint8_t first = 0, second = 0;
	int rc = input_byte(&s->z.in, &first, err);

	if (rc < 0)
		return -1;
	if (s->members && (rc == 0 || first == 0))
		return gunzip_padding(s, err);
	if (rc == 0)
		return error_set(err, ERROR_FORMAT, "gzip data ends early");
	if (first != 0x1f)
		return error_set(err, ERROR_FORMAT,
				 s->members ? "gzip data is followed by something else"
					    : "is not gzip data");
	if (gunzip_byte(s, &second, err) < 0)
		return -1;
	if (second != 0x8b)
		return error_set(err, ERROR_FORMAT,
				 s->members ? "gzip data is followed by something else"
					    : "is not gzip data");
	if (gunzip_header(s, err) < 0)
		return -1;
	if (s->members)
		isal_inflate_reset(&s->z.state);
	s->members = true;
	s->crc = 0;
	s->bytes = 0;
	s->state = GUNZIP_BODY;
	return 0;
}

static int gunzip_trailer(struct gunzip_stream *s, struct error *err)
{
	uint32_t crc, size;

	if (gunzip_le(s, 4, &crc, err) < 0 || gunzip_le(s, 4, &size, err) < 0)
		return -1;
	if (crc != s->crc)
		return error_set(err, ERROR_FORMAT,
				 "gzip data has CRC %08" PRIx32 " instead of %08" PRIx32, s->crc,
				 crc);
	if (size != (uint32_t)s->bytes)
		return error_set(err, ERROR_FORMAT,
				 "gzip member holds %" PRIu64 " bytes, its trailer says %" PRIu32
				 " (modulo 2^32)",
				 s->bytes, size);
	s->state = GUNZIP_HEADER;
	return 0;
}

static ssize_t gunzip_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct gunzip_stream *s = (struct gunzip_stream *)base;
	ssize_t n;

	while (s->state != GUNZIP_END) {
		if (s->state == GUNZIP_HEADER) {
			if (gunzip_start(s, err) < 0)
				return -1;
			continue;
		}
		n = inflater_read(&s->z, buf, len, err);
		if (n > 0) {
			s->crc = libdeflate_crc32(s->crc, buf, (size_t)n);
			s->bytes += (uint64_t)n;
		}
		if (n)
			return n;
		if (gunzip_trailer(s, err) < 0)
			return -1;
	}
	return 0;
}

static void gunzip_close(struct stream *base)
{
	input_release(&((struct gunzip_stream *)base)->z.in);
}

struct stream *gunzip_stream(struct stream *inner)
{
	static const struct stream_ops ops = { .read = gunzip_read, .close = gunzip_close };
	struct gunzip_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	inflater_init(&s->z, inner);
	return &s->base;
}

struct inflate_stream {
	struct stream base;
	struct inflater z;
	bool ended;
};

static ssize_t inflate_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct inflate_stream *s = (struct inflate_stream *)base;
	ssize_t n;
	int rc;

	if (s->ended)
		return 0;
	n = inflater_read(&s->z, buf, len, err);
	if (n)
		return n;
	rc = input_fill(&s->z.in, err);
	if (rc < 0)
		return -1;
	if (rc > 0)
		return error_set(err, ERROR_FORMAT, "deflate data is followed by something else");
	s->ended = true;
	return 0;
}

static void inflate_close(struct stream *base)
{
	input_release(&((struct inflate_stream *)base)->z.in);
}

struct stream *inflate_stream(struct stream *inner)
{
	static const struct stream_ops ops = { .read = inflate_read, .close = inflate_close };
	struct inflate_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	inflater_init(&s->z, inner);
	return &s->base;
}
