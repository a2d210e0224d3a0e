#include "base/sink.h"

#include <fcntl.h>

#include "base/alloc.h"

int sink_write(struct sink *s, const void *data, size_t len, struct error *err)
{
	return len ? s->ops->write(s, data, len, err) : 0;
}

int sink_finish(struct sink *s, struct error *err)
{
	return s->ops->finish ? s->ops->finish(s, err) : 0;
}

void sink_close(struct sink *s)
{
	if (!s)
		return;
	if (s->ops->close)
		s->ops->close(s);
	free(s);
}

int sink_copy(struct sink *dst, struct stream *src, uint64_t *out_bytes, struct error *err)
{
	enum { COPY_BYTES = 256 * 1024 };
	cleanup_free uint8_t *buf = xmalloc(COPY_BYTES);
	uint64_t total = 0;
	ssize_t n;

	while ((n = stream_read(src, buf, COPY_BYTES, err)) > 0) {
		if (sink_write(dst, buf, (size_t)n, err) < 0)
			return -1;
		total += (uint64_t)n;
	}
	if (n < 0)
		return -1;
	if (out_bytes)
		*out_bytes = total;
	return 0;
}

struct memory_sink {
	struct sink base;
	struct strbuf *out;
};

static int memory_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	(void)err;
	strbuf_add(((struct memory_sink *)base)->out, data, len);
	return 0;
}

struct sink *sink_memory(struct strbuf *out)
{
	static const struct sink_ops ops = { .write = memory_write };
	struct memory_sink *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->out = out;
	return &s->base;
}

/*
 * Linux puts what is written at once into blocks of memory as large; those of 2 MiB are taken from
 * memory that a virtual machine has given back to its host, and asks for again at 0.5 GB/s.
 */
enum { EARLY_BYTES = 16 * 1024 * 1024, WRITE_BYTES = 256 * 1024 };

struct fd_sink {
	struct sink base;
	int fd;
	char *name;
	bool early;
	off_t begun, end; /* early: up to where the disk was set to work; what was written */
};

static int fd_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct fd_sink *s = (struct fd_sink *)base;
	const uint8_t *at = data;

	while (len) {
		ssize_t n = write(s->fd, at, MIN(len, (size_t)WRITE_BYTES));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "write %s", s->name);
		at += n;
		len -= (size_t)n;
		s->end += n;
	}
	if (s->early &&
	    s->end - s->begun >= EARLY_BYTES) { /* a hint: what comes of it matters not */
		ignore_result(
			sync_file_range(s->fd, s->begun, s->end - s->begun, SYNC_FILE_RANGE_WRITE));
		s->begun = s->end;
	}
	return 0;
}

static void fd_close(struct sink *base)
{
	free(((struct fd_sink *)base)->name);
}

struct sink *sink_fd(int fd, const char *name)
{
	static const struct sink_ops ops = { .write = fd_write, .close = fd_close };
	struct fd_sink *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->fd = fd;
	s->name = xstrdup(name);
	return &s->base;
}

struct sink *sink_fd_early(int fd, const char *name)
{
	struct sink *s = sink_fd(fd, name);

	((struct fd_sink *)s)->early = true;
	return s;
}

struct digest_sink {
	struct sink base;
	struct sink *inner;
	struct digest_state *state;
	uint64_t *out_bytes;
};

static int digest_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct digest_sink *s = (struct digest_sink *)base;

	if (s->state)
		digest_update(s->state, data, len);
	if (s->out_bytes)
		*s->out_bytes += len;
	return s->inner ? sink_write(s->inner, data, len, err) : 0;
}

struct sink *sink_digest(struct sink *inner, struct digest_state *state, uint64_t *out_bytes)
{
	static const struct sink_ops ops = { .write = digest_write };
	struct digest_sink *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->inner = inner;
	s->state = state;
	s->out_bytes = out_bytes;
	return &s->base;
}

struct limit_sink {
	struct sink base;
	struct sink *inner;
	uint64_t left;
};

static int limit_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct limit_sink *s = (struct limit_sink *)base;

	if (len > s->left)
		return error_set(err, ERROR_INTEGRITY, "more bytes come than it should have");
	s->left -= len;
	return sink_write(s->inner, data, len, err);
}

struct sink *sink_limit(struct sink *inner, uint64_t limit)
{
	static const struct sink_ops ops = { .write = limit_write };
	struct limit_sink *s = xcalloc(1, sizeof(*s));

	*s = (struct limit_sink){ .base = { .ops = &ops }, .inner = inner, .left = limit };
	return &s->base;
}
