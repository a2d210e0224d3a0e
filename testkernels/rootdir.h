/*
 * Paths inside an unpacked root. Symlinks resolve as they would after chroot: absolute targets
 * restart at the root, ".." never leaves it, at most 40 links are followed. Each component is
 * opened on its own with O_NOFOLLOW, so nothing depends on a kernel newer than Linux 3.2, and a
 * link put in place of a directory meanwhile is refused.
 */
#ifndef TESTKERNELS_ROOTDIR_H
#define TESTKERNELS_ROOTDIR_H

#include "base/error.h"
#include "base/strbuf.h"

enum {
	ROOTDIR_CREATE = 1,  /* make missing directories on the way, and replace files by them */
	ROOTDIR_NOFOLLOW = 2 /* the last component is not followed when it is a link */
};

/* Where a path ends: `name` in the directory `dirfd`; "" when it is a root or a "..". */
struct rootdir_place {
	int dirfd;         /* O_PATH; owned */
	struct strbuf dir; /* path of dirfd below the root without links; "" for the root */
	struct strbuf name;
};

void rootdir_place_release(struct rootdir_place *place);
#define cleanup_place cleanup(rootdir_place_release)

/*
 * Find `path`, with or without a leading "/". The last component need not exist.
 * Errors: ERROR_NOT_FOUND  a directory on the way is missing or is no directory
 *         ERROR_FORMAT     more than 40 links, or a path longer than 64 KiB
 *         ERROR_SYSTEM
 */
int rootdir_find(int rootfd, const char *path, unsigned flags, struct rootdir_place *out,
		 struct error *err) MUST_USE;
/*
 * Open a file for reading, close-on-exec; `out_path` (may be NULL) gets its path below the root
 * without links. ERROR_NOT_FOUND also when it is no regular file.
 */
int rootdir_open(int rootfd, const char *path, struct strbuf *out_path, struct error *err) MUST_USE;
/* The path below the root without links of a regular file or directory; false when there is none.
 */
bool rootdir_resolve(int rootfd, const char *path, struct strbuf *out);

#endif
