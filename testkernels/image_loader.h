/*
 * The dynamic loader of an unpacked image and the directories it would search, so that it can be
 * started with them from outside; and the CUDA libraries that lie in the image.
 *
 * glibc searches LD_LIBRARY_PATH, then its cache, then its default directories: ld.so.conf counts
 * only through the cache that was made from it. A directory that it names but the cache does not
 * know is therefore not searched, and reported. musl searches LD_LIBRARY_PATH and then the
 * directories of its path file, or its defaults.
 * Source: ld.so(8), ldconfig(8); musl ldso/dynlink.c.
 */
#ifndef TESTKERNELS_IMAGE_LOADER_H
#define TESTKERNELS_IMAGE_LOADER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/fs.h"
#include "base/vec.h"
#include "formats/elf.h"

struct image_loader {
	const char *path; /* below the root, without links; NULL: the image has none */
	uint16_t machine; /* ELF_MACHINE_* of it */
	bool musl;
	bool has_cache;              /* glibc's cache is there and readable */
	VEC(const char *) dirs;      /* searched, in order; absolute in the image, without links */
	VEC(const char *) forgotten; /* named by ld.so.conf but unknown to the cache */
};

/*
 * Look at the tree. `library_path` is the image's LD_LIBRARY_PATH, or NULL. Strings live in
 * `arena`. That there is no loader is not an error. ERROR_SYSTEM.
 */
int image_loader_find(int rootfd, const char *library_path, struct arena *arena,
		      struct image_loader *out, struct error *err) MUST_USE;
void image_loader_release(struct image_loader *l);

/* What the libraries of CUDA are called: the part before ".so". */
struct library_family {
	const char *stem; /* "libcudart" */
	const char *what; /* for people: "CUDA runtime" */
	bool has_version; /* the probe can ask it for its version */
	bool asks_driver; /* it answers only where a driver is: CUPTI 13.2 crashes without */
};
extern const struct library_family library_families[];
extern const size_t library_families_count;

/* One file of a family in the image. */
struct library_copy {
	const struct library_family *family;
	const char *soname;       /* DT_SONAME, else the file's name */
	const char *path;         /* absolute in the image: as a program would open it */
	const char *file;         /* the file itself, absolute, without links */
	const char *file_version; /* "13.0.88" of "libcudart.so.13.0.88"; NULL: none in its name */
	const char *package;      /* that it came with: "libcublas-13-0"; NULL: unknown */
	const char *package_version; /* of that, without an epoch */
	const char *damage;          /* why it cannot be read as a library; NULL: it can */
	bool found_by_name;          /* the loader finds this copy when asked for the soname */
};
struct library_copies {
	struct library_copy *items;
	size_t len, cap;
};

/*
 * Show `visit` each file of the tree that is no directory. What may not be read is passed by: a
 * tree in place may belong to others, and what its user cannot read a program cannot load either.
 * The directories of a running system (proc, sys, dev) are left out. ERROR_SYSTEM.
 */
typedef void image_file_fn(void *user, const struct fs_entry *entry);
int image_files(int rootfd, image_file_fn *visit, void *user, struct error *err) MUST_USE;

/*
 * All copies, sorted by soname, the one the loader finds first, then by path. Files of another
 * processor and those under a "stubs" directory are left out. Release with vec_release.
 */
int image_libraries_find(int rootfd, const struct image_loader *loader, struct arena *arena,
			 struct library_copies *out, struct error *err) MUST_USE;

#endif
