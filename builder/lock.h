/*
 * Stack manifest into lockfile: what the stack section asks of the CUDA toolkit becomes packages
 * of a source, by manifests/tables/components.json; then every source resolves what each stage
 * wants, for each platform. The only step that may use the network besides builder/fetch.
 */
#ifndef BUILDER_LOCK_H
#define BUILDER_LOCK_H

#include "base/out.h"
#include "builder/base_image.h"
#include "builder/store.h"
#include "manifests/lockfile.h"
#include "manifests/stack.h"
#include "net/http.h"

struct lock_request {
	const struct stack *stack;
	struct store *store; /* indexes are kept in it */
	struct http_client *http;
	const struct out *out; /* notes on what is being asked */
	const struct lockfile
		*keep;     /* the lock before, of which all but `moves` is kept; or NULL */
	const char *moves; /* name of a package or id of a source; "base": the base image */
	const struct base_opener *opener; /* of base images; NULL: there can be none */
};

/*
 * Fill *out (zeroed; release with lockfile_release). Everything an image is made of is in it with
 * its digest, but for the manifest's own `files`, which are read when the image is built.
 * With `keep`, packages keep their versions as long as their source has them and they fit: of
 * Python packages those that nobody named move along where they must, and if that is not enough
 * all of that source. Folders are read anew.
 * Errors: ERROR_USAGE (with the place in the manifest), ERROR_VERDICT (no set fits),
 * ERROR_INTEGRITY, ERROR_NETWORK, ERROR_NOT_FOUND, ERROR_SYSTEM.
 */
int lock_stack(const struct lock_request *request, struct lockfile *out,
	       struct error *err) MUST_USE;

/*
 * The lock must be of this manifest: ERROR_USAGE names the keys that have moved since and says how
 * to lock again.
 */
int lock_check_current(const struct lockfile *lock, const struct stack *stack,
		       struct error *err) MUST_USE;

/*
 * Against a step back in time: no signed index of a source whose entry in the manifest is the same
 * may be older in `new` than in `old`, the lock that was there. ERROR_INTEGRITY names both dates.
 */
int lock_check_dates(const struct lockfile *old, const struct lockfile *new,
		     const struct stack *stack, struct error *err) MUST_USE;

#endif
