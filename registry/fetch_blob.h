/*
 * One blob from registries, however often the line breaks: goes on where it stopped, by ranges, and
 * turns to the next registry when one does not have it or sends something else.
 *
 * Tries end when nothing comes any more: as many in a row as the options say without a byte.
 * Servers that ignore or misread ranges are asked for the whole, and what is there is passed over.
 */
#ifndef REGISTRY_FETCH_BLOB_H
#define REGISTRY_FETCH_BLOB_H

#include "registry/client.h"

struct blob_fetch {
	struct client_repository *const *repositories; /* in the order to ask them */
	size_t repository_count;
	const struct descriptor *desc;
	struct sink *out;          /* gets the bytes that are missing, in order, each once */
	uint64_t position;         /* bytes that `out` has */
	struct digest_state state; /* of these; the caller's to init, feed and release */
	size_t first;              /* index of the repository to ask first */
};

/*
 * 0: all bytes went to `out` and have size and digest. ERROR_INTEGRITY: they have not; `first` is
 * then another repository, if there are several. ERROR_NOT_FOUND, ERROR_NETWORK; what `out` gave.
 * After other errors than ERROR_INTEGRITY `position` bytes are good for another call.
 */
int fetch_blob(struct blob_fetch *f, struct error *err) MUST_USE;

/* What "Content-Range: bytes A-B/T" says; T is UINT64_MAX for "*". False: not understood. */
bool fetch_parse_range(struct slice header, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
