/*
 * An OCI image layout on disk: get, put, tag, list. Writers follow "blob appears under its name
 * only when complete, index.json last", so that a killed run leaves a valid layout. Threads may put
 * blobs into one layout and read them at a time; tags are one thread's (layout_lock).
 * Source: OCI image specification 1.1, image-layout.md.
 */
#ifndef OCI_LAYOUT_H
#define OCI_LAYOUT_H

#include "base/sink.h"
#include "oci/manifest.h"
#include "oci/source.h"

struct layout;

/* Open an existing layout. ERROR_NOT_FOUND, ERROR_FORMAT. */
struct layout *layout_open(const char *dir, struct error *err) MUST_USE;
/* Open, creating the directory and oci-layout when missing. A non-empty foreign directory is
 * ERROR_USAGE. Sweeps what killed runs left. */
struct layout *layout_create(const char *dir, struct error *err) MUST_USE;
void layout_close(struct layout *l);
static inline void layout_close_p(struct layout **l)
{
	layout_close(*l);
}
#define cleanup_layout cleanup(layout_close_p)

bool layout_has(const struct layout *l, const struct digest *digest, uint64_t size);
/*
 * Store `src` as a blob and describe it (digest and size; media_type is the caller's).
 * ERROR_LIMIT over `limit` bytes; ERROR_SYSTEM. A reader never sees half a blob.
 */
int layout_put(struct layout *l, struct stream *src, uint64_t limit, struct descriptor *out,
	       struct error *err) MUST_USE;
/* The same for bytes in memory. */
int layout_put_bytes(struct layout *l, struct slice bytes, struct descriptor *out,
		     struct error *err) MUST_USE;
/*
 * Take the file `name` in `dirfd`, known to be this blob, by reflink, else hard link, else copy,
 * which is verified. Hard-linked are only files that have no write permission at all: the blob
 * is then the same file, and writing to one would change the other. ERROR_INTEGRITY: another size.
 * The blob gets the file's modification time. One that is there already is left alone if it is the
 * same file or has the same time; else it is read, and replaced when it is damaged.
 */
int layout_link(struct layout *l, int dirfd, const char *name, const struct digest *digest,
		uint64_t size, struct error *err) MUST_USE;
/* Wait until a blob is on the disk, if it is there; layout_tag then waits for index.json too. */
int layout_sync(struct layout *l, const struct digest *digest, struct error *err) MUST_USE;
/*
 * Between the two nobody else changes what tags stand for: who makes a new document of the one
 * under a tag reads, puts and tags in between. They nest; others wait.
 */
int layout_lock(struct layout *l, struct error *err) MUST_USE;
void layout_unlock(struct layout *l);
/*
 * True when nobody else filled the layout since layout_create, or does so now: then what was put
 * may be taken back. Another process may count on it otherwise. From then on others wait for
 * layout_close.
 */
bool layout_unshared(struct layout *l);
/*
 * Take back a blob that was put moments ago, when what it was put for came to nothing; only after
 * layout_unshared.
 */
void layout_discard(struct layout *l, const struct digest *digest);
/* The bytes of a blob, unverified. ERROR_NOT_FOUND. */
struct stream *layout_blob(struct layout *l, const struct digest *digest,
			   struct error *err) MUST_USE;
/* What is known of that blob's bytes: see source_identity. */
enum blob_identity layout_identity(struct layout *l, const struct digest *digest,
				   struct strbuf *out);
/*
 * Point `tag` at a manifest or index, replacing an earlier entry of that tag. Entries are kept
 * sorted by tag; what other entries hold is kept as it is. Processes that tag one layout at the
 * same time wait for each other (flock on the directory). The last step of a build.
 */
int layout_tag(struct layout *l, const char *tag, const struct descriptor *desc,
	       struct error *err) MUST_USE;
/*
 * Resolve `tag` (NULL: the only entry, or the only named one). `tag` is, in this order: the whole
 * org.opencontainers.image.ref.name or the digest of an entry, its io.containerd.image.name, or
 * what follows the last ":" of either. ERROR_NOT_FOUND names the tags there are; ERROR_FORMAT when
 * it stands for several images. Strings live in `arena`; out->annotations is NULL.
 */
int layout_resolve(struct layout *l, const char *tag, struct arena *arena, struct descriptor *out,
		   struct error *err) MUST_USE;
/* The same choice among the entries of an index.json read elsewhere; `where` names it in errors.
 * *out borrows from `index`. */
int layout_index_choose(const struct index *index, const char *where, const char *tag,
			struct descriptor *out, struct error *err) MUST_USE;
/*
 * Write the layout's image `tag` and all it refers to as an oci-archive: entries sorted, the one
 * time, mode 0644. Written to `out` completely or not at all by the caller's pending file.
 */
int layout_archive(struct layout *l, const char *tag, struct sink *out, struct error *err) MUST_USE;

/*
 * Sources. NULL on error: ERROR_NOT_FOUND nothing is there, or nothing under the tag; ERROR_FORMAT,
 * ERROR_INTEGRITY, ERROR_LIMIT what is there; ERROR_USAGE a file where a directory must be, or the
 * other way round. The last works on an unpacked directory.
 */
struct image_source *layout_source(const char *dir, const char *tag, struct error *err) MUST_USE;
/* oci-archive and docker-archive, plain or compressed; told apart by content; `fd` is taken. An
 * archive that cannot be seeked is spooled to an unlinked temporary file. */
struct image_source *archive_source(int fd, const char *name, const char *tag,
				    struct error *err) MUST_USE;
struct image_source *rootfs_source(const char *dir, struct error *err) MUST_USE;

#endif
