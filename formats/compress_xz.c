/* xz: read only. */
#include <lzma.h>

#include "base/alloc.h"
#include "formats/compress_family.h"

/* A dictionary of 128 MiB and what the decoder needs beside it. */
enum { MEMORY_MAX = 160 * 1024 * 1024 };

struct unxz_stream {
	struct stream base;
	struct input in;
	lzma_stream lzma;
	bool ended;
};

static int unxz_complaint(lzma_ret rc, struct error *err)
{
	switch (rc) {
	case LZMA_MEM_ERROR:
		out_of_memory();
	case LZMA_MEMLIMIT_ERROR:
		return error_set(err, ERROR_LIMIT, "xz data needs more than %d MiB to decode",
				 MEMORY_MAX / (1024 * 1024));
	case LZMA_FORMAT_ERROR:
		return error_set(err, ERROR_FORMAT, "is not xz data, or followed by other data");
	case LZMA_BUF_ERROR:
		return error_set(err, ERROR_FORMAT, "xz data ends early");
	case LZMA_OPTIONS_ERROR:
		return error_set(err, ERROR_FORMAT, "xz data uses filters that are not known");
	default:
		return error_set(err, ERROR_FORMAT, "xz data is damaged");
	}
}

static ssize_t unxz_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct unxz_stream *s = (struct unxz_stream *)base;

	s->lzma.next_out = buf;
	s->lzma.avail_out = len;
	while (!s->ended) {
		lzma_ret rc;

		if (input_fill(&s->in, err) < 0)
			return -1;
		s->lzma.next_in = s->in.buf + s->in.pos;
		s->lzma.avail_in = s->in.len - s->in.pos;
		rc = lzma_code(&s->lzma, s->in.ended ? LZMA_FINISH : LZMA_RUN);
		s->in.pos = s->in.len - s->lzma.avail_in;
		s->ended = rc == LZMA_STREAM_END;
		if (rc != LZMA_OK && rc != LZMA_STREAM_END &&
		    !(rc == LZMA_BUF_ERROR && !s->in.ended))
			return unxz_complaint(rc, err);
		if (s->lzma.avail_out < len)
			return (ssize_t)(len - s->lzma.avail_out);
	}
	return 0;
}

static void unxz_close(struct stream *base)
{
	struct unxz_stream *s = (struct unxz_stream *)base;

	input_release(&s->in);
	lzma_end(&s->lzma);
}

struct stream *unxz_stream(struct stream *inner)
{
	static const struct stream_ops ops = { .read = unxz_read, .close = unxz_close };
	struct unxz_stream *s = xcalloc(1, sizeof(*s));
	lzma_ret rc;

	s->base.ops = &ops;
	input_init(&s->in, inner);
	s->lzma = (lzma_stream)LZMA_STREAM_INIT;
	rc = lzma_stream_decoder(&s->lzma, MEMORY_MAX, LZMA_CONCATENATED);
	if (rc != LZMA_OK)
		out_of_memory();
	return &s->base;
}
