/*
 * Clocks for waiting and for time limits. Nothing that reaches an image or a report is read here.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

#include "base/base.h"

/* Milliseconds of CLOCK_MONOTONIC, or of CLOCK_BOOTTIME, which goes on while the machine sleeps. */
static inline uint64_t clock_ms(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

#endif
