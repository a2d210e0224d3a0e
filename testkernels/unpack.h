/*
 * An image's root as a tree on disk: its layers applied in order, with their whiteouts.
 *
 * It is made for whoever runs this program, not as a faithful copy: set-id bits, extended
 * attributes and times are dropped, the user may always read and write, owners are kept only where
 * root unpacks, and device nodes, sockets and fifos are left out. Absolute symlinks are written
 * relative to the tree, so that they stay inside it for programs that know nothing of a root.
 *
 * Nothing is ever written outside the root, whatever names, links and hard links the layers hold:
 * each path is walked by component, symlinks inside the root.
 * Source: OCI image specification 1.1, layer.md.
 */
#ifndef TESTKERNELS_UNPACK_H
#define TESTKERNELS_UNPACK_H

#include "base/map.h"
#include "oci/image.h"

struct unpack_limits {
	uint64_t bytes;   /* of file content, all layers together; 0: 512 GiB */
	uint64_t entries; /* 0: 20 million */
};

/*
 * Apply all layers of `image` to the empty directory `rootfd`. Each layer's digests are verified.
 * Errors: ERROR_LIMIT, ERROR_FORMAT, ERROR_INTEGRITY, ERROR_SYSTEM, with layer and path. What was
 * unpacked so far stays.
 */
int unpack_image(struct image *image, int rootfd, const struct unpack_limits *limits,
		 struct error *err) MUST_USE;

/* One layer after the other, for tests and for those who have a tar without an image. */
struct unpack {
	int rootfd; /* borrowed */
	struct unpack_limits left;
	struct map current;  /* paths of the layer being applied */
	bool stale;          /* a link or directory was replaced: the cache may lie */
	int cached_fd;       /* directory of the last entry */
	char *cached_parent; /* its path as the layer wrote it */
	char *cached_dir;    /* its path without links */
};

void unpack_init(struct unpack *u, int rootfd, const struct unpack_limits *limits);
/* Apply one layer, a plain tar, read to its end. ERROR_FORMAT, ERROR_LIMIT, ERROR_SYSTEM. */
int unpack_layer(struct unpack *u, struct stream *tar, struct error *err) MUST_USE;
void unpack_release(struct unpack *u);
#define cleanup_unpack cleanup(unpack_release)

/*
 * `target` of a link in the directory `dir` (a path below the root, "" for the root itself), made
 * relative and kept from leaving the root by its ".." parts. Heap.
 */
char *unpack_link_target(const char *dir, const char *target);

#endif
