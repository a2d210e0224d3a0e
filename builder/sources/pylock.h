/*
 * pylock.toml: a Python environment that another tool has resolved. It is taken as it stands: what
 * its markers let in for the image's Python and platform, of each package the wheel whose tags
 * fit best, with the SHA-256 it gives.
 * Source: packaging.python.org, "pylock.toml specification" 1.0 (PEP 751).
 */
#ifndef BUILDER_SOURCES_PYLOCK_H
#define BUILDER_SOURCES_PYLOCK_H

#include "base/digest.h"
#include "base/out.h"
#include "base/vec.h"
#include "builder/sources/wheels_pip.h"

struct pylock_wheel {
	const char *name;    /* of the package, normalized */
	const char *version; /* the package's; else that of the file's name */
	const char *file;    /* "six-1.16.0-py2.py3-none-any.whl" */
	const char *url;     /* NULL: only `path` */
	const char *path;    /* as written, relative to the lock file; NULL: only `url` */
	struct digest digest;
	uint64_t size; /* bytes; 0: not given */
	size_t line, column;
};

struct pylock {
	struct pylock_wheel *items; /* in the order of the file; no name twice */
	size_t len, cap;
};

/* "pylock.toml" or "pylock.NAME.toml", as the specification wants such files to be called. */
bool pylock_is_name(const char *path);

/*
 * What of `text` is for the target; strings in `arena`, release with vec_release. `file` is for
 * error texts ("pylock.toml:12:3: …"). Notes on things that are passed over go to `out` (NULL: to
 * nobody).
 * Errors: ERROR_FORMAT   not TOML, or not what the specification says
 *         ERROR_USAGE    what would have to be built: an sdist alone, a folder, version control;
 *                        no SHA-256; a package twice for this target
 *         ERROR_VERDICT  not for this Python or platform: no wheel whose tags fit (they are named)
 */
int pylock_parse(struct slice text, const char *file, const struct wheel_target *target,
		 const struct out *out, struct arena *arena, struct pylock *found,
		 struct error *err) MUST_USE;

/* A package that the file names, whatever the target. */
struct pylock_name {
	const char *name, *version; /* normalized; "" when not given */
	const char *marker;         /* "" */
};

struct pylock_names {
	struct pylock_name *items;
	size_t len, cap;
};

/* All of them, for who only wants to know what is in it; release with vec_release. ERROR_FORMAT. */
int pylock_list(struct slice text, const char *file, struct arena *arena, struct pylock_names *out,
		struct error *err) MUST_USE;

#endif
