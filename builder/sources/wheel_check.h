/*
 * What pip chose, judged for the image: pip judges environment markers for the Python it runs
 * under, and its report is input like any other.
 * Source: packaging.python.org specifications "Platform compatibility tags",
 * "Core metadata"; pip documentation, "Installation report".
 */
#ifndef BUILDER_SOURCES_WHEEL_CHECK_H
#define BUILDER_SOURCES_WHEEL_CHECK_H

#include "formats/wheel_meta.h"
#include "builder/sources/wheels_pip.h"

/* Some of the file's tags is one that CPython 3.X on that machine and glibc takes. */
bool wheel_fits(const struct wheel_name *file, const struct wheel_target *target);

/*
 * How well it fits, as installers rank tags: less is better, UINT_MAX is not at all. First the
 * interpreter and ABI (cp311-cp311, cp311-abi3, cp311-none, older abi3, py311, py3, older py3),
 * then the newest glibc.
 */
unsigned wheel_rank(const struct wheel_name *file, const struct wheel_target *target);
/* The tags that CPython 3.X takes there, in short, for people; in `arena`. */
const char *wheel_tags_taken(const struct wheel_target *target, struct arena *arena);

/*
 * Every Requires-Dist of the report's wheels, judged for the image, is met by one of them: from
 * those that were asked for, with their extras. Versions are pip's matter. Warns of wheels that
 * the image has no need of, and of requirements that cannot be read.
 * ERROR_VERDICT names what is missing, who requires it, and what can be done; ERROR_FORMAT a
 * report whose parts have wrong types.
 */
int wheel_check_closure(const json_t *report, const struct wheel_target *target,
			const struct out *out, struct error *err) MUST_USE;

#endif
