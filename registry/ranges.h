/*
 * One large blob into a file, in pieces that several threads fetch at once, each by a range of its
 * own; a thread reads the file behind them, in order, for the digest.
 *
 * Beside the file lies a record of which bytes it holds, written after each piece, so that what a
 * killed process left is where the next goes on. A file without a record holds a blob's first
 * bytes.
 */
#ifndef REGISTRY_RANGES_H
#define REGISTRY_RANGES_H

#include "registry/fetch_blob.h"

struct ranges;

enum { RANGES_PIECES_MAX = 65536, RANGES_RECORD_BYTES_MAX = 2 * 1024 * 1024 };

struct ranges_request { /* all borrowed */
	struct origins *origins;
	const struct descriptor *desc;
	int fd;             /* for reading and writing */
	int dirfd;          /* the folder of the record */
	const char *record; /* its name there */
	uint64_t piece;     /* bytes; a record's own size goes before it */
	/* Told from any thread that bytes came; true: give up. */
	bool (*moved)(void *user, uint64_t bytes);
	void *user;
};

/* What is there counts; *out_there: how many bytes. ERROR_SYSTEM. */
struct ranges *ranges_begin(const struct ranges_request *request, uint64_t *out_there,
			    struct error *err) MUST_USE;
/* A piece that nobody fetches yet; false: there is none. Whoever takes one must fetch it. */
bool ranges_take(struct ranges *r, size_t *out_piece);
void ranges_fetch(struct ranges *r, size_t piece);

struct ranges_result {
	bool no_ranges;  /* an origin does not know them; nothing is wrong otherwise */
	uint64_t prefix; /* bytes that are there from the first on */
	uint64_t there;  /* bytes that are there at all */
};
/*
 * Wait for those that were taken, and free. 0: all is there, with the right digest, and the record
 * is gone. ERROR_INTEGRITY: with another one; those of fetch_blob, and ERROR_SYSTEM: the record
 * says what is there.
 */
int ranges_finish(struct ranges *r, struct ranges_result *out, struct error *err) MUST_USE;

/* The bytes that a record gives for a file of `file_bytes`; false: there is none that is of use. */
bool ranges_recorded(int dirfd, const char *record, uint64_t size, uint64_t file_bytes,
		     uint64_t *out_there);

/* What a record says. */
struct ranges_record {
	uint64_t size, piece; /* bytes, of the blob and of all pieces but the last */
	uint64_t *have;       /* bytes of each piece, from its first on; heap */
	size_t count;
};

void ranges_record_release(struct ranges_record *r);
#define cleanup_ranges_record cleanup(ranges_record_release)
/* False: no such text, or one that contradicts itself, or a file of `file_bytes`. */
bool ranges_record_parse(struct slice text, uint64_t file_bytes, struct ranges_record *out);
void ranges_record_print(const struct ranges_record *r, struct strbuf *out);

#endif
