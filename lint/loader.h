/*
 * The dynamic loader, simulated over facts: where a NEEDED name would be found, with the loader
 * cache as it was baked and as the GPU runtime rebuilds it at start.
 * Source: glibc elf/dl-load.c, elf/dl-cache.c; ld.so(8); musl ldso/dynlink.c.
 */
#ifndef LINT_LOADER_H
#define LINT_LOADER_H

#include "lint/facts.h"

enum loader_cache {
	LOADER_CACHE_BAKED,   /* /etc/ld.so.cache as it is in the image */
	LOADER_CACHE_REBUILT, /* as ldconfig makes it from /etc/ld.so.conf at start */
};

struct loader;

/*
 * Simulate for these facts, which must outlive it: fills both caches, follows what is loaded and
 * marks objects reachable. Done once, by facts_derive().
 */
struct loader *loader_new(struct facts *facts);
void loader_free(struct loader *loader);
const struct facts *loader_facts(const struct loader *loader);

/* One object that is being loaded and what loaded it: DT_RPATH is inherited. */
struct loader_link {
	const struct object *object;
	const char *path; /* as found: $ORIGIN is its directory */
	const struct loader_link *loaded_by;
};

struct loader_hit {
	const struct object *object;
	const char *path; /* as found, its directory resolved */
	const char *via;  /* "RPATH of /usr/bin/x", "LD_LIBRARY_PATH", "loader cache", … */
};

/*
 * Where `name` is found for `from`. Objects of another class or machine are passed over. False
 * when nowhere in the image.
 */
bool loader_find(struct loader *loader, const struct loader_link *from, const char *name,
		 enum loader_cache cache, struct loader_hit *out);

/* The default directories for that machine and class, in order. Always NULL-terminated. */
const char *const *loader_default_dirs(const struct facts *facts, uint16_t machine, bool is64);

/* Where a directory on a search path comes from. */
struct loader_dir {
	const char *path;  /* resolved, absolute */
	const char *where; /* "LD_LIBRARY_PATH", "/etc/ld.so.conf.d/x.conf", "RUNPATH of /a/b.so" */
	bool only_rebuilt; /* in the configuration, yet nothing of it in the baked cache */
	bool by_object;    /* an RPATH or RUNPATH brings it */
};

struct loader_dirs {
	struct loader_dir *items;
	size_t len, cap;
};

/*
 * All directories that anything of the image searches: environment, configuration, cache, RPATH
 * and RUNPATH of objects (with $ORIGIN replaced), musl's path file. One row per directory and
 * source, the first object in path order for an RPATH.
 */
const struct loader_dirs *loader_dirs(const struct loader *loader);

/* One object of a process, in the order in which the loader maps them. */
struct loader_loaded {
	const char *name; /* as it was asked for; of the program itself its path */
	const struct object *object;
	const char *path; /* as found */
	const char *via;
};

struct loader_process {
	struct loader_loaded *items;
	size_t len, cap;
};

/*
 * What one program loads when it starts: itself, what LD_PRELOAD and /etc/ld.so.preload name, then
 * what is needed, breadth first. Names that are found nowhere are left out. Release with
 * vec_release. The tests hold it against the real loader's list.
 */
void loader_trace(struct loader *loader, const struct object *program, enum loader_cache cache,
		  struct loader_process *out);

/* That an object needs (or opens) a library by name, and what it gets. */
struct loader_edge {
	const struct object *from;
	const char *name;
	const struct object *to; /* NULL: the driver's, or nothing */
	const char *path;        /* of `to`, as found */
	const char *via; /* "LD_LIBRARY_PATH", "RUNPATH of /x", "loaded by Python before it" */
	bool opened;     /* by dlopen rather than NEEDED */
	struct loader_edge *next; /* of the same `from` */
};

/*
 * The edges of all that is reachable: the first of an object, by name; NULL: none. An object that
 * gets different copies in different processes has several of one name.
 */
const struct loader_edge *loader_edges(const struct loader *loader, const struct object *from);
/* The objects that edges lead to from these on, they included; `out` is a set of paths. */
void loader_reach(const struct loader *loader, const struct object *from, struct map *out);
/* The objects that load `to` by an edge, some of them twice. Release with vec_release. */
void loader_users(const struct loader *loader, const struct object *to, struct object_names *out);

/*
 * A library that an object needs and that is in the image nowhere the loader looks, nor provided
 * by the driver. For an object that nothing loads: nor anywhere else in the image.
 */
struct loader_missing {
	const struct object *object;
	const char *name;
};

struct loader_report {
	struct loader_missing *items; /* sorted by name, then path of the object */
	size_t len, cap;
};

const struct loader_report *loader_missing(const struct loader *loader);

#endif
