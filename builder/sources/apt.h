/*
 * The `apt` source: Debian repositories read as apt reads them, without apt. What others call is
 * apt_resolve() and deb_open() in builder/sources/package_source.h; this is the same with the
 * machine's root folder and clock as arguments.
 */
#ifndef BUILDER_SOURCES_APT_H
#define BUILDER_SOURCES_APT_H

#include "builder/sources/package_source.h"

struct apt_machine {
	const char *root;   /* of the configuration that `from: host` reads: "/" */
	const char *config; /* what APT_CONFIG names; NULL: nothing */
	int64_t now;        /* seconds since 1970 */
};

int apt_resolve_on(const struct apt_machine *machine, const struct source_context *context,
		   const struct source_request *requests, size_t count, bool whole_os,
		   struct error *err) MUST_USE;

#endif
