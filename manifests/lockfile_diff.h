/*
 * What changes from one lock to another, in words: inputs added, removed and moved, per platform
 * and stage; the keys of the manifest, the solved stack and the sources that moved.
 */
#ifndef MANIFESTS_LOCKFILE_DIFF_H
#define MANIFESTS_LOCKFILE_DIFF_H

#include "manifests/lockfile.h"

/*
 * Of two locks that were read (a lock that was never written may lack texts, and its sources are in
 * no order; a zeroed one stands for none). Append one line for each difference under a heading for
 * each part; nothing when there is none. Returns the number of differences. An input is known by
 * its stage, kind and name; the order of inputs counts as one difference of the stage when nothing
 * else in it differs.
 */
size_t lockfile_diff(const struct lockfile *old, const struct lockfile *new, struct strbuf *out);
/* Append the paths that differ, "stack.cuda, tag (new)", at most `limit`; returns how many do. */
size_t lockfile_moved_keys(const struct lock_key *old, size_t old_count, const struct lock_key *new,
			   size_t new_count, size_t limit, struct strbuf *out);

#endif
