#include "formats/compress.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "formats/compress_family.h"

/*
 * Blocks go round a ring: the caller fills one, the pool encodes it, and it is written when its
 * turn comes. Two blocks a thread keep every thread busy while one result waits for its turn;
 * the byte limit holds memory down where there are many threads and blocks are large.
 */
enum { RING_BYTES_MAX = 64 * 1024 * 1024 };

struct block {
	struct pool_job job;
	const struct coder *coder;
	enum compression_level level;
	void *ctx[LEVEL_MAX + 1]; /* made when first needed */
	uint8_t *in, *out;
	size_t in_len, out_len, out_cap;
	bool running;
	VEC(uint64_t *) marks; /* of cuts behind this block */
};

struct compress_sink {
	struct sink base;
	struct sink *inner;
	struct pool *pool;
	const struct coder *coder;
	struct block *ring;
	size_t ring_len;
	size_t next;   /* the block being filled */
	size_t oldest; /* the block to be written next */
	enum compression_level level;
	uint64_t written; /* compressed bytes */
	struct compress_digests digests;
	size_t undigested; /* blocks submitted last whose input has not been digested yet */
};

static void block_encode(struct pool_job *job)
{
	struct block *b = (struct block *)job;

	if (!b->ctx[b->level])
		b->ctx[b->level] = b->coder->open(b->level);
	b->out_len = b->coder->encode(b->ctx[b->level], b->in, b->in_len, b->out, b->out_cap);
}

/* The input of the oldest block whose turn it is, empty when there is none. */
static struct slice take_undigested(struct compress_sink *s)
{
	struct block *b;

	if (!s->undigested)
		return (struct slice){ 0 };
	b = &s->ring[(s->next + s->ring_len - s->undigested) % s->ring_len];
	s->undigested--;
	return slice_of(b->in, b->in_len);
}

/* The compressed bytes go out; some input is digested beside them, which costs next to nothing. */
static int put_coded(struct compress_sink *s, struct slice coded, struct slice input,
		     struct error *err)
{
	if (s->digests.input)
		digest_update_both(s->digests.input, input, s->digests.coded, coded);
	s->written += coded.len;
	return sink_write(s->inner, coded.data, coded.len, err);
}

/* Wait for the block whose turn it is, if it runs, and write it. */
static int write_oldest(struct compress_sink *s, struct error *err)
{
	struct block *b = &s->ring[s->oldest];

	if (!b->running)
		return 0;
	if (s->pool)
		pool_wait(s->pool, &b->job);
	if (put_coded(s, slice_of(b->out, b->out_len), take_undigested(s), err) < 0)
		return -1;
	b->running = false;
	b->in_len = 0;
	s->oldest = (s->oldest + 1) % s->ring_len;
	for (size_t i = 0; i < b->marks.len; i++)
		*b->marks.items[i] = s->written;
	b->marks.len = 0;
	return 0;
}

static int submit(struct compress_sink *s, struct error *err)
{
	struct block *b = &s->ring[s->next];

	if (!b->out) {
		b->out_cap = s->coder->bound(s->coder->block);
		b->out = xmalloc(b->out_cap);
	}
	b->job.run = block_encode;
	b->level = s->level;
	b->running = true;
	if (s->pool)
		pool_submit(s->pool, &b->job);
	else
		block_encode(&b->job);
	s->next = (s->next + 1) % s->ring_len;
	s->undigested += s->digests.input != NULL;
	return s->ring[s->next].running ? write_oldest(s, err) : 0;
}

static int compress_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct compress_sink *s = (struct compress_sink *)base;
	const uint8_t *at = data;

	while (len) {
		struct block *b = &s->ring[s->next];
		size_t n = MIN(len, s->coder->block - b->in_len);

		if (!b->in)
			b->in = xmalloc(s->coder->block);
		memcpy(b->in + b->in_len, at, n);
		b->in_len += n;
		at += n;
		len -= n;
		if (b->in_len == s->coder->block && submit(s, err) < 0)
			return -1;
	}
	return 0;
}

int compress_sink_cut(struct sink *base, enum compression_level level, uint64_t *out_at,
		      struct error *err)
{
	struct compress_sink *s = (struct compress_sink *)base;
	size_t last;

	assert(base->ops->write == compress_write);
	if (s->ring[s->next].in_len && submit(s, err) < 0)
		return -1;
	s->level = level;
	last = (s->next + s->ring_len - 1) % s->ring_len;
	if (out_at && s->ring[last].running)
		vec_push(&s->ring[last].marks, out_at);
	else if (out_at)
		*out_at = s->written;
	return 0;
}

static int compress_finish(struct sink *base, struct error *err)
{
	struct compress_sink *s = (struct compress_sink *)base;

	if (s->ring[s->next].in_len && submit(s, err) < 0)
		return -1;
	while (s->ring[s->oldest].running) {
		if (write_oldest(s, err) < 0)
			return -1;
	}
	return 0;
}

int compress_sink_insert(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct compress_sink *s = (struct compress_sink *)base;

	assert(base->ops->write == compress_write);
	if (compress_finish(base, err) < 0)
		return -1;
	s->written += len;
	return sink_write(s->inner, data, len, err);
}

void compress_sink_digests(struct sink *base, const struct compress_digests *digests)
{
	struct compress_sink *s = (struct compress_sink *)base;

	assert(base->ops->write == compress_write && !s->written);
	s->digests = *digests;
}

static void compress_close(struct sink *base)
{
	struct compress_sink *s = (struct compress_sink *)base;

	for (size_t i = 0; i < s->ring_len; i++) {
		struct block *b = &s->ring[i];

		if (b->running && s->pool)
			pool_wait(s->pool, &b->job);
		for (size_t k = 0; k < ARRAY_LEN(b->ctx); k++) {
			if (b->ctx[k])
				s->coder->close(b->ctx[k]);
		}
		vec_release(&b->marks);
		free(b->in);
		free(b->out);
	}
	free(s->ring);
}

static size_t ring_length(const struct coder *coder, const struct pool *pool)
{
	size_t fit = RING_BYTES_MAX / (2 * coder->block);

	return pool ? MAX(2, MIN(2 * (size_t)pool_threads(pool), fit)) : 1;
}

static struct sink *coder_sink(struct sink *inner, const struct coder *coder,
			       enum compression_level level, struct pool *pool)
{
	static const struct sink_ops ops = {
		.write = compress_write,
		.finish = compress_finish,
		.close = compress_close,
	};
	struct compress_sink *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->inner = inner;
	s->pool = pool;
	s->coder = coder;
	s->ring_len = ring_length(coder, pool);
	s->ring = xcalloc(s->ring_len, sizeof(*s->ring));
	s->level = level;
	for (size_t i = 0; i < s->ring_len; i++)
		s->ring[i].coder = coder;
	return &s->base;
}

struct plain_sink {
	struct sink base;
	struct sink *inner;
};

static int plain_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	return sink_write(((struct plain_sink *)base)->inner, data, len, err);
}

static struct sink *plain_sink(struct sink *inner)
{
	static const struct sink_ops ops = { .write = plain_write };
	struct plain_sink *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->inner = inner;
	return &s->base;
}

struct sink *compress_sink(struct sink *inner, enum compression c, enum compression_level level,
			   struct pool *pool)
{
	assert(c != COMPRESSION_XZ);
	switch (c) {
	case COMPRESSION_GZIP:
		return coder_sink(inner, &coder_gzip, level, pool);
	case COMPRESSION_ZSTD:
		return coder_sink(inner, &coder_zstd, level, pool);
	default:
		return plain_sink(inner);
	}
}
