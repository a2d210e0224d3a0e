/*
 * Where one image is pulled from: its registry, and before it the mirrors that registries.conf
 * names. Each is opened when it is first asked; one that cannot be reached is passed over from then
 * on, with a word to the user. All threads of a pull share it.
 */
#ifndef REGISTRY_ORIGINS_H
#define REGISTRY_ORIGINS_H

#include "oci/reference.h"
#include "registry/client.h"

struct origins;

/*
 * At least one of them answers. `options` must outlive it. NULL on error: those of
 * client_repository_open, for the image's own registry.
 */
struct origins *origins_open(const struct reference *ref, const struct client_options *options,
			     struct error *err) MUST_USE;
void origins_close(struct origins *o);
/* How many there are, at least 1. The last is the image's own registry. */
size_t origins_count(const struct origins *o);
/* The one with that index, or NULL with why not. */
struct client_repository *origins_get(struct origins *o, size_t index, struct error *err) MUST_USE;
/* One that broke off is asked after the others from now on. */
void origins_demote(struct origins *o, size_t index);

/* Those to ask for one thing, in order: walk with a zeroed struct. */
struct origins_walk {
	uint64_t asked; /* a bit per index */
};

/* The next index, from `first` on; false when all were asked. */
bool origins_next(struct origins *o, struct origins_walk *walk, size_t first, size_t *out);
/* Whether there is yet another. */
bool origins_more(const struct origins *o, const struct origins_walk *walk);

#endif
