/*
 * Where each member of a tar archive stands, so that it can be read without reading the others:
 * for archives that carry an image (oci-archive, docker-archive). Reads headers only, by pread.
 *
 * ustar, pax (path, linkpath, size) and GNU long names. At most 100000 members, names of 4096
 * bytes. Leading "./" and "/" of names are dropped. Source: POSIX.1-2017 pax.
 */
#ifndef OCI_TAR_INDEX_H
#define OCI_TAR_INDEX_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"
#include "base/stream.h"

struct tar_member {
	const char *name;
	const char *link; /* a symbolic or hard link's target, from the archive's root; else NULL */
	bool escapes;     /* a link out of the archive */
	bool regular;     /* a file */
	bool twice;       /* another member has the same name */
	uint64_t offset, size; /* of the content, bytes */
};

struct tar_index {
	struct arena arena;
	struct map members;  /* name → struct tar_member */
	int fd;              /* borrowed */
	const char *archive; /* its name, for errors */
};

/*
 * `fd` must be seekable and outlive the index. ERROR_FORMAT: no tar, a bad header, the archive ends
 * inside a member; ERROR_LIMIT; ERROR_SYSTEM.
 */
int tar_index_read(int fd, const char *archive, struct tar_index *out, struct error *err) MUST_USE;
void tar_index_release(struct tar_index *index);
#define cleanup_tar_index cleanup(tar_index_release)

bool tar_index_has(const struct tar_index *index, const char *name);
/*
 * The file of that name, links followed (10 at most) within the archive. NULL with ERROR_NOT_FOUND
 * or ERROR_FORMAT (there twice, no file, a link that loops or leaves the archive).
 */
const struct tar_member *tar_index_find(const struct tar_index *index, const char *name,
					struct error *err) MUST_USE;
/* The content; the caller closes the stream. */
struct stream *tar_index_open(const struct tar_index *index, const struct tar_member *member);
/* Append the content of that file. ERROR_LIMIT over `limit` bytes, and as tar_index_find. */
int tar_index_get(const struct tar_index *index, const char *name, uint64_t limit,
		  struct strbuf *out, struct error *err) MUST_USE;

#endif
