/*
 * What an image has of a package that the host brings, the GPU driver: its record in the package
 * database, so that what depends on it has it, and its documentation. Its libraries and programs
 * are mounted into the container by the runtime. Which part of the record is left is in
 * deb_record.h and formats/rpm_record.h.
 */
#ifndef BUILDER_SOURCES_HOST_RECORD_H
#define BUILDER_SOURCES_HOST_RECORD_H

#include "formats/tar.h"

/* Whether an entry is kept: documentation (formats/doc_path.h), or a folder on the way to it. */
bool host_record_keeps(const struct tar_entry *entry);

#endif
