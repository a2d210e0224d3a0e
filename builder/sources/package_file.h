/*
 * A package that is one file in the store, a .deb or an .rpm, as a component: from the cache of
 * unpacked packages, else from the file, which then goes into that cache.
 */
#ifndef BUILDER_SOURCES_PACKAGE_FILE_H
#define BUILDER_SOURCES_PACKAGE_FILE_H

#include "base/sink.h"
#include "base/stream.h"
#include "builder/component.h"
#include "builder/store.h"
#include "manifests/lockfile.h"

struct package_format {
	enum component_kind kind;
	const char *recipe;  /* "deb 1": what the cache's key begins with; changes with what unpack
				makes */
	const char *listing; /* "index": where the lock has name and version from, for errors */
	int (*unpack)(struct stream *file, struct sink *content, struct component *c,
		      struct error *err);
};

/*
 * The component of `input`, whose file must be what the lock says; the caller releases it.
 * Errors (NULL): the store's, those of unpack, ERROR_INTEGRITY for another package.
 */
struct component *package_file_open(struct store *store, const struct lock_input *input,
				    const struct package_format *format,
				    struct error *err) MUST_USE;

#endif
