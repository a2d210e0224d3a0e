/*
 * A copy of a tree made of hard links, and a few files laid over it.
 */
#ifndef TESTKERNELS_LINK_TREE_H
#define TESTKERNELS_LINK_TREE_H

#include "base/error.h"

/*
 * Make `to` (an empty directory) hold what `from` does: directories anew, files as hard links, or
 * as copies where the file system or the kernel refuses those, symlinks as they are; nothing else.
 * /proc, /sys and /dev of a running system are made but not entered. ERROR_SYSTEM.
 */
int link_tree(const char *from, const char *to, struct error *err) MUST_USE;
/* Move what `from` holds over what `to` holds, replacing files and links that are in the way.
 * ERROR_SYSTEM. */
int link_tree_over(const char *from, const char *to, struct error *err) MUST_USE;

#endif
