/*
 * The digests of a folder's files, remembered by what stat says of them, so that a build that finds
 * nothing changed reads no file.
 *
 * An entry holds device, inode, size, modification and change time in nanoseconds, and the SHA-256.
 * It stands for the content only if both times lay clearly before the file was read: a file that is
 * written twice within one tick of its file system's clock looks the same after the second write.
 * Clearly is 0.1 s; 2 s where the times are whole seconds. Such files are read again.
 *
 * Files are asked for and noted in the order of fs_walk (rootfs_compare); the old cache is read and
 * the new one written alongside, so memory does not grow with the folder. Each line carries a check
 * sum: one that is damaged is no entry.
 *
 *   gpuimg stat 1
 *   CRC32 DEVICE INODE SIZE MTIME CTIME SHA256 PATH          (numbers in hex, times in ns)
 */
#ifndef BUILDER_STAT_CACHE_H
#define BUILDER_STAT_CACHE_H

#include <sys/stat.h>

#include "builder/store.h"

/* What stat says of a regular file; equal stamps mean that it was not written to in between. */
struct file_stamp {
	uint64_t device, inode, size;
	int64_t mtime, ctime; /* nanoseconds since 1970 */
};

struct file_stamp file_stamp_of(const struct stat *st);
bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b);
/* False when a write after `read_at` (nanoseconds) might leave the stamp as it is. */
bool file_stamp_is_settled(const struct file_stamp *s, int64_t read_at);
/* The clock that file times are taken from, in nanoseconds. */
int64_t file_stamp_now(void);

struct stat_cache;

/* Of the folder or file `root` of the host. Never NULL: without a usable cache nothing is found. */
struct stat_cache *stat_cache_open(struct store *store, const char *root);
/* `path` is relative to the root. */
bool stat_cache_find(struct stat_cache *c, const char *path, const struct file_stamp *stamp,
		     struct digest *out);
/* An entry of the new cache; `read_at` is when reading began, INT64_MAX for one that was found. */
void stat_cache_note(struct stat_cache *c, const char *path, const struct file_stamp *stamp,
		     const struct digest *digest, int64_t read_at);
/* Replace the old cache if anything differs; what goes wrong costs time only, and is ignored. */
void stat_cache_keep(struct stat_cache *c);
void stat_cache_free(struct stat_cache *c);
static inline void stat_cache_free_p(struct stat_cache **c)
{
	stat_cache_free(*c);
}
#define cleanup_stat_cache cleanup(stat_cache_free_p)

#endif
