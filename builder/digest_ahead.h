/*
 * SHA-256 of many files of the build host, ahead of a caller who takes them in its own order. Each
 * thread reads two files in turn, as a processor digests two in little more time than one
 * (digest_update_both).
 */
#ifndef BUILDER_DIGEST_AHEAD_H
#define BUILDER_DIGEST_AHEAD_H

#include "base/pool.h"
#include "builder/stat_cache.h"

/* The caller's; it must live until digest_ahead_wait() returned for it. */
struct digest_ahead_file {
	const char *path;        /* of the host, borrowed */
	uint64_t size;           /* in bytes, as the caller saw it */
	struct file_stamp stamp; /* out: when it was opened */
	int64_t read_at;         /* out: file_stamp_now() before that */
	struct digest digest;    /* out */
	struct error error;      /* out: why there is no digest; ERROR_INTEGRITY: was written to */
	bool done;               /* private */
	struct digest_ahead_file *next; /* private */
};

struct digest_ahead;

/* `pool` NULL: all is done within digest_ahead_wait(). Not `pool` from within a job of it. */
struct digest_ahead *digest_ahead_new(struct pool *pool);
void digest_ahead_submit(struct digest_ahead *d, struct digest_ahead_file *f);
/* Block until its digest or error is there; -1 for an error, which `f` has. */
int digest_ahead_wait(struct digest_ahead *d, struct digest_ahead_file *f);
/* What was submitted must have been waited for. NULL is allowed. */
void digest_ahead_free(struct digest_ahead *d);
static inline void digest_ahead_free_p(struct digest_ahead **d)
{
	digest_ahead_free(*d);
}
#define cleanup_digest_ahead cleanup(digest_ahead_free_p)

#endif
