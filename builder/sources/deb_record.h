/*
 * What is left of the control files of a Debian package that the host brings (host_record.h).
 */
#ifndef BUILDER_SOURCES_DEB_RECORD_H
#define BUILDER_SOURCES_DEB_RECORD_H

#include "builder/component.h"

/*
 * Leave of the control files what is true of such a package: the stanza without what it depends on
 * and without its size, the checksums of what stays; no scripts, triggers, configuration files or
 * anything else.
 */
void deb_record_reduce(struct component *c);

#endif
