/*
 * Which version a library of the GPU stack is. From, in order: its file name, what it says of
 * itself (two packages may own one path), the wheel or package that owns it. What none of them
 * tells is NULL, never a guess.
 */
#ifndef LINT_VERSIONS_H
#define LINT_VERSIONS_H

#include "lint/facts.h"
#include "manifests/dotted.h"

/* "12.4.127" of libcudart.so.12.4.127; "9.1.0.70" of a wheel's libcudnn.so.9; or NULL. */
const char *library_version(const struct facts *facts, const struct object *object);
/* libcudart-1b2c3d4e.so.12: a wheel's own copy, under a name that nothing else asks for. */
bool library_is_private_copy(const char *name);
/*
 * The CUDA major a library is of, by its name ("libcublas.so.12": 12, "libcufft.so.11": 12), or 0
 * for those that do not tell.
 */
unsigned library_cuda_major(const char *name);
/* "/usr/lib/python3/site-packages" of a path below it, or NULL; in the facts' arena. */
const char *site_of_path(const struct facts *facts, const char *path);
/*
 * The wheel of that name installed in `site` (NULL: anywhere); "-", "_" and case are one. A name
 * that ends in "-cu*" stands for any "-cuNN", and for none.
 */
const struct package *wheel_in(const struct facts *facts, const char *site, const char *name);

#endif
