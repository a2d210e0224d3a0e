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
} __attribute__((packed));

struct tar_xattr {
	const char *name; /* "security.capability" */
	const uint8_t *value;
	size_t len;
};

/* What few entries have. */
struct tar_extras {
	const struct tar_xattr *xattrs;
	size_t xattr_count;
	uint32_t dev_major, dev_minor; /* of TAR_CHAR and TAR_BLOCK */
	const char *odd;               /* read tolerantly: what is unsafe about it; else NULL */
	const char *written;           /* with `odd`: the name as the archive has it */
};

/* 64 bytes: an image may have half a million. */
struct tar_entry {
	enum tar_type type; /* a byte */
	char flag;          /* read: the type as the archive has it ('0', 'S', …); else 0 */
	bool sparse;        /* read: with holes that the archive leaves out */
	uint32_t mode;      /* 07777 at most */
	const char *path; /* relative, no "./", no "//", no trailing "/"; never "" or ".." parts */
	const char *link; /* target of a link as written; "" (or, for writing, NULL) otherwise */
	uint64_t size;    /* bytes of content; 0 unless TAR_FILE */
	uint64_t uid, gid;
	int64_t mtime;                   /* seconds since 1970 */
	const struct tar_extras *extras; /* NULL: none; lives where `path` does */
};

/* The entry's extras, or empty ones. */
static inline const struct tar_extras *tar_extras(const struct tar_entry *e)
{
	static const struct tar_extras none = { 0 };

	return e->extras ? e->extras : &none;
}

#endif
