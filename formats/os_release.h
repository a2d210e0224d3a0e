/*
 * os-release: lines KEY=VALUE, the value quoted or not.
 * Source: os-release(5).
 */
#ifndef FORMATS_OS_RELEASE_H
#define FORMATS_OS_RELEASE_H

#include "base/arena.h"
#include "base/slice.h"

/* The value of the first line of that key, without its quotes, in `arena`; "" when there is none.
 */
const char *os_release_value(struct arena *arena, struct slice text, const char *key);

#endif
