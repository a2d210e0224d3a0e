/*
 * The content store: inputs, finished layers and stage results by digest or by key, under
 * $GPUIMG_STORE, else $XDG_CACHE_HOME/gpuimg, else ~/.cache/gpuimg. Shared by processes: every
 * file is written under a temporary name and renamed.
 *
 *   objects/sha256/ab/abcdef…   a file with that SHA-256
 *   keys/<kind>/<hex>           small JSON records under the SHA-256 of a recipe
 *   tmp/                        what is being written; swept of dead processes' files
 *
 * Seals. An object whose every byte was proven (while it was written, or read to verify it) gets
 * a modification time that only its digest and this boot of the machine give: a second of 1980
 * that is a hash of both. Any write to the file moves that time, so a sealed object need not be
 * read again to be believed. Change times would say more, but the hard links that layouts make of
 * objects move them. The boot is part of it because nothing is forced to the disk when an object is
 * kept: after a power cut or a reboot, an object is read once more before it is trusted. What a
 * disk changes behind the back of its file system shows when the object is read; store_intact and
 * `gpuimg store verify` differ in that the latter reads.
 *
 * Written to the disk (fsync) before they get their names are only files that the user asked for:
 * layouts and archives (builder/publish). The disk is set to work on objects while they are
 * written, so that waiting for it there is short.
 *
 * Threads share a store; what is being written (store_pending, fs_pending) is one thread's.
 */
#ifndef BUILDER_STORE_H
#define BUILDER_STORE_H

#include "base/digest.h"
#include "base/fs.h"
#include "base/sink.h"
#include "base/stream.h"

struct store;

/* `dir` NULL: by the environment. Creates what is missing. ERROR_USAGE: no place is known. */
struct store *store_open(const char *dir, struct error *err) MUST_USE;
void store_close(struct store *s);
static inline void store_close_p(struct store **s)
{
	store_close(*s);
}
#define cleanup_store cleanup(store_close_p)
const char *store_path(const struct store *s);

/* True when an object of that digest and size lies there (its bytes are not read). */
bool store_has(const struct store *s, const struct digest *digest, uint64_t size);
/*
 * The same, and the object is sealed or was read and found whole just now; one that is damaged is
 * removed.
 */
bool store_intact(struct store *s, const struct digest *digest, uint64_t size);
/*
 * An object's bytes, proven at the end. ERROR_NOT_FOUND when it is missing. When the end shows
 * that it is damaged (ERROR_INTEGRITY) it is removed, so that a fetch brings it again.
 */
struct stream *store_read(struct store *s, const struct digest *digest, uint64_t size,
			  struct error *err) MUST_USE;
/*
 * A descriptor of an object that is sealed or has been verified just now, for random access.
 * ERROR_NOT_FOUND, ERROR_INTEGRITY (then it is removed). Returns the fd, the caller's, or -1.
 */
int store_open_verified(struct store *s, const struct digest *digest, uint64_t size,
			struct error *err) MUST_USE;
/* A descriptor of an object, unverified. ERROR_NOT_FOUND. Returns the fd, the caller's, or -1. */
int store_open_object(struct store *s, const struct digest *digest, struct error *err) MUST_USE;
/*
 * Directory and name of an object for hard-linking it elsewhere. *out_dirfd stays the store's;
 * *out_name is a path within it, heap. ERROR_NOT_FOUND.
 */
int store_locate(struct store *s, const struct digest *digest, int *out_dirfd, char **out_name,
		 struct error *err) MUST_USE;

/*
 * An object being written: write to ->sink, then commit. It points into itself and must not be
 * moved while open; release it in any case. A zeroed one may be released.
 */
struct store_pending {
	struct fs_pending file;
	struct sink *sink; /* counts and digests on the way to the file */
	struct digest_state state;
	uint64_t bytes;
	struct sink *raw;
	struct store *store;
};
int store_put_open(struct store *s, struct store_pending *out, struct error *err) MUST_USE;
/*
 * Keep it under its digest. `want` (may be NULL) and `want_size` (UINT64_MAX: any) must match:
 * else ERROR_INTEGRITY. Out of space is ERROR_SYSTEM and leaves nothing.
 */
int store_put_commit(struct store_pending *p, const struct digest *want, uint64_t want_size,
		     struct digest *out_digest, uint64_t *out_size, struct error *err) MUST_USE;
void store_put_release(struct store_pending *p);
#define cleanup_store_put cleanup(store_put_release)

/*
 * A whole object from memory and back; the size of one that is read is not known, at most `limit`:
 * ERROR_LIMIT. ERROR_NOT_FOUND, ERROR_INTEGRITY.
 */
int store_put_bytes(struct store *s, struct slice bytes, struct digest *out,
		    struct error *err) MUST_USE;
int store_get_bytes(struct store *s, const struct digest *digest, uint64_t limit,
		    struct strbuf *out, struct error *err) MUST_USE;

/*
 * A record under a key. ERROR_NOT_FOUND, also when it is damaged (then it is removed). Limit
 * 16 MiB. `kind` is a plain name.
 */
int store_get_record(struct store *s, const char *kind, const struct digest *key,
		     struct strbuf *out, struct error *err) MUST_USE;
int store_put_record(struct store *s, const char *kind, const struct digest *key,
		     struct slice value, struct error *err) MUST_USE;
/*
 * A file beside the records whose content proves itself to whoever reads it (no frame, any size):
 * open it (ERROR_NOT_FOUND); begin a new one; give that its place. The fd is the caller's.
 */
int store_cache_open(struct store *s, const char *kind, const struct digest *key,
		     struct error *err) MUST_USE;
int store_cache_new(struct store *s, struct fs_pending *out, struct error *err) MUST_USE;
/* Make a pending file of the descriptor in out->fd, which must come from store_scratch and is
 * taken. */
void store_cache_adopt(struct store *s, struct fs_pending *out);
int store_cache_commit(struct store *s, const char *kind, const struct digest *key,
		       struct fs_pending *file, struct error *err) MUST_USE;
/* Forget a record. */
void store_drop_record(struct store *s, const char *kind, const struct digest *key);
/*
 * An unlinked, empty temporary file in the store's file system, open for reading and writing.
 * Returns the fd, the caller's, or -1.
 */
int store_scratch(struct store *s, struct error *err) MUST_USE;
/* Remove an object known to be bad. */
void store_discard(struct store *s, const struct digest *digest);

#endif
