/*
 * Another place that may have what a store has not: another machine's results of the same work,
 * under the same keys. The store asks it for records it misses, of the kinds that are a build's
 * results, and tells it which ones were used.
 *
 * Whoever brings a record answers for it: a key is no digest of what is under it.
 */
#ifndef BUILDER_UPSTREAM_H
#define BUILDER_UPSTREAM_H

#include "base/vec.h"
#include "builder/store.h"

struct store_upstream {
	/* Put objects and record into `store`. False: it has no such thing, or none to believe.
	 * From any thread. */
	bool (*bring)(void *user, struct store *store, const char *kind, const struct digest *key);
	/* The store has this record now, or had it. From any thread. */
	void (*used)(void *user, const char *kind, const struct digest *key);
	void *user;
};

/* NULL: none. It must outlive the store or the next call. */
void store_set_upstream(struct store *s, const struct store_upstream *upstream);
/* "images", "attachments", "layers", "stages". */
bool upstream_kind(const char *kind);

struct upstream_object {
	struct digest digest;
	uint64_t size; /* bytes */
};
struct upstream_objects {
	struct upstream_object *items;
	size_t len, cap;
};

/*
 * The objects that a record of the store needs, each once; release with vec_release. ERROR_FORMAT;
 * ERROR_NOT_FOUND when an object that names others is missing.
 */
int upstream_objects(struct store *store, const char *kind, struct slice record,
		     struct upstream_objects *out, struct error *err) MUST_USE;

#endif
