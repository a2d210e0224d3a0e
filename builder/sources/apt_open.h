/*
 * All repositories of the apt sources of a manifest, opened and read into one universe. Private to
 * apt.c and apt_open.c.
 */
#ifndef BUILDER_SOURCES_APT_OPEN_H
#define BUILDER_SOURCES_APT_OPEN_H

#include "builder/sources/apt.h"
#include "builder/sources/apt_config.h"
#include "builder/sources/apt_repository.h"

struct apt_session {
	struct apt_machine machine;
	const struct source_context *context;
	const char *arch;          /* Debian's name of the platform's */
	VEC(const char *) foreign; /* other architectures that a request names; in own.arena */
	struct apt_access access;
	struct apt_config host;
	bool host_read;
	struct apt_config own; /* made of the manifest's explicit sources */
	VEC(struct apt_repository *) repositories;
	VEC(struct strbuf *) texts; /* that the universe points into */
	struct deb_universe universe;
	const char *skipped; /* a host source that was left out, or NULL; in own.arena */
};

/* Every apt source of the manifest, in its order. Errors: as apt_resolve. */
int apt_session_open(struct apt_session *s, struct error *err) MUST_USE;
void apt_session_release(struct apt_session *s);

#endif
