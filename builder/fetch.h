/*
 * Brings every locked input into the store, several at a time, each proven by its digest before
 * it gets its name there.
 */
#ifndef BUILDER_FETCH_H
#define BUILDER_FETCH_H

#include "builder/base_image.h"
#include "builder/store.h"
#include "manifests/lockfile.h"
#include "net/http.h"

/* Told of each input, from any thread but never from two at once. */
struct fetch_event {
	const struct lock_input *input;
	size_t done, total; /* inputs */
	uint64_t done_bytes, total_bytes;
	bool present; /* lay in the store already */
};
typedef void fetch_report_fn(void *user, const struct fetch_event *event);

struct fetch_request {
	const struct lockfile *lock;
	struct store *store;
	const struct http_options *http;  /* NULL: defaults */
	const char *directory;            /* of the lock, where its image names start; NULL: "." */
	const struct base_opener *opener; /* of base images; NULL: locks with one are refused */
	unsigned workers;                 /* transfers at a time; 0: 4 */
	fetch_report_fn *report;          /* NULL: nobody */
	void *report_user;
};

struct fetch_result {
	size_t inputs, fetched; /* distinct files; of them fetched now */
	uint64_t bytes, fetched_bytes;
};

/*
 * All inputs with an address (folders have none). Stops at the first that cannot be had.
 * Errors: ERROR_INTEGRITY names package and URL when other bytes came than were locked;
 * ERROR_NETWORK, ERROR_NOT_FOUND (gone at its address), ERROR_SYSTEM (no space).
 */
int fetch_lock(const struct fetch_request *request, struct fetch_result *out,
	       struct error *err) MUST_USE;
/*
 * Copy the inputs of a lock from one store to another, each proven on the way: a folder to carry to
 * where there is no network, which then is the store of `build --offline`. *out counts what was
 * copied as fetched. ERROR_NOT_FOUND, ERROR_INTEGRITY, ERROR_SYSTEM.
 */
int fetch_carry(const struct lockfile *lock, struct store *from, struct store *to,
		struct fetch_result *out, struct error *err) MUST_USE;
/* The first input that is not in the store, or NULL: what `build --offline` needs to know. */
const struct lock_input *fetch_missing(const struct lockfile *lock, struct store *store);

#endif
