/*
 * The driver that the CUDA libraries of an image ask for: by minor version compatibility the floor
 * of the CUDA major, where code is compiled at run time the minor's own.
 * Source: CUDA Toolkit release notes, "CUDA Toolkit and Corresponding Driver Versions"; CUDA
 * Compatibility guide.
 */
#ifndef LINT_FLOOR_H
#define LINT_FLOOR_H

#include "lint/facts.h"

struct floor {
	const struct object *object; /* that sets it: the consumer; NULL: nothing uses CUDA */
	const char *library;         /* "libcudart.so.13" */
	unsigned major;              /* of CUDA */
	const char *driver;          /* "525.60.13"; NULL: not established */
};

/* The highest floor of all that is reachable. */
void floor_find(const struct facts *facts, struct floor *out);
/*
 * That of the CUDA libraries and plug-ins which nothing reachable is linked to, when nothing
 * reachable is linked to any: base images, and packages that open all by name. `object` is the
 * library or plug-in itself. Set aside: what a wheel holds as its private copy.
 */
void floor_find_unbound(const struct facts *facts, struct floor *out);
/* True when hosts with that driver run it without more, or when that cannot be told. */
bool floor_met(const struct facts *facts, const struct floor *floor,
	       const struct host_driver *driver);

#endif
