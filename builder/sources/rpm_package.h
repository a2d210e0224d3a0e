/*
 * An .rpm into a component: its headers into memory, the content of its payload one file after the
 * other into a sink. What others call is rpm_open() in builder/sources/package_source.h.
 *
 * Scriptlets are kept for the report, never run. Paths are as packaged. Ghosts are not made:
 * nothing of them is in the package. Files that are one become hard links to the first of them.
 * Source: rpm's docs/manual/format.md and tags.md.
 */
#ifndef BUILDER_SOURCES_RPM_PACKAGE_H
#define BUILDER_SOURCES_RPM_PACKAGE_H

#include "base/sink.h"
#include "builder/component.h"

/*
 * Fill `c` (made with any name and version, which are replaced by those of the header) from the
 * bytes of an .rpm. Entries' contents are ranges of what went to `content`, of c->fd once the
 * caller sets it.
 * Errors: as formats/rpm_read.h; ERROR_FORMAT for device nodes, pipes and sockets, a file below a
 * symlink of the package itself, capabilities that nobody knows; ERROR_LIMIT more than 64 GiB of
 * content.
 */
int rpm_unpack(struct stream *file, struct sink *content, struct component *c,
	       struct error *err) MUST_USE;
/* The same of a package that the host brings: what host_record.h and rpm_record.h leave of it. */
int rpm_unpack_record(struct stream *file, struct sink *content, struct component *c,
		      struct error *err) MUST_USE;

#endif
