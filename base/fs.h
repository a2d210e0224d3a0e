/*
 * Files, relative to a directory descriptor (AT_FDCWD for paths as the user gave them): read whole
 * under a limit, write then rename, walk in sorted order.
 *
 * Nothing here follows a symlink out of where it was told to work unless it says so.
 */
#ifndef BASE_FS_H
#define BASE_FS_H

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* Append the whole file; ERROR_NOT_FOUND, ERROR_LIMIT (over `limit` bytes), ERROR_SYSTEM. */
int fs_read(int dirfd, const char *path, uint64_t limit, struct strbuf *out,
	    struct error *err) MUST_USE;
/* Open for reading, close-on-exec; ERROR_NOT_FOUND or ERROR_SYSTEM. Returns the fd or -1. */
int fs_open(int dirfd, const char *path, struct error *err) MUST_USE;
/*
 * Replace `path` by `data` as one step: a reader sees the old file or the new one. `mode` is
 * exact, whatever the umask. On failure nothing is left behind.
 */
int fs_write(int dirfd, const char *path, struct slice data, mode_t mode,
	     struct error *err) MUST_USE;
/* The same, and the bytes and the name are on the disk when this returns. */
int fs_write_durable(int dirfd, const char *path, struct slice data, mode_t mode,
		     struct error *err) MUST_USE;
/* All missing directories of `path`, mode 0755 less the umask. ERROR_SYSTEM. */
int fs_mkdirs(int dirfd, const char *path, struct error *err) MUST_USE;
/*
 * Is there something, if only a symlink to nothing? What lies where we may not look does not exist
 * for us; what cannot be looked at for another reason does, and opening it says why.
 */
bool fs_exists(int dirfd, const char *path);
/* Remove a file or a whole tree, never following symlinks. Absence is success. ERROR_SYSTEM. */
int fs_remove_tree(int dirfd, const char *path, struct error *err) MUST_USE;

/*
 * A file that is being written in a directory and appears under its name only when complete. It
 * has no name at all until then where the file system can do that (O_TMPFILE), so that a killed
 * process leaves nothing; elsewhere a temporary one, which fs_pending_sweep removes. It is gone
 * when released before fs_pending_commit. `dirfd` must outlive it.
 */
struct fs_pending {
	int dirfd;       /* borrowed */
	int fd;          /* write here */
	char *temporary; /* name within dirfd; NULL: none */
};

int fs_pending_open(int dirfd, struct fs_pending *out, struct error *err) MUST_USE;
/* With a temporary name in any case. */
int fs_pending_open_named(int dirfd, struct fs_pending *out, struct error *err) MUST_USE;
/* Give it `mode` and its name `path` within dirfd, replacing what is there. */
int fs_pending_commit(struct fs_pending *p, const char *path, mode_t mode,
		      struct error *err) MUST_USE;
void fs_pending_release(struct fs_pending *p);
#define cleanup_pending cleanup(fs_pending_release)
/* Remove the temporary files that killed processes left in dirfd; living ones are kept. */
void fs_pending_sweep(int dirfd);

/*
 * A text for names that tells whose they are ("PID-NUMBERING"); heap. fs_sweep removes what lies in
 * dirfd under `prefix`, that text, "-" and anything else, when its process lives no more. Whether
 * one of another machine or PID namespace lives cannot be known: what it has not touched for a week
 * is removed.
 */
char *fs_owner(void);
void fs_sweep(int dirfd, const char *prefix);

/* What a walk visits. */
struct fs_entry {
	const char *path; /* relative to the root, no leading "./" */
	const char *name; /* last component of path */
	int dirfd;        /* of the directory that holds it */
	struct stat st;   /* of the entry itself, links not followed */
};
typedef int fs_visit_fn(void *user, const struct fs_entry *entry, struct error *err);

/* What `visit` returns for a directory that is not to be entered. */
enum { FS_WALK_PAST = 2 };

/*
 * Visit each entry below `root` (not the root itself), a directory before what it holds, siblings
 * in bytewise order. What vanishes meanwhile is passed over. Any other non-zero result of `visit`
 * ends the walk and is returned. ERROR_NOT_FOUND there is no root; ERROR_LIMIT it is too deep.
 */
int fs_walk(int dirfd, const char *root, fs_visit_fn *visit, void *user,
	    struct error *err) MUST_USE;

/* The names in a directory, sorted, without "." and ".."; ERROR_NOT_FOUND. fs_names_release. */
struct fs_names {
	char **items;
	size_t len, cap;
};
int fs_list(int dirfd, const char *path, struct fs_names *out, struct error *err) MUST_USE;
void fs_names_release(struct fs_names *names);

/*
 * Lock what `fd` is open on, for as long as it is (flock). `how`: LOCK_SH or LOCK_EX, which wait
 * for whoever holds it, or either with LOCK_NB, which does not. 1: it is ours; 0: another holds it
 * (LOCK_NB only); -1: ERROR_SYSTEM, it cannot be locked. `name` is for the message.
 */
int fs_lock(int fd, int how, const char *name, struct error *err) MUST_USE;
/*
 * The same of a file of this name that stands for a right to something: made where there is none,
 * mode 0600, and removed by whoever has held it and has no more use of it. *out_fd is the caller's,
 * set with 1 only.
 */
int fs_lock_file(int dirfd, const char *name, int how, int *out_fd, struct error *err) MUST_USE;

/* Join with one "/" between; heap. */
char *fs_join(const char *dir, const char *name);

/*
 * A file without a name for what is too large for memory, in $TMPDIR or /var/tmp; the caller closes
 * it. -1 with ERROR_SYSTEM.
 */
int fs_scratch(struct error *err) MUST_USE;

#endif
