/*
 * A build's results in a repository, found by what they were made from.
 *
 * An entry is a record (a small text) under a kind and a key, and the objects it names. It lies
 * under the tag "<kind>-<hex of the key>"; its manifest's configuration is the entry's document,
 * its layers are the objects.
 *
 * A key is no digest of the result: whoever can write to the repository could put anything under
 * it. So an entry is signed as a whole (DSSE over kind, key, record and the objects' digests), and
 * is believed if one of the reader's keys made it and kind and key are those that were asked for.
 * Objects are checked against the digests in it while they come.
 */
#ifndef REGISTRY_CACHE_H
#define REGISTRY_CACHE_H

#include "base/key.h"
#include "base/vec.h"
#include "registry/client.h"
#include "registry/origins.h"

enum { CACHE_OBJECTS_MAX = 1000, CACHE_RECORD_MAX = 16 * 1024 * 1024 };

struct cache_object {
	struct digest digest;
	uint64_t size; /* bytes */
};

struct cache_entry {
	const char *kind;
	struct digest key;
	struct strbuf record;
	struct {
		struct cache_object *items;
		size_t len, cap;
	} objects;
};

void cache_entry_release(struct cache_entry *e);
#define cleanup_cache_entry cleanup(cache_entry_release)

/* The entry's document; `key` NULL: not signed. Appended. ERROR_LIMIT; the key's. */
int cache_entry_write(const struct cache_entry *entry, const struct key *key, struct strbuf *out,
		      struct error *err) MUST_USE;
/*
 * Read a document that is to be of `kind` and `key`. With `keys` it has to be signed by one of
 * them; with none any is believed. ERROR_INTEGRITY it is not, or of something else; ERROR_FORMAT.
 */
int cache_entry_read(struct slice text, const char *kind, const struct digest *key,
		     const struct key *const *keys, size_t key_count, struct cache_entry *out,
		     struct error *err) MUST_USE;

/* Opens an object's bytes. NULL on error. */
typedef struct stream *cache_open_fn(void *user, const struct cache_object *object,
				     struct error *err);

/* Whether an entry lies there; what it says is not looked at. Errors: those of client.h. */
int cache_has(struct client *c, const char *kind, const struct digest *key, bool *out_there,
	      struct error *err) MUST_USE;
/* Put objects, document, manifest, tag. Errors: those of upload.h and client.h. */
int cache_put(struct client *c, const struct cache_entry *entry, const struct key *key,
	      cache_open_fn *open, void *user, struct error *err) MUST_USE;
/* As cache_entry_read; ERROR_NOT_FOUND when there is none. */
int cache_get(struct client *c, const char *kind, const struct digest *key,
	      const struct key *const *keys, size_t key_count, struct cache_entry *out,
	      struct error *err) MUST_USE;
/* One of its objects, verified while it passes. ERROR_INTEGRITY, ERROR_NETWORK. */
int cache_fetch(struct origins *from, const struct cache_object *object, struct sink *out,
		struct error *err) MUST_USE;

#endif
