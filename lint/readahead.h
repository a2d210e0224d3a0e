/*
 * A stream that reads its inner one on a thread of its own, a few megabytes ahead: decompression
 * and digests of a layer run while its entries are looked at.
 */
#ifndef LINT_READAHEAD_H
#define LINT_READAHEAD_H

#include "base/stream.h"

/*
 * The same bytes and the same end or error as `inner`. Takes `inner`: closed with it, after its
 * thread has ended. When no thread can be started, reads directly.
 */
struct stream *readahead_stream(struct stream *inner);

#endif
