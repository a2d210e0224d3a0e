/*
 * A string-keyed table that iterates in sorted (bytewise) order, so nothing that comes of it
 * depends on hashing. Keys are copied; values are the caller's. A zeroed struct is an empty map.
 * Several threads may read one (map_get, map_has) while none changes or sorts it.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/base.h"

struct map_entry {
	char *key;
	void *value;
};

struct map {
	struct map_entry *entries; /* in order of insertion until sorted by map_sorted() */
	size_t len, cap;
	uint32_t *slots; /* open addressing: index + 1 into entries, 0 free */
	size_t slot_count;
};

/* Frees keys and the table, not the values. */
void map_release(struct map *m);
#define cleanup_map cleanup(map_release)

/* The value of `key`, or NULL. */
void *map_get(const struct map *m, const char *key);
bool map_has(const struct map *m, const char *key);
/* Set or replace; gives the earlier value or NULL. */
void *map_put(struct map *m, const char *key, void *value);
/* The entries sorted by key: m->entries[0 … m->len - 1] until the next map_put. */
const struct map_entry *map_sorted(struct map *m);

#endif
