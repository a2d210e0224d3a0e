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
#include "base/strbuf.h"
#include "formats/tar.h"

enum tree_fate { TREE_EFFECTIVE, TREE_OVERWRITTEN, TREE_DELETED, TREE_OPAQUE };

/*
 * An entry, in 64 bytes: images of a million files are held whole. Its path is not in it but told
 * by tree_path(), its extended attributes are not kept. Numbers of users and groups that do not fit
 * 32 bits are UINT32_MAX.
 */
struct tree_node {
	void *facts; /* the user's */
	union {
		const char *link;         /* TAR_SYMLINK; see tree_link() */
		struct tree_node *target; /* TAR_HARDLINK; see tree_target() */
	} to;
	struct {
		uint64_t size; /* bytes */
		int64_t mtime;
		uint32_t uid, gid;
		uint16_t mode;
		uint8_t type; /* enum tar_type */
	} __attribute__((packed, aligned(4))) entry;
	uint8_t fate;        /* enum tree_fate */
	uint32_t layer;      /* that holds it, from 0 */
	uint32_t fate_layer; /* layer that overwrote or deleted it */
	uint32_t links;      /* effective hard links that show its content */
	uint32_t dentry;     /* the tree's own */
};

struct tree {
	struct arena arena;
	size_t count; /* of nodes, in order of arrival: tree_node_at() */
	struct {
		struct tree_detour {
			const struct tree_node *node;
			const char *written; /* its path as the archive has it */
		} * items;
		size_t len, cap;
	} detours; /* nodes that a link on the way led elsewhere, in order of arrival */

	/* The tree's own. */
	struct {
		void **items; /* blocks of nodes */
		size_t len, cap;
	} node_blocks, dentry_blocks;
	uint32_t *slots; /* names of directories, hashed by parent and name */
	size_t slot_count, dentry_count;
	struct tree_node **sorted; /* tree_sorted()'s */
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
 * (which may be implied by that), as an unpacker that keeps directory links would do; tree_path()
 * is that path, and `detours` tells the archive's. A link that leads to a file or into a loop is
 * replaced by an implied directory.
 */
struct tree_node *tree_add(struct tree *t, size_t layer, const struct tar_entry *entry);

/* The node that came as number `i` of `count`, effective or not. */
struct tree_node *tree_node_at(const struct tree *t, size_t i);
/* The path of a node, written over what `buf` holds; valid as long as that. */
const char *tree_path(const struct tree *t, const struct tree_node *node, struct strbuf *buf);
/* The same, added to `buf`. */
void tree_add_path(const struct tree *t, const struct tree_node *node, struct strbuf *buf);
/* The last component of it; lives as long as the tree. */
const char *tree_name(const struct tree *t, const struct tree_node *node);
/* Where a symlink leads, as written; "" of anything else. */
const char *tree_link(const struct tree_node *node);
/* The file a hard link means; NULL when it is missing, and of anything else. */
struct tree_node *tree_target(const struct tree_node *node);

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
