/*
 * What an entry of a tar archive is: shared by tar_read and tar_write.
 */
#ifndef FORMATS_TAR_H
#define FORMATS_TAR_H

#include "base/base.h"

enum tar_type {
	TAR_FILE,
	TAR_DIR,
	TAR_SYMLINK,
	TAR_HARDLINK, /* `link` is the path of an entry of the same archive */
	TAR_CHAR,
	TAR_BLOCK,
	TAR_FIFO,
};

struct tar_xattr {
	const char *name; /* "security.capability" */
	const uint8_t *value;
	size_t len;
};

struct tar_entry {
	enum tar_type type;
	uint32_t mode;    /* 07777 at most */
	const char *path; /* relative, no "./", no "//", no trailing "/"; never "" or ".." parts */
	const char *link; /* target of a link as written; "" (or, for writing, NULL) otherwise */
	uint64_t size;    /* bytes of content; 0 unless TAR_FILE */
	uint64_t uid, gid;
	int64_t mtime; /* seconds since 1970 */
	uint32_t dev_major, dev_minor;
	const struct tar_xattr *xattrs;
	size_t xattr_count;
	bool sparse;         /* read: with holes that the archive leaves out */
	char flag;           /* read: the type as the archive has it ('0', 'S', …); else 0 */
	const char *written; /* with `odd`: the name as the archive has it */
	const char *odd;     /* read tolerantly: what is unsafe about it; else NULL */
};

#endif
