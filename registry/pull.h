/*
 * A whole image from a source, mostly a registry, into a layout.
 *
 * Blobs come first, in parallel, large ones in pieces (ranges.h) as long as there are connections
 * to spare, then documents, the tag last. Blobs of a registry are received into files of their own,
 * "partials": what a broken line or a killed process left of one is where the next pull goes on,
 * after it was hashed again. Nothing appears in the layout that has not the right digest and size.
 */
#ifndef REGISTRY_PULL_H
#define REGISTRY_PULL_H

#include "oci/source.h"

struct pull_progress {
	const struct digest *blob;
	uint64_t blob_bytes, blob_size; /* that are there of it, and all */
	uint64_t resumed_bytes;         /* of this blob, when it is begun: what was there of it */
	bool was_there;                 /* the layout had it */
	bool begun, done;
	uint64_t done_bytes, total_bytes; /* of all blobs */
};
/* Told from any thread, one at a time. */
typedef void pull_progress_fn(void *user, const struct pull_progress *p);

struct pull_request {
	struct image_source *source; /* of the documents; and of the blobs if remote is NULL */
	const struct image_source *remote; /* a registry_source that has the blobs; or NULL */
	const char *partials;              /* folder, made when missing; wanted with remote */
	const char *layout;                /* folder, made when missing */
	const char *tag;
	unsigned parallel;    /* connections at once; 0: 4 */
	uint64_t range_bytes; /* blobs of 8 times that and more come in such pieces; 0: 64 MiB */
	pull_progress_fn *progress;
	void *progress_user; /* NULL: none */
};

struct pull_result {
	struct digest root;
	size_t blobs, blobs_there;
	uint64_t bytes_received, bytes_resumed;
	uint64_t elapsed_ms;
};

/*
 * Errors: ERROR_SYSTEM when the disk is too small, which is said before anything comes; those of
 * push_plan_read, fetch_blob and layout.h.
 */
int transfer_pull(const struct pull_request *request, struct pull_result *out,
		  struct error *err) MUST_USE;
/*
 * `source` as if it held nothing but the image of `platform` (NULL: the host's, or the only one
 * there is). Borrows `source`. NULL on error: ERROR_NOT_FOUND lists the platforms there are.
 */
struct image_source *source_of_platform(struct image_source *source, const char *name,
					const struct platform *platform,
					struct error *err) MUST_USE;

#endif
