/*
 * Is an image what its lock says: built once more from the locked inputs, in a store of its own
 * that knows nothing of earlier builds, and compared.
 *
 * Contents go first (diff_ids), then configuration and manifest, then compressed bytes, so that the
 * answer names the level at which two builds part.
 */
#ifndef BUILDER_REBUILD_H
#define BUILDER_REBUILD_H

#include "base/strbuf.h"
#include "builder/store.h"
#include "manifests/lockfile.h"
#include "oci/image.h"

/*
 * Give the inputs of a lock that `from` has to `to`: by hard links, where that does not go by
 * copies. ERROR_NOT_FOUND an input that is missing.
 */
int rebuild_bring_inputs(const struct lockfile *lock, struct store *from, struct store *to,
			 struct error *err) MUST_USE;

/*
 * Read `given` whole, and append to `out` the first thing in which the image `given` differs from
 * `made`, which was built with `store`: of a layer the path and who owns it there. Appends nothing
 * when they are the same. Errors: those of reading; ERROR_INTEGRITY when a layer of `given` is
 * damaged.
 */
int rebuild_compare(struct image *given, struct image *made, struct store *store,
		    struct strbuf *out, struct error *err) MUST_USE;

/* Seconds since 1970 of "2026-11-30T10:00:00Z"; false for any other form. */
bool rebuild_time(const char *text, int64_t *out);

#endif
