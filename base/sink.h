/*
 * A destination of bytes one writes to: file, memory, counter and digest, and what formats/ adds
 * (compression). Sinks wrap sinks; finishing the outer one does not finish the inner one.
 */
#ifndef BASE_SINK_H
#define BASE_SINK_H

#include "base/digest.h"
#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/stream.h"

struct sink;

struct sink_ops {
	/* All of the bytes, or -1 with *err set. */
	int (*write)(struct sink *s, const void *data, size_t len, struct error *err);
	/* Write what is held back (may be NULL). Nothing is written after it. */
	int (*finish)(struct sink *s, struct error *err);
	/* Release what the sink itself owns (may be NULL). */
	void (*close)(struct sink *s);
};

/* Embedded as the first member of each kind of sink. */
struct sink {
	const struct sink_ops *ops;
};

int sink_write(struct sink *s, const void *data, size_t len, struct error *err) MUST_USE;
int sink_finish(struct sink *s, struct error *err) MUST_USE;
/* Closes and frees; NULL is allowed. What was not finished is lost. */
void sink_close(struct sink *s);
static inline void sink_close_p(struct sink **s)
{
	sink_close(*s);
}
#define cleanup_sink cleanup(sink_close_p)

/* Copy `src` to its end; *out_bytes (may be NULL) tells how much. */
int sink_copy(struct sink *dst, struct stream *src, uint64_t *out_bytes,
	      struct error *err) MUST_USE;

/* Appends to `out`, which must outlive the sink. */
struct sink *sink_memory(struct strbuf *out);
/* Writes to a file at its present offset. Borrows `fd`. `name` is for error texts. */
struct sink *sink_fd(int fd, const char *name);
/* The same for large files: the disk is set to work as the bytes come, not when memory is full. */
struct sink *sink_fd_early(int fd, const char *name);
/*
 * Passes on to `inner` (NULL: nowhere), feeds `state` (may be NULL) and adds to *out_bytes (may be
 * NULL). Borrows all three.
 */
struct sink *sink_digest(struct sink *inner, struct digest_state *state, uint64_t *out_bytes);
/*
 * Passes on to `inner` at most `limit` bytes; one more is ERROR_INTEGRITY: a peer may not fill the
 * disk. Borrows `inner`.
 */
struct sink *sink_limit(struct sink *inner, uint64_t limit);

#endif
