#include "base/stream.h"

#include "base/alloc.h"

ssize_t stream_read(struct stream *s, void *buf, size_t len, struct error *err)
{
	return s->ops->read(s, buf, len, err);
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	if (s->ops->close)
		s->ops->close(s);
	free(s);
}

int stream_read_exact(struct stream *s, void *buf, size_t len, struct error *err)
{
	uint8_t *at = buf;

	while (len) {
		ssize_t n = stream_read(s, at, len, err);

		if (n < 0)
			return -1;
		if (n == 0)
			return error_set(err, ERROR_FORMAT, "ends early, %zu bytes are missing",
					 len);
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int stream_read_all(struct stream *s, uint64_t limit, struct strbuf *out, struct error *err)
{
	uint8_t buf[64 * 1024];
	uint64_t total = 0;
	ssize_t n;

	while ((n = stream_read(s, buf, sizeof(buf), err)) > 0) {
		total += (uint64_t)n;
		if (total > limit)
			return error_set(err, ERROR_LIMIT, "holds more than %" PRIu64 " bytes",
					 limit);
		strbuf_add(out, buf, (size_t)n);
	}
	return n < 0 ? -1 : 0;
}

int stream_drain(struct stream *s, uint64_t *out_bytes, struct error *err)
{
	uint8_t buf[64 * 1024];
	uint64_t total = 0;
	ssize_t n;

	while ((n = stream_read(s, buf, sizeof(buf), err)) > 0)
		total += (uint64_t)n;
	if (n < 0)
		return -1;
	if (out_bytes)
		*out_bytes = total;
	return 0;
}

struct memory_stream {
	struct stream base;
	struct slice left;
};

static ssize_t memory_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct memory_stream *s = (struct memory_stream *)base;
	size_t n = MIN(len, s->left.len);

	(void)err;
	if (n) {
		memcpy(buf, s->left.data, n);
		s->left.data += n;
		s->left.len -= n;
	}
	return (ssize_t)n;
}

struct stream *stream_memory(struct slice bytes)
{
	static const struct stream_ops ops = { .read = memory_read };
	struct memory_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->left = bytes;
	return &s->base;
}

struct fd_stream {
	struct stream base;
	int fd;
	char *name;
	bool range;            /* read by pread from `offset`, `left` bytes */
	uint64_t offset, left; /* bytes */
};

static ssize_t fd_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct fd_stream *s = (struct fd_stream *)base;
	ssize_t n;

	if (s->range) {
		len = (size_t)MIN((uint64_t)len, s->left);
		if (!len)
			return 0;
	}
	do {
		n = s->range ? pread(s->fd, buf, len, (off_t)s->offset) : read(s->fd, buf, len);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_set_errno(err, errno, "read %s", s->name);
	if (s->range) {
		if (n == 0)
			return error_set(err, ERROR_FORMAT,
					 "%s: ends early, %" PRIu64 " bytes are missing", s->name,
					 s->left);
		s->offset += (uint64_t)n;
		s->left -= (uint64_t)n;
	}
	return n;
}

static void fd_close(struct stream *base)
{
	struct fd_stream *s = (struct fd_stream *)base;

	if (!s->range && s->fd >= 0)
		close(s->fd);
	free(s->name);
}

static struct fd_stream *fd_stream_new(int fd, const char *name)
{
	static const struct stream_ops ops = { .read = fd_read, .close = fd_close };
	struct fd_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->fd = fd;
	s->name = xstrdup(name);
	return s;
}

struct stream *stream_fd(int fd, const char *name)
{
	return &fd_stream_new(fd, name)->base;
}

struct stream *stream_fd_range(int fd, uint64_t offset, uint64_t len, const char *name)
{
	struct fd_stream *s = fd_stream_new(fd, name);

	s->range = true;
	s->offset = offset;
	s->left = len;
	return &s->base;
}

struct wrap_stream {
	struct stream base;
	struct stream *inner;
	uint64_t limit, seen; /* bytes */
	struct digest want, got;
	struct digest_state own, *state;
	uint64_t *out_bytes;
	bool ended;
};

static struct wrap_stream *wrap_new(struct stream *inner, const struct stream_ops *ops)
{
	struct wrap_stream *s = xcalloc(1, sizeof(*s));

	s->base.ops = ops;
	s->inner = inner;
	return s;
}

static ssize_t limit_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct wrap_stream *s = (struct wrap_stream *)base;
	ssize_t n = s->seen > s->limit ? 0 : stream_read(s->inner, buf, len, err);

	if (n > 0)
		s->seen += (uint64_t)n;
	if (s->seen > s->limit)
		return error_set(err, ERROR_LIMIT, "holds more than %" PRIu64 " bytes", s->limit);
	return n;
}

struct stream *stream_limit(struct stream *inner, uint64_t limit)
{
	static const struct stream_ops ops = { .read = limit_read };
	struct wrap_stream *s = wrap_new(inner, &ops);

	s->limit = limit;
	return &s->base;
}

static int verify_end(struct wrap_stream *s, struct error *err)
{
	if (!s->ended)
		s->got = digest_finish(&s->own);
	s->ended = true;
	return digest_check(&s->got, &s->want, err);
}

static ssize_t verify_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct wrap_stream *s = (struct wrap_stream *)base;
	ssize_t n;

	if (s->ended)
		return verify_end(s, err); /* what was refused stays refused */
	n = s->seen > s->limit ? 0 : stream_read(s->inner, buf, len, err);
	if (n < 0)
		return -1;
	s->seen += (uint64_t)n;
	if (s->seen > s->limit || (n == 0 && s->seen < s->limit))
		return error_set(err, ERROR_INTEGRITY,
				 "holds %s than the %" PRIu64 " bytes expected",
				 s->seen > s->limit ? "more" : "less", s->limit);
	if (n == 0)
		return verify_end(s, err);
	digest_update(&s->own, buf, (size_t)n);
	return n;
}

static void verify_close(struct stream *base)
{
	digest_release(&((struct wrap_stream *)base)->own);
}

struct stream *stream_verify(struct stream *inner, const struct digest *want, uint64_t size)
{
	static const struct stream_ops ops = { .read = verify_read, .close = verify_close };
	struct wrap_stream *s = wrap_new(inner, &ops);

	s->limit = size;
	s->want = *want;
	digest_init(&s->own, want->algorithm);
	return &s->base;
}

static ssize_t digest_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct wrap_stream *s = (struct wrap_stream *)base;
	ssize_t n = stream_read(s->inner, buf, len, err);

	if (n <= 0)
		return n;
	if (s->state)
		digest_update(s->state, buf, (size_t)n);
	if (s->out_bytes)
		*s->out_bytes += (uint64_t)n;
	return n;
}

struct stream *stream_digest(struct stream *inner, struct digest_state *state, uint64_t *out_bytes)
{
	static const struct stream_ops ops = { .read = digest_read };
	struct wrap_stream *s = wrap_new(inner, &ops);

	s->state = state;
	s->out_bytes = out_bytes;
	return &s->base;
}
