/*
 * Unpacked packages, kept: decoding xz is the slowest thing a build does, and an image with another
 * application needs the same packages again.
 *
 * A cache file of the store (kind "unpacked") under the component's key: the bytes of its files one
 * after the other, the listing (names, attributes, scripts, control files, a SHA-256 for each
 * file), and a trailer that finds and proves the listing. The files' bytes are proven when they are
 * read. `gpuimg store gc` drops these files first: they can always be made again.
 */
#ifndef BUILDER_COMPONENT_CACHE_H
#define BUILDER_COMPONENT_CACHE_H

#include "builder/component.h"
#include "builder/store.h"

/*
 * What was kept under `key`; NULL when there is nothing usable. Stage, requested, toolkit and
 * host are the caller's to set.
 */
struct component *component_recall(struct store *store, enum component_kind kind,
				   const struct digest *key) MUST_USE;
/*
 * Give each file of `c` its digest and keep the component under c->key. Its contents must be ranges
 * of c->fd, a store_scratch, or memory; others are not kept. Where the scratch cannot get a name
 * nothing is kept either; ERROR_SYSTEM when it cannot be read or the disk is full.
 */
int component_keep(struct store *store, struct component *c, struct error *err) MUST_USE;

#endif
