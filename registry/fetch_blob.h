/*
 * One blob, or a piece of one, from registries, however often the line breaks: goes on where it
 * stopped, by ranges, and turns to the next registry when one does not have it, breaks off for good
 * or sends something else.
 *
 * Tries end when nothing comes any more: as many in a row as the options say without a byte, and
 * only two as long as there is another registry to ask. Servers that ignore or misread ranges are
 * asked for the whole, and what is there is passed over.
 */
#ifndef REGISTRY_FETCH_BLOB_H
#define REGISTRY_FETCH_BLOB_H

#include "oci/descriptor.h"
#include "registry/origins.h"

struct blob_fetch {
	struct origins *origins;
	const struct descriptor *desc;
	struct sink *out;          /* gets the bytes that are missing, in order, each once */
	uint64_t position;         /* bytes of the blob that are there */
	struct digest_state state; /* of these; the caller's to init, feed and release */
	size_t first;              /* index of the origin to ask first */
	/* Not 0: nothing but the bytes up to there, unhashed, and by ranges only. */
	uint64_t piece_end;
	bool no_ranges; /* set when an origin does not know ranges; the piece is not to be had */
};

/*
 * 0: all bytes went to `out` and have size and digest. ERROR_INTEGRITY: they have not; `first` is
 * then another origin, if there are several. ERROR_NOT_FOUND, ERROR_NETWORK; what `out` gave.
 * After other errors than ERROR_INTEGRITY `position` bytes are good for another call.
 */
int fetch_blob(struct blob_fetch *f, struct error *err) MUST_USE;

/* What "Content-Range: bytes A-B/T" says; T is UINT64_MAX for "*". False: not understood. */
bool fetch_parse_range(struct slice header, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
