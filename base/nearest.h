/*
 * "Did you mean …?": the nearest of several names to one that is not known.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include "base/base.h"

struct nearest {
	const char *wanted; /* borrowed */
	const char *best;   /* nearest so far, borrowed; NULL: none near enough */
	size_t distance;
};

struct nearest nearest_start(const char *wanted);
/* Offer one candidate; it must outlive the search. Equal distances: the first offered stays. */
void nearest_try(struct nearest *n, const char *candidate);

#endif
