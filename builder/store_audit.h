/*
 * Looking after the store: what lies in it, whether it is whole, and what may go.
 *
 * Every use of an object or a record sets its access time (at most once a day), so that time says
 * when it was needed last, whatever the file system's own policy for it is.
 */
#ifndef BUILDER_STORE_AUDIT_H
#define BUILDER_STORE_AUDIT_H

#include "base/arena.h"
#include "base/pool.h"
#include "builder/store.h"

/* What lies in one place: "objects", or a kind of record. */
struct store_place {
	const char *name, *what; /* `what`: for people */
	uint64_t files, bytes;
};

struct store_places {
	struct store_place *items;
	size_t len, cap;
};

/* By name; strings live in `arena`. Release *out with vec_release. ERROR_SYSTEM. */
int store_audit_list(struct store *store, struct arena *arena, struct store_places *out,
		     struct error *err) MUST_USE;

struct store_faults {
	const char **items; /* in the arena: what was damaged, and was removed */
	size_t len, cap;
	uint64_t files, bytes; /* that were read */
};

/*
 * Read everything; what is damaged is removed and named, sorted. ERROR_SYSTEM when something could
 * not be read. Release *out with vec_release.
 */
int store_audit_verify(struct store *store, struct pool *pool, struct arena *arena,
		       struct store_faults *out, struct error *err) MUST_USE;

struct store_gc_request {
	uint64_t days;      /* what was not used for so long goes */
	uint64_t max_bytes; /* then the least recently used, until no more are left; UINT64_MAX */
	bool dry;           /* only count */
};

struct store_gc_result {
	uint64_t files, bytes;           /* that went, or would */
	uint64_t files_left, bytes_left; /* that stay */
};

/*
 * Remove what is not used any more. Nothing that a build uses while this runs is lost when `days`
 * is at least 1: it was used today. Records that name what went are of no harm.
 */
int store_audit_gc(struct store *store, const struct store_gc_request *request,
		   struct store_gc_result *out, struct error *err) MUST_USE;

#endif
