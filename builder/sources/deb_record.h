/*
 * What an image has of a Debian package that the host brings, the GPU driver: its record in the
 * package database, so that what depends on it has it, and its documentation. Its libraries and
 * programs are mounted into the container by the runtime.
 */
#ifndef BUILDER_SOURCES_DEB_RECORD_H
#define BUILDER_SOURCES_DEB_RECORD_H

#include "builder/component.h"

/* Whether an entry of data.tar stays: below /usr/share/doc or /usr/share/licenses, or on the way.
 */
bool deb_record_keeps(const struct tar_entry *entry);
/*
 * Leave of the control files what is true of such a package: the stanza without what it depends on
 * and without its size, the checksums of what stays; no scripts, triggers, configuration files or
 * anything else.
 */
void deb_record_reduce(struct component *c);

#endif
