/*
 * What the files of the simulated loader share; private to lint/loader*.c.
 */
#ifndef LINT_LOADER_PARTS_H
#define LINT_LOADER_PARTS_H

#include "lint/loader.h"

/* One name in the cache, for one class and machine. */
struct cached {
	const struct object *object;
	const char *path;
	unsigned rank; /* of a variant for newer processors; 1: the plain one */
};

struct loader {
	const struct facts *facts;
	struct arena arena;
	struct map baked, rebuilt; /* "machine class name" → struct cached */
	struct map cached_dirs;    /* of the baked cache, links followed */
	struct loader_dirs dirs;
	struct loader_report missing;
	struct map edges; /* path of the object → struct loader_edge, by name */
	struct map users; /* path of the object → struct object_names */
	size_t edge_count;
};

bool elf_same_class(const struct elf_facts *a, const struct elf_facts *b);
/* Replace $ORIGIN and $LIB in one element of a path; in the loader's arena. */
const char *loader_expand(struct loader *l, struct slice element, const char *origin);
/* loader_dirs.c: fill l->dirs. */
void loader_collect_dirs(struct loader *l);
/* loader_follow.c: mark objects reachable and fill l->missing. */
void loader_follow(struct loader *l, struct facts *facts);
void loader_edges_release(struct loader *l);

#endif
