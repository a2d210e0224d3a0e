/*
 * The central directory of a zip file (a wheel) and its entries, by random access to a file.
 *
 * Our own reader, since we need the offset of each deflate stream: hygiene as the binary
 * distribution format demands. Refused with ERROR_FORMAT: absolute names, ".." parts,
 * backslashes, NULs, a name twice, symlink entries, local header that disagrees with the
 * directory, overlapping entries, encrypted entries, methods other than stored and deflate.
 * Zip64 is read. Limits: 500 000 entries, 256 MiB of directory.
 * Source: PKWARE APPNOTE 6.3.10.
 */
#ifndef FORMATS_ZIP_READ_H
#define FORMATS_ZIP_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "base/stream.h"

struct zip_entry {
	const char *path; /* as tar_entry: relative, clean; directories without "/" */
	bool is_dir;
	bool deflated;            /* else stored */
	uint64_t data_offset;     /* of the (compressed) bytes in the file */
	uint64_t compressed_size; /* bytes */
	uint64_t size;            /* bytes */
	uint32_t crc32;
	uint32_t unix_mode; /* from the external attributes, 0 when there is none */
	int64_t mtime;      /* DOS time read as UTC, seconds since 1970 */
};

struct zip {
	struct zip_entry *entries; /* sorted by path */
	size_t count;
};

/* Everything in *out lives in `arena`. Borrows `fd`. ERROR_FORMAT, ERROR_LIMIT. */
int zip_read(int fd, const char *name, struct arena *arena, struct zip *out,
	     struct error *err) MUST_USE;
/* The entry of that path, or NULL. */
const struct zip_entry *zip_find(const struct zip *zip, const char *path);
/* The content, inflated and proven against size and CRC-32 at its end. Borrows `fd`. */
struct stream *zip_open(int fd, const struct zip_entry *entry);

#endif
