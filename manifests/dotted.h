/*
 * Dotted versions ("570.86.10", "12.6", "2.5.0a0") and ranges of them. Versions are compared
 * number by number after splitting at the dots: leading zeros do not count, missing numbers are
 * 0, and a piece that is not a number counts with its leading digits ("0a0" is 0). They are not
 * decimal fractions: 570.26 is older than 570.86.
 */
#ifndef MANIFESTS_DOTTED_H
#define MANIFESTS_DOTTED_H

#include "base/error.h"
#include "base/slice.h"

/* Below, at or above 0 as `a` is older than, equal to or newer than `b`. */
int dotted_compare(struct slice a, struct slice b);
int dotted_order(const char *a, const char *b);
/* The same by the first two numbers: "12.6.3" and "12.6" are equal. */
int dotted_order_minor(const char *a, const char *b);
/* Digits and single dots only, beginning and ending in a digit. */
bool dotted_is(struct slice s);
/* The n-th number (from 0); 0 when there are fewer. */
uint64_t dotted_number(const char *version, size_t n);
/* True when both agree in as many numbers as the shorter has: "12.6" and "12.6.3". */
bool dotted_prefix(struct slice a, struct slice b);

/*
 * A range as manifests, pip and these tables write it: clauses with commas between, all of which
 * must hold. A clause is ">=V", "<=V", ">V", "<V", "~=V", "==V" or "!=V", which mean what they mean
 * to pip ("==2.7" is 2.7.0 and not 2.7.1; "==2.7.*" is both), or V alone or "=V": all that agree in
 * as many numbers as both sides have.
 */
/* ERROR_USAGE when `range` cannot be read: it is quoted, with what was expected. */
int dotted_range_check(const char *range, struct error *err) MUST_USE;
/* True when `version` lies in `range`, which was checked; NULL and "" hold everything. */
bool dotted_in(const char *version, const char *range);
/* A range for people: "==12.6.3" and "=12.6" without their sign, others as they are. */
const char *dotted_plain(const char *range);

#endif
