/*
 * The entries of a tar archive (ustar, pax, GNU), one after the other, from a stream of plain tar
 * bytes. Over libarchive, with what it lets through checked again: a name that is absolute, has
 * ".." parts, NULs, or is longer than 4096 bytes is ERROR_FORMAT (leading "/" and "./" of ordinary
 * archives are cut off, not refused); so is a hard link whose target has such a name. Symlink
 * targets are returned as they are and never followed.
 *
 * An entry for the root itself ("./") is passed over. Holes of sparse files are given as zeros. An
 * archive may lack its end marker, as other readers allow it; a cut inside an entry is
 * ERROR_FORMAT. Limits: 896 KiB of headers, 256 extended attributes of 64 KiB an entry
 * (ERROR_LIMIT). Errors of `inner` come out as they are.
 *
 * Read to the end: tar_read_next() gives false only after the archive's padding was read too, so
 * a digest over the stream covers every byte.
 */
#ifndef FORMATS_TAR_READ_H
#define FORMATS_TAR_READ_H

#include "base/stream.h"
#include "formats/tar.h"

struct tar_reader;

/* Borrows `inner`. Never NULL. */
struct tar_reader *tar_read_open(struct stream *inner);
/*
 * For who wants to tell of unsafe names instead of being stopped by them: an entry whose name is
 * absolute, has ".." parts, or is a hard link to such a name is given with `odd` set. Its path is
 * then what it would be below the root: ".." parts are dropped, so it may be "".
 */
void tar_read_tolerate(struct tar_reader *r);
/*
 * The next entry: 1, 0 at the end, -1 on error. *out and all it points at are valid until the
 * next call. Content that was not read is skipped.
 */
int tar_read_next(struct tar_reader *r, struct tar_entry *out, struct error *err) MUST_USE;
/* The content of the entry just given; valid until the next call; owned by the reader. */
struct stream *tar_read_content(struct tar_reader *r);
/* Offset in the plain tar of the header(s) of the entry just given, and of its content; bytes. */
uint64_t tar_read_header_offset(const struct tar_reader *r);
void tar_read_close(struct tar_reader *r);
static inline void tar_read_close_p(struct tar_reader **r)
{
	tar_read_close(*r);
}
#define cleanup_tar_reader cleanup(tar_read_close_p)

#endif
