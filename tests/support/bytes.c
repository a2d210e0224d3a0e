#include "tests/support/bytes.h"

#include "base/alloc.h"

struct fake_stream {
	struct stream base;
	struct slice left;
	size_t step;
	bool cut;
	uint64_t zeros;
};

static ssize_t fake_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct fake_stream *s = (struct fake_stream *)base;
	size_t n = MIN(MIN(len, s->step), s->left.len);

	if (!n && s->zeros) {
		n = (size_t)MIN((uint64_t)len, s->zeros);
		memset(buf, 0, n);
		s->zeros -= n;
		return (ssize_t)n;
	}
	if (!n && s->cut)
		return error_set(err, ERROR_NETWORK, "line cut");
	if (!n)
		return 0;
	memcpy(buf, s->left.data, n);
	s->left.data += n;
	s->left.len -= n;
	return (ssize_t)n;
}

static struct fake_stream *fake_stream(struct slice left)
{
	static const struct stream_ops ops = { .read = fake_read };
	struct fake_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->left = left;
	s->step = SIZE_MAX;
	return s;
}

struct stream *test_dribble(struct slice left, size_t step)
{
	struct fake_stream *s = fake_stream(left);

	s->step = step;
	return &s->base;
}

struct stream *test_cut(struct slice left)
{
	struct fake_stream *s = fake_stream(left);

	s->cut = true;
	return &s->base;
}

struct stream *test_zeros(uint64_t len)
{
	struct fake_stream *s = fake_stream((struct slice){ 0 });

	s->zeros = len;
	return &s->base;
}

void test_noise(struct strbuf *out, size_t len, uint32_t seed)
{
	uint64_t x = seed * UINT64_C(2654435761) + 88172645463325252;

	while (len--) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		strbuf_addc(out, (char)(x >> 24));
	}
}

void test_text(struct strbuf *out, size_t len)
{
	size_t end = out->len + len;

	for (unsigned i = 0; out->len < end; i++)
		strbuf_addf(out, "line %u of a text that repeats itself, %u times\n", i,
			    i * i % 97);
	strbuf_truncate(out, end);
}
