#include "formats/compress.h"

#include <libdeflate.h>
#include <zstd.h>

#include "base/alloc.h"
#include "formats/compress_family.h"
#include "formats/entropy.h"

const char *compression_name(enum compression c)
{
	static const char *const names[] = { "none", "gzip", "zstd", "xz" };

	assert((size_t)c < ARRAY_LEN(names));
	return names[c];
}

char *compression_parameters(enum compression c, enum compression_level level)
{
	switch (c) {
	case COMPRESSION_GZIP:
		return gzip_parameters(level);
	case COMPRESSION_ZSTD:
		return zstd_parameters(level);
	default:
		return xstrdup("");
	}
}

char *compression_identity(enum compression c, enum compression_level level)
{
	cleanup_free char *parameters = compression_parameters(c, level);

	switch (c) {
	case COMPRESSION_GZIP:
		return xasprintf("gzip %s member %zu store %s", parameters, GZIP_MEMBER_BYTES,
				 ENTROPY_STORE_TEXT);
	case COMPRESSION_ZSTD:
		return xasprintf("zstd libzstd-%s %s frame %zu checksum", ZSTD_versionString(),
				 parameters, ZSTD_FRAME_BYTES);
	default:
		return xstrdup(compression_name(c));
	}
}

enum compression compression_detect(struct slice head)
{
	static const struct {
		const char *magic;
		size_t len;
		enum compression kind;
	} kinds[] = {
		{ "\x1f\x8b", 2, COMPRESSION_GZIP },
		{ "\x28\xb5\x2f\xfd", 4, COMPRESSION_ZSTD },
		{ "\xfd\x37zXZ\0", 6, COMPRESSION_XZ },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (head.len >= kinds[i].len &&
		    memcmp(head.data, kinds[i].magic, kinds[i].len) == 0)
			return kinds[i].kind;
	}
	/* A zstd file may begin with a skippable frame: 0x184D2A50 … 5F, little-endian. */
	if (head.len >= 4 && (head.data[0] & 0xf0) == 0x50 &&
	    memcmp(head.data + 1, "\x2a\x4d\x18", 3) == 0)
		return COMPRESSION_ZSTD;
	return COMPRESSION_NONE;
}

uint32_t compress_crc32(uint32_t crc, const void *data, size_t len)
{
	return libdeflate_crc32(crc, data, len);
}

void input_init(struct input *in, struct stream *inner)
{
	*in = (struct input){ .inner = inner, .pos = INPUT_ROOM, .len = INPUT_ROOM };
	in->buf = xmalloc(INPUT_ROOM + INPUT_BYTES);
}

void input_release(struct input *in)
{
	free(in->buf);
	in->buf = NULL;
}

int input_fill(struct input *in, struct error *err)
{
	ssize_t n;

	if (in->pos < in->len)
		return 1;
	if (in->ended)
		return 0;
	n = stream_read(in->inner, in->buf + INPUT_ROOM, INPUT_BYTES, err);
	if (n < 0)
		return -1;
	in->pos = INPUT_ROOM;
	in->len = INPUT_ROOM + (size_t)n;
	in->ended = n == 0;
	return n > 0;
}

int input_byte(struct input *in, uint8_t *out, struct error *err)
{
	int rc = input_fill(in, err);

	if (rc == 1)
		*out = in->buf[in->pos++];
	return rc;
}

/* What was read to look at it, then the rest of `inner`, decoded by `outer` when there is one. */
struct plain_stream {
	struct stream base;
	struct stream *inner;
	uint8_t head[6];
	size_t pos, len;
};

static ssize_t plain_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct plain_stream *s = (struct plain_stream *)base;
	size_t n = MIN(len, s->len - s->pos);

	if (!n)
		return stream_read(s->inner, buf, len, err);
	memcpy(buf, s->head + s->pos, n);
	s->pos += n;
	return (ssize_t)n;
}

static struct plain_stream *plain_stream(struct stream *inner)
{
	static const struct stream_ops ops = { .read = plain_read };
	struct plain_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->inner = inner;
	return s;
}

struct stream *decompress_stream(struct stream *inner, enum compression c)
{
	switch (c) {
	case COMPRESSION_GZIP:
		return gunzip_stream(inner);
	case COMPRESSION_ZSTD:
		return unzstd_stream(inner);
	case COMPRESSION_XZ:
		return unxz_stream(inner);
	case COMPRESSION_NONE:
		break;
	}
	return &plain_stream(inner)->base;
}

struct auto_stream {
	struct stream base;
	struct stream *plain, *decoded;
};

static ssize_t auto_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	return stream_read(((struct auto_stream *)base)->decoded, buf, len, err);
}

static void auto_close(struct stream *base)
{
	struct auto_stream *s = (struct auto_stream *)base;

	stream_close(s->decoded);
	stream_close(s->plain);
}

struct stream *decompress_auto(struct stream *inner, enum compression *out_kind, struct error *err)
{
	static const struct stream_ops ops = { .read = auto_read, .close = auto_close };
	struct plain_stream *plain = plain_stream(inner);
	struct auto_stream *s;
	enum compression kind;
	ssize_t n = 1;

	while (plain->len < sizeof(plain->head) && n > 0) {
		n = stream_read(inner, plain->head + plain->len, sizeof(plain->head) - plain->len,
				err);
		if (n < 0) {
			stream_close(&plain->base);
			return NULL;
		}
		plain->len += (size_t)n;
	}
	kind = compression_detect(slice_of(plain->head, plain->len));
	if (out_kind)
		*out_kind = kind;
	s = xcalloc(1, sizeof(*s));
	s->base.ops = &ops;
	s->plain = &plain->base;
	s->decoded = decompress_stream(s->plain, kind);
	return &s->base;
}
