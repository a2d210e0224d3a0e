/*
 * Folders of the build host as components: a source of type `dir`, locked by the digest of its
 * listing, and the manifest's `files`, which are read when the image is built.
 *
 * Modes are 0755 where the owner may execute, else 0644; owners are root; times are not kept.
 * Symlinks are kept as they are, but for the folder itself: that of a source, or one that is named
 * with a "/" at its end, may be reached through one. Anything but files, folders and symlinks is
 * refused.
 */
#ifndef BUILDER_SOURCES_DIR_H
#define BUILDER_SOURCES_DIR_H

#include "base/pool.h"
#include "builder/sources/package_source.h"

/* What reading folders may use; either may be NULL. Not `pool` from within a job of it. */
struct dir_reading {
	struct store *store; /* keeps the digests of files that do not change (stat_cache) */
	struct pool *pool;   /* digests files */
};

/*
 * A locked folder as a component. The listing with the digests lies in the store since it was
 * locked; where it does not, the folder is read and must give the locked listing. The content of
 * each file is proven while it is read. ERROR_INTEGRITY when the folder is not what was locked
 * (names it and says to lock again), ERROR_NOT_FOUND.
 */
struct component *dir_component(struct store *store, const struct stack *stack,
				const struct lock_input *input, struct error *err) MUST_USE;
/* The `files` of a stage, each digested now. NULL on error; no entries when there are none. */
struct component *dir_files(const struct stack *stack, const struct stack_stage *stage,
			    const struct dir_reading *reading, struct error *err) MUST_USE;
/*
 * Append the tree at `from` (a host path: file, folder or symlink; with a "/" at its end a folder,
 * through a symlink or not) as `to` (without a leading
 * "/"; a folder's entries go below it) to `c`, digesting files. `mode` "" or "0755" for files.
 */
int dir_append(struct component *c, const char *from, const char *to, const char *mode,
	       const struct dir_reading *reading, struct error *err) MUST_USE;

enum { DIR_LISTING_BYTES_MAX = 256 * 1024 * 1024 };

/*
 * The canonical listing of a component's entries, and back: paths, modes, link targets, sizes and
 * digests. Contents are then the files below `from` (NULL: the caller sets their paths).
 * ERROR_FORMAT.
 */
void dir_listing_write(const struct component *c, struct strbuf *out);
int dir_listing_read(struct component *c, struct slice text, const char *from,
		     struct error *err) MUST_USE;
/* The digest of that listing: what settles the manifest's `files`. */
struct digest dir_files_digest(const struct component *c);
/* A place in the image without leading "/"; ERROR_USAGE when ".." leads out of it. */
int dir_image_path(const char *text, struct arena *arena, const char **out,
		   struct error *err) MUST_USE;

#endif
