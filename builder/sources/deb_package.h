/*
 * A .deb into a component: control members into memory, the content of data.tar one file after
 * the other into a sink. What others call is deb_open() in builder/sources/package_source.h.
 *
 * Maintainer scripts are kept for the report, never run. Paths are as packaged: merging /usr is
 * not done here.
 * Source: deb(5), deb-control(5).
 */
#ifndef BUILDER_SOURCES_DEB_PACKAGE_H
#define BUILDER_SOURCES_DEB_PACKAGE_H

#include "base/sink.h"
#include "builder/component.h"

/*
 * Fill `c` (made with any name and version, which are replaced by those of the control file) from
 * the bytes of a .deb. Entries' contents are ranges of what went to `content`, of c->fd once the
 * caller sets it.
 * Errors: ERROR_FORMAT it is no .deb, ends early, names that leave the root, a file below a symlink
 * of the package itself, a path twice, a hard link to what was not before it, device nodes;
 * ERROR_LIMIT more than 2,000,000 entries, 64 GiB of content, 16 MiB for one control file.
 */
int deb_read(struct stream *file, struct sink *content, struct component *c,
	     struct error *err) MUST_USE;
/* The same of a package that the host brings: what host_record.h and deb_record.h leave of it. */
int deb_read_record(struct stream *file, struct sink *content, struct component *c,
		    struct error *err) MUST_USE;

#endif
