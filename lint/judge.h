/*
 * Questions that several rules ask about files of the driver and the toolkit.
 */
#ifndef LINT_JUDGE_H
#define LINT_JUDGE_H

#include "lint/facts.h"

/* Bytes up to which a libcuda or libnvidia-ml without a driver version is taken for a stub. */
enum { STUB_BYTES_MAX = 256 * 1024 };

/* "535.129.03" of "libcuda.so.535.129.03": three digits, a dot, two or more; NULL: none. */
const char *driver_version_of(const char *name);
/* "libcublas.so.12.4.5.8": a version of three numbers or more. */
bool name_has_full_version(const char *name);
/* A link-time stub: in a directory named stubs, or small and without a driver's version. */
bool object_is_stub(const struct object *object);
/* The name of the package that owns a library or program ("libnvidia-compute-535"), or NULL. */
const char *owning_package(const struct facts *facts, const char *path);
/* A library of a profiler: what it opens, and its GPU code, tell nothing of what programs do. */
bool library_is_profiler(const char *name);
/* In an archive, a package cache, documentation, samples or test data. */
bool path_is_set_aside(const char *path);
/*
 * A credential that everybody has: a key of test data, of documentation, or of a package that is
 * published; no finding. Those of GPU services count wherever they are.
 */
bool secret_is_published(const char *path, const struct secret_facts *secret);
/* A default directory of the image's loader (links followed). */
bool is_default_dir(const struct facts *facts, const char *dir);
/* A conda prefix holds the path. */
bool is_in_conda(const struct facts *facts, const char *path);
/*
 * Reachable, of the image's machine, and neither sample nor stub: what a program of the image may
 * load when it runs.
 */
bool object_is_used(const struct facts *facts, const struct object *object);
/*
 * Which objects with GPU code are judged: those that are used; where none of them is, as in a base
 * image, the CUDA libraries, of which nothing is more than info (`*out_unbound`). Release with
 * vec_release.
 */
struct object_list {
	const struct object **items;
	size_t len, cap;
};
void judged_code(const struct facts *facts, struct object_list *out, bool *out_unbound);
/* "/a, /b, /c, ..." of the first few; in the facts' arena. */
const char *object_list_text(const struct facts *facts, const struct object_list *list);
/* Most objects are of another machine than the image says: OCI004 speaks. */
bool machine_is_wrong_throughout(const struct facts *facts);
/* A compat directory with a driver library is on a search path: CMP001 speaks. */
bool compat_is_forced(const struct facts *facts);

#endif
