/*
 * The tree being assembled, and who wins a conflict.
 *
 * Components are added in the order of configuration. Each path has one node with one owner; the
 * rules are those of dpkg where it has one:
 *  - a path goes through the symlinks that are there already, so a package's lib/x lands in
 *    usr/lib/x on a merged root, and a directory entry never replaces a symlink;
 *  - directories are shared: the first that brings one decides owner and mode;
 *  - the same file from two components (type, mode, bytes) is one file;
 *  - otherwise a package wins when its Replaces names the other (and its version); `files` and
 *    `copy` of the manifest win over packages; anything else is ERROR_USAGE naming both.
 * No path leaves the root: names are clean (formats/tar.h) and symlinks resolve inside.
 */
#ifndef BUILDER_ROOTFS_H
#define BUILDER_ROOTFS_H

#include "base/vec.h"
#include "builder/component.h"

/* 24 bytes: there may be half a million. */
struct rootfs_node {
	/* As it will be in the image: the owner's entry where nothing differs; rootfs_edit changes
	 * it. */
	const struct tar_entry *tar;
	struct component *owner; /* NULL: a directory that is only implied */
	uint32_t index;          /* of the entry in owner->entries */
	uint16_t layer;          /* the last it was planned for, from 1; 0: none yet */
	bool removed : 1;        /* was in the base image, and is not there any more */
	bool edited : 1;         /* `tar` is the node's own */
};

/* A component and where its entries came to lie. */
struct rootfs_part {
	struct component *component; /* owned */
	struct {
		struct rootfs_node **items; /* by entry; NULL: the entry has no place of its own */
		size_t len, cap;
	} nodes;
};

struct rootfs_nodes {
	struct rootfs_node **items;
	size_t len, cap;
};

/* A path that a package took over: what others bring there goes to `to`. No leading "/". */
struct rootfs_diversion {
	const char *path, *to, *package;
};

/* The nodes by path: open addressing over an array in the order they were made. */
struct rootfs_index {
	struct rootfs_node **items;
	size_t len, cap;
	uint32_t *slots; /* index + 1 into items; 0: free */
	size_t slot_count;
};

struct rootfs {
	struct arena arena;
	struct arena nodes; /* of the tree; apart, so that they can go before the rest */
	struct {
		struct rootfs_node *items;
		size_t len; /* not given out */
	} spare;            /* in `nodes` */
	struct rootfs_index index;
	struct rootfs_nodes removed; /* from the base image; release and order are the tree's */
	struct {
		struct rootfs_part *items;
		size_t len, cap;
	} parts; /* in the order they were added */
	struct {
		struct rootfs_diversion *items;
		size_t len, cap;
	} diversions;                 /* in the order they were made */
	size_t base_layers;           /* of the image below, which the plan leaves room for */
	char *last_dir, *last_placed; /* the directory resolved last, and its result */
};

/*
 * Give back the tree of nodes, when layers are planned: entries and components stay, and what was
 * planned with them. No other function but rootfs_release may be called afterwards.
 */
void rootfs_forget_nodes(struct rootfs *r);
void rootfs_release(struct rootfs *r);
#define cleanup_rootfs cleanup(rootfs_release)

/* Add all entries. Takes `c`, also on error. ERROR_USAGE, ERROR_FORMAT, and those of reading. */
int rootfs_add(struct rootfs *r, struct component *c, struct error *err) MUST_USE;
/*
 * Take a component into the parts without entries; rootfs_add_new then places what was appended
 * to it since. This is how finish actions add to a tree they also read. Takes `c`.
 */
void rootfs_attach(struct rootfs *r, struct component *c);
int rootfs_add_new(struct rootfs *r, struct component *c, struct error *err) MUST_USE;

/* Later entries of packages other than `package` that bring `path` land at `to`. Copies. */
void rootfs_divert(struct rootfs *r, const char *package, const char *path, const char *to);

/* The node at exactly `path`, or NULL. */
struct rootfs_node *rootfs_lookup(const struct rootfs *r, const char *path);
/* Follow all links, the last included. NULL when nothing is there. `path` may start with "/". */
struct rootfs_node *rootfs_resolve(struct rootfs *r, const char *path);
/*
 * Where an entry of that name lands: links of its directories followed, not of itself. `path`
 * itself when that is the place, else a text of the tree's. NULL: ERROR_FORMAT, too
 * many links or too long a name.
 */
const char *rootfs_place(struct rootfs *r, const char *path, struct error *err) MUST_USE;
/* The node's entry, to change what it will be in the image; the component's stays as it is. */
struct tar_entry *rootfs_edit(struct rootfs *r, struct rootfs_node *n);
/* The component entry behind a node with an owner. */
static inline const struct component_entry *rootfs_entry(const struct rootfs_node *n)
{
	return &n->owner->entries.items[n->index];
}
/* For a hard link the node of the file it stands for, else `n`. */
struct rootfs_node *rootfs_file(struct rootfs *r, struct rootfs_node *n);
/* The content of the regular file that `path` resolves to. ERROR_NOT_FOUND, ERROR_LIMIT. */
int rootfs_read(struct rootfs *r, const char *path, uint64_t limit, struct strbuf *out,
		struct error *err) MUST_USE;
/* SHA-256 of a file's content: known, or read: errors of content_open. */
int rootfs_digest(const struct component_entry *e, struct digest *out, struct error *err) MUST_USE;
/*
 * Take away a node of the base image that is no directory; the layers get a whiteout for it, unless
 * something else is put there. Afterwards no function finds it.
 */
void rootfs_remove(struct rootfs *r, struct rootfs_node *n);
/* All nodes in image order; *out is released with vec_release. */
void rootfs_sorted(const struct rootfs *r, struct rootfs_nodes *out);
/* The nodes directly in `dir` (no links followed), sorted by name. */
void rootfs_list(const struct rootfs *r, const char *dir, struct rootfs_nodes *out);
/* Bytewise, with "/" before every other byte, so that a directory precedes what it holds. */
int rootfs_compare(const char *a, const char *b);
/* The component of that name and kind, or NULL. */
struct component *rootfs_component(const struct rootfs *r, enum component_kind kind,
				   const char *name);

/* Mode and owner of a directory that nobody brought: a table (/tmp 1777 …), else 0755 root. */
void rootfs_default_dir(const char *path, struct tar_entry *out);

#endif
