/*
 * Two components that bring one path: who keeps it.
 */
#ifndef BUILDER_CONFLICT_H
#define BUILDER_CONFLICT_H

#include "builder/rootfs.h"

enum conflict_end { CONFLICT_OLD_STAYS, CONFLICT_NEW_WINS };

/*
 * `old` is a directory and `tar` is none: it stays one, since others lie in it or will. 0 when what
 * `c` brings is left out: a symlink of a package, as dpkg does, and what finish actions add.
 * ERROR_USAGE, naming the path and `c`, for all else.
 */
int conflict_with_folder(const struct rootfs_node *old, const struct component *c,
			 const struct tar_entry *tar, struct error *err) MUST_USE;
/*
 * `old` is not a directory. ERROR_USAGE names both components and the path;
 * ERROR_INTEGRITY and others when the bytes had to be compared and could not be read.
 */
int conflict_settle(const struct rootfs_node *old, const struct component *c,
		    const struct component_entry *entry, const struct tar_entry *tar,
		    enum conflict_end *out, struct error *err) MUST_USE;

#endif
