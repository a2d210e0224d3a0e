/*
 * The merged view over an image's layers: effective entries after whiteouts, and the dead ones
 * with what happened to them. Built one entry at a time while layers stream by.
 *
 * Paths here are relative to the image's root, without a leading "/". Symlinks resolve inside the
 * root: absolute targets restart at it, ".." never leaves it, at most 40 links.
 * Source: OCI image specification 1.1, layer.md.
 */
#ifndef OCI_TREE_H
#define OCI_TREE_H

#include "base/arena.h"
#include "base/error.h"
#include "formats/tar.h"

enum tree_fate { TREE_EFFECTIVE, TREE_OVERWRITTEN, TREE_DELETED, TREE_OPAQUE };

struct tree_dentry;

struct tree_node {
	struct tar_entry entry; /* path and link live in the tree's arena; xattrs are kept */
	const char *written;    /* path as the archive has it, when a link on the way led elsewhere;
				   else NULL */
	size_t layer;           /* that holds it, from 0 */
	enum tree_fate fate;
	uint32_t links;           /* effective hard links that show its content */
	size_t fate_layer;        /* layer that overwrote or deleted it */
	struct tree_node *target; /* TAR_HARDLINK: the file meant, NULL when it is missing */
	void *facts;              /* the user's */
};

struct tree {
	struct arena arena;
	struct {
		struct tree_node **items;
		size_t len, cap;
	} all; /* in order of arrival */

	/* The tree's own: names of directories, hashed by parent and name; tree_sorted()'s array.
	 */
	struct tree_dentry *root, **slots;
	size_t slot_count, dentry_count;
	struct tree_node **sorted;
	size_t sorted_count;
};

void tree_release(struct tree *t);
#define cleanup_tree cleanup(tree_release)

/*
 * Take the next entry of layer `layer` (layers ascending, entries in the archive's order) and give
 * its node; NULL for a whiteout. Cost does not depend on how many entries there are.
 *
 * Whiteouts (.wh.NAME, .wh..wh..opq) are applied; both hide only what lower layers hold, wherever
 * in their own layer they stand. Malformed ones and AUFS's records (.wh..wh.*) are dropped.
 * Directories that are missing on the way are implied, not added. A directory over a directory
 * keeps what is in it; anything else replaces what was there with all below it, a symlink too: the
 * last component is never followed. A path through a symlink counts under the directory it ends in
 * (which may be implied by that), as an unpacker that keeps directory links would do; `entry.path`
 * is that path. A link that leads to a file or into a loop is replaced by an implied directory.
 */
struct tree_node *tree_add(struct tree *t, size_t layer, const struct tar_entry *entry);

/* The effective node at exactly `path` (no links followed), or NULL. */
struct tree_node *tree_lookup(const struct tree *t, const char *path);
/*
 * Follow links of all components, the last included. *out_path (may be NULL) gets the resolved
 * path in `arena`, also when nothing is there (NULL result): then it is the path that is missing.
 * NULL with *out_path NULL: a loop. A directory that is only implied gives NULL, too: see
 * tree_is_dir.
 */
struct tree_node *tree_resolve(const struct tree *t, const char *path, struct arena *arena,
			       const char **out_path);
/* True when `path` resolves to a directory (one that is only implied counts). */
bool tree_is_dir(const struct tree *t, const char *path);
/* The effective nodes sorted bytewise by path, *count of them; valid until the next tree_add. */
struct tree_node **tree_sorted(struct tree *t, size_t *count);
/*
 * What is in a directory (resolved first), sorted, as nodes; implied directories have none.
 * Appended to `out` (release with vec_release).
 */
struct tree_nodes {
	struct tree_node **items;
	size_t len, cap;
};
void tree_list(struct tree *t, const char *dir, struct tree_nodes *out);

#endif
