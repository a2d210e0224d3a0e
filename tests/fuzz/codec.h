/*
 * For the targets of the compressions. Property: what reads in one piece reads the same in dribs,
 * and comes back when compressed again.
 */
#ifndef TESTS_FUZZ_CODEC_H
#define TESTS_FUZZ_CODEC_H

#include "formats/compress.h"

enum { OUTPUT_MAX = 1 << 20 };

/* One byte a read: every state of the decoder is left and entered again. */
struct drip {
	struct stream base;
	struct slice left;
};

static ssize_t drip_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct drip *s = (struct drip *)base;

	(void)len, (void)err;
	if (!s->left.len)
		return 0;
	*(uint8_t *)buf = *s->left.data++;
	s->left.len--;
	return 1;
}

static int decode(struct stream *in, enum compression format, struct strbuf *out)
{
	struct error err = { 0 };
	cleanup_stream struct stream *s = decompress_stream(in, format);

	return stream_read_all(s, OUTPUT_MAX, out, &err);
}

static int check_codec(enum compression format, const uint8_t *data, size_t len)
{
	static const struct stream_ops ops = { .read = drip_read };
	struct drip drip = { { &ops }, slice_of(data, len) };
	struct error err = { 0 };
	cleanup_strbuf struct strbuf whole = { 0 }, dribs = { 0 }, packed = { 0 }, back = { 0 };
	cleanup_stream struct stream *memory = stream_memory(slice_of(data, len)), *again = NULL;
	cleanup_sink struct sink *to = sink_memory(&packed);
	cleanup_sink struct sink *sink = compress_sink(to, format, LEVEL_FAST, NULL);
	int rc = decode(memory, format, &whole);

	assert(decode(&drip.base, format, &dribs) == rc);
	if (rc < 0)
		return 0;
	assert(slice_equal(strbuf_slice(&whole), strbuf_slice(&dribs)));
	if (!whole.len)
		return 0;
	if (sink_write(sink, whole.data, whole.len, &err) < 0 || sink_finish(sink, &err) < 0)
		abort();
	again = stream_memory(strbuf_slice(&packed));
	assert(decode(again, format, &back) == 0);
	assert(slice_equal(strbuf_slice(&whole), strbuf_slice(&back)));
	return 0;
}

#endif
