/*
 * The same tar bytes for the same entries, by hand, so that no library's version can change them.
 *
 * POSIX ustar; a pax header only when a value does not fit (path that does not split at 155/100,
 * link over 100 bytes, size over 8 GiB - 1, uid or gid over 2097151, extended attributes, bytes
 * outside ASCII). Records sorted, only path linkpath size uid gid SCHILY.xattr.*; the pax entry is
 * named <dir>/PaxHeader/<name>. Directories end in "/". uname and gname are empty. mtime below 0
 * is written as 0. Source: POSIX.1-2017 pax, "ustar Interchange Format".
 */
#ifndef FORMATS_TAR_WRITE_H
#define FORMATS_TAR_WRITE_H

#include "base/sink.h"
#include "base/stream.h"
#include "formats/tar.h"

/*
 * Write the header of `entry` and, for a TAR_FILE, exactly entry->size bytes of `content` (which
 * may be NULL when size is 0) and the padding. `content` that is shorter or longer is
 * ERROR_INTEGRITY: then the archive is spoilt and must be thrown away.
 */
int tar_write_entry(struct sink *out, const struct tar_entry *entry, struct stream *content,
		    struct error *err) MUST_USE;
/*
 * The parts of tar_write_entry, for content that takes another way: what goes before and behind.
 * ERROR_LIMIT, ERROR_FORMAT: what no header can hold.
 */
int tar_write_header(struct sink *out, const struct tar_entry *entry, struct error *err) MUST_USE;
int tar_write_padding(struct sink *out, const struct tar_entry *entry, struct error *err) MUST_USE;
/* The two zero blocks (1024 bytes) at the end of an archive. */
int tar_write_end(struct sink *out, struct error *err) MUST_USE;

#endif
