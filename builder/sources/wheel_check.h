/*
 * What pip chose, judged for the image: pip judges environment markers for the Python it runs
 * under, and its report is input like any other.
 * Source: packaging.python.org specifications "Platform compatibility tags".
 */
#ifndef BUILDER_SOURCES_WHEEL_CHECK_H
#define BUILDER_SOURCES_WHEEL_CHECK_H

#include "builder/sources/wheel_meta.h"
#include "builder/sources/wheels_pip.h"

/* Some of the file's tags is one that CPython 3.X on that machine and glibc takes. */
bool wheel_fits(const struct wheel_name *file, const struct wheel_target *target);

#endif
