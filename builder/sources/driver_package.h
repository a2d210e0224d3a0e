/*
 * Which packages are the GPU driver's, by name, of Debian's kind and Red Hat's. The driver is the
 * host's: a manifest names none of them, and of one that another package needs an image has the
 * record alone (host_record.h).
 */
#ifndef BUILDER_SOURCES_DRIVER_PACKAGE_H
#define BUILDER_SOURCES_DRIVER_PACKAGE_H

#include "base/slice.h"

/* Names that bring a driver into an image (cuda-drivers…, libcuda1, cuda, cuda-12-6 …). */
bool package_is_driver(struct slice name);
/*
 * Those of them that are the driver, and nothing besides: not cuda or cuda-12-6, of which the
 * toolkit hangs.
 */
bool package_is_hosts(struct slice name);

#endif
