/* zstd: frames of fixed input size, any frames read. */
#include <zstd.h>
#include <zstd_errors.h>

#include "base/alloc.h"
#include "formats/compress_family.h"

enum {
	WINDOW_LOG_MAX = 27,  /* 128 MiB */
	FRAME_HEAD_BYTES = 18 /* at most. RFC 8878, 3.1.1: the mark, and a header of 2 to 14 */
};

/*
 * What differs from the library's level; 0: nothing. For `fast` that is the strategy of level 1
 * with matches of 6 bytes at least, found anywhere in the frame, through a table that fits the
 * processor's first caches (docs/formats/compression.md).
 */
struct parameters {
	int level, window_log, hash_log, min_match;
};

static const struct parameters parameters[] = {
	[LEVEL_FAST] = { .level = 1, .window_log = 22, .hash_log = 15, .min_match = 6 },
	[LEVEL_DEFAULT] = { .level = 3 },
	[LEVEL_MAX] = { .level = 9 },
};

static const struct parameters *parameters_of(enum compression_level level)
{
	assert((size_t)level < ARRAY_LEN(parameters));
	return &parameters[level];
}

char *zstd_parameters(enum compression_level level)
{
	const struct parameters *p = parameters_of(level);

	if (p->window_log)
		return xasprintf("level %d window %d hash %d match %d", p->level, p->window_log,
				 p->hash_log, p->min_match);
	return xasprintf("level %d", p->level);
}

static void must(size_t rc)
{
	if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
		out_of_memory();
	if (ZSTD_isError(rc))
		abort(); /* a parameter of ours that the library does not know */
}

static void *zstd_open(enum compression_level level)
{
	const struct parameters *p = parameters_of(level);
	ZSTD_CCtx *c = ZSTD_createCCtx();

	if (!c)
		out_of_memory();
	must(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, p->level));
	if (p->window_log) {
		must(ZSTD_CCtx_setParameter(c, ZSTD_c_windowLog, p->window_log));
		must(ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, p->hash_log));
		must(ZSTD_CCtx_setParameter(c, ZSTD_c_minMatch, p->min_match));
	}
	must(ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1));
	must(ZSTD_CCtx_setParameter(c, ZSTD_c_contentSizeFlag, 1));
	return c;
}

static void zstd_close(void *ctx)
{
	ZSTD_freeCCtx(ctx);
}

static size_t zstd_bound(size_t len)
{
	return ZSTD_compressBound(len);
}

static size_t zstd_encode(void *ctx, const uint8_t *in, size_t len, uint8_t *out, size_t cap)
{
	size_t n = ZSTD_compress2(ctx, out, cap, in, len);

	must(n);
	return n;
}

const struct coder coder_zstd = {
	.block = ZSTD_FRAME_BYTES,
	.bound = zstd_bound,
	.open = zstd_open,
	.encode = zstd_encode,
	.close = zstd_close,
};

struct unzstd_stream {
	struct stream base;
	struct input in;
	ZSTD_DCtx *ctx;
	bool between;                   /* the last frame is complete and all of it was given */
	bool begun;                     /* a frame was */
	bool more;                      /* the decoder may hold output though it has no input */
	uint8_t head[FRAME_HEAD_BYTES]; /* of the frame */
	size_t head_len;
	uint64_t produced; /* of the frame */
};

static int unzstd_complaint(size_t rc, struct error *err)
{
	switch (ZSTD_getErrorCode(rc)) {
	case ZSTD_error_frameParameter_windowTooLarge:
		return error_set(err, ERROR_LIMIT, "zstd window is larger than %d MiB",
				 1 << (WINDOW_LOG_MAX - 20));
	case ZSTD_error_memory_allocation:
		out_of_memory();
	case ZSTD_error_prefix_unknown:
		return error_set(err, ERROR_FORMAT, "is not zstd data, or followed by other data");
	default:
		return error_set(err, ERROR_FORMAT, "zstd data: %s", ZSTD_getErrorName(rc));
	}
}

/*
 * The library also reads what zstd wrote before its format was settled, and that differently when
 * it comes in small pieces: no layer is such. RFC 8878, 3.1: a frame or a skippable one begins so.
 */
static bool begins_frame(uint8_t first)
{
	return first == 0x28 || (first & 0xf0) == 0x50;
}

/* One step of the decoder. */
static size_t step(struct unzstd_stream *s, ZSTD_outBuffer *out, ZSTD_inBuffer *in)
{
	size_t before = in->pos, had = out->pos, rc, head;

	if (s->between)
		s->head_len = s->produced = 0;
	rc = ZSTD_decompressStream(s->ctx, out, in);
	head = MIN(in->pos - before, FRAME_HEAD_BYTES - s->head_len);
	memcpy(s->head + s->head_len, s->in.buf + before, head);
	s->head_len += head;
	s->produced += out->pos - had;
	return rc;
}

/*
 * Whether the frame has as much content as it says. The library looks only where it has all of the
 * frame at once, or its last block is not empty.
 */
static bool is_whole(const struct unzstd_stream *s)
{
	unsigned long long said = ZSTD_getFrameContentSize(s->head, s->head_len);

	return said == ZSTD_CONTENTSIZE_UNKNOWN || said == s->produced;
}

static ssize_t unzstd_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct unzstd_stream *s = (struct unzstd_stream *)base;
	ZSTD_outBuffer out = { buf, len, 0 };

	for (;;) {
		ZSTD_inBuffer in = { s->in.buf, s->in.len, s->in.pos };

		if (in.pos < in.size && (s->between || !s->begun) &&
		    !begins_frame(s->in.buf[in.pos]))
			return error_set(err, ERROR_FORMAT,
					 "is not zstd data, or followed by other data");
		if (in.pos < in.size || s->more) {
			size_t rc = step(s, &out, &in);

			if (ZSTD_isError(rc))
				return unzstd_complaint(rc, err);
			if (rc == 0 && !is_whole(s))
				return error_set(
					err, ERROR_FORMAT,
					"zstd data: a frame has not the size that it says");
			s->in.pos = in.pos;
			s->begun = true;
			s->between = rc == 0;
			s->more = rc != 0 && out.pos == out.size;
			if (out.pos)
				return (ssize_t)out.pos;
		}
		if (s->in.pos < s->in.len)
			continue;
		switch (input_fill(&s->in, err)) {
		case 1:
			continue;
		case 0:
			return s->between ? 0
					  : error_set(err, ERROR_FORMAT, "zstd data ends early");
		default:
			return -1;
		}
	}
}

static void unzstd_close(struct stream *base)
{
	struct unzstd_stream *s = (struct unzstd_stream *)base;

	input_release(&s->in);
	ZSTD_freeDCtx(s->ctx);
}

struct stream *unzstd_stream(struct stream *inner)
{
	static const struct stream_ops ops = { .read = unzstd_read, .close = unzstd_close };
	struct unzstd_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	input_init(&s->in, inner);
	s->ctx = ZSTD_createDCtx();
	if (!s->ctx)
		out_of_memory();
	must(ZSTD_DCtx_setParameter(s->ctx, ZSTD_d_windowLogMax, WINDOW_LOG_MAX));
	return &s->base;
}
