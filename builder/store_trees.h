/*
 * The unpacked images that `gpuimg test` keeps in the store, as far as looking after the store
 * needs to know them: trees/<hex>/{root,record,lock} (testkernels/tree_cache.h). The lock is held
 * while a tree is used, and its time says when that was last.
 */
#ifndef BUILDER_STORE_TREES_H
#define BUILDER_STORE_TREES_H

#include "base/fs.h"

struct store_tree {
	char *path;     /* "trees/<hex>", below the store */
	uint64_t bytes; /* of files */
	int64_t used;   /* seconds since 1970 */
};

struct store_trees {
	struct store_tree *items;
	size_t len, cap;
};

/* Those of the store at `store`, by name. ERROR_SYSTEM. Release with store_trees_release. */
int store_trees_list(const char *store, struct store_trees *out, struct error *err) MUST_USE;
void store_trees_release(struct store_trees *trees);
#define cleanup_store_trees cleanup(store_trees_release)
/* Remove one, unless it is in use: *out_removed tells. ERROR_SYSTEM, also where none can be locked.
 */
int store_trees_remove(const char *store, const char *path, bool *out_removed,
		       struct error *err) MUST_USE;

#endif
