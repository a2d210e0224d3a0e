/*
 * A source of bytes one reads from: file, memory, limit, digest check, and what formats/ adds
 * (decompression). Streams wrap streams; closing the outer one does not close the inner one.
 *
 * A stream ends once: after read gives 0, it gives 0 for ever.
 */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"

struct stream;

struct stream_ops {
	/* Up to `len` (> 0) bytes into `buf`: the count, 0 at the end, -1 with *err set. */
	ssize_t (*read)(struct stream *s, void *buf, size_t len, struct error *err);
	/* Release what the stream itself owns. */
	void (*close)(struct stream *s);
};

/* Embedded as the first member of each kind of stream. */
struct stream {
	const struct stream_ops *ops;
};

/* As ops->read. */
ssize_t stream_read(struct stream *s, void *buf, size_t len, struct error *err) MUST_USE;
/* Closes and frees; NULL is allowed. */
void stream_close(struct stream *s);
static inline void stream_close_p(struct stream **s)
{
	stream_close(*s);
}
#define cleanup_stream cleanup(stream_close_p)

/* Exactly `len` bytes; ERROR_FORMAT ("ends early") when there are fewer. */
int stream_read_exact(struct stream *s, void *buf, size_t len, struct error *err) MUST_USE;
/* Append all that is left to `out`; ERROR_LIMIT when that is more than `limit` bytes. */
int stream_read_all(struct stream *s, uint64_t limit, struct strbuf *out,
		    struct error *err) MUST_USE;
/* Read and drop what is left; *out_bytes (may be NULL) tells how much. */
int stream_drain(struct stream *s, uint64_t *out_bytes, struct error *err) MUST_USE;

/* The bytes of `s`, which must outlive the stream. */
struct stream *stream_memory(struct slice s);
/* The bytes of a file from its present offset. Takes `fd`. `name` is for error texts. */
struct stream *stream_fd(int fd, const char *name);
/* `len` bytes of a file from `offset`, by pread. Borrows `fd`. ERROR_FORMAT if it is shorter. */
struct stream *stream_fd_range(int fd, uint64_t offset, uint64_t len, const char *name);
/* At most `limit` bytes of `inner`; one more is ERROR_LIMIT. Borrows `inner`. */
struct stream *stream_limit(struct stream *inner, uint64_t limit);
/*
 * `inner`, proven: its end is only reported when exactly `size` bytes with digest `want` were
 * read; else ERROR_INTEGRITY. Borrows `inner`. The caller must read to the end.
 */
struct stream *stream_verify(struct stream *inner, const struct digest *want, uint64_t size);
/* `inner`, with each byte read also fed to `state` and counted. Borrows all. */
struct stream *stream_digest(struct stream *inner, struct digest_state *state, uint64_t *out_bytes);

#endif
