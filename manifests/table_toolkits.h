/*
 * CUDA toolkits and the drivers they need: typed access to cuda-toolkits.json.
 */
#ifndef MANIFESTS_TABLE_TOOLKITS_H
#define MANIFESTS_TABLE_TOOLKITS_H

#include "manifests/table_read.h"

/* A CUDA major: from `min_driver` on a driver runs programs built with any toolkit of it. */
struct toolkit_major {
	unsigned major;
	bool minor_compat;      /* false (CUDA 10): each toolkit needs its own driver */
	unsigned min_branch;    /* 0: not established */
	const char *min_driver; /* NULL: not established */
	struct table_origin origin;
};

struct toolkit {
	const char *version; /* "12.6.3" */
	const char *minor;   /* "12.6" */
	const char *label, *status;
	unsigned major;
	unsigned branch;           /* the driver branch it was released with; 0: not established */
	const char *min_driver;    /* by the release notes; NULL: not given */
	const char *own_driver;    /* min_driver, else the branch alone: serves it by itself */
	const char *runtime;       /* of the run-time library: "12.6.77"; NULL: not known */
	const char *redist_sha256; /* of redistrib_VERSION.json, hexadecimal; NULL: not known */
	struct table_origin origin;
};

struct table_toolkits {
	struct toolkit_major *majors; /* oldest first */
	size_t major_count;
	struct toolkit *items; /* oldest first */
	size_t count;
	struct table_texts never_released; /* "12.7" */
};

int table_toolkits_read(const struct table *table, struct arena *arena, struct table_toolkits *out,
			struct error *err) MUST_USE;
/* The row of a major, or NULL. */
const struct toolkit_major *toolkit_major(const struct table_toolkits *t, unsigned major);
/* The newest release of "12.6" (or of "12.6.3"), previews left out; NULL when there is none. */
const struct toolkit *toolkit_find(const struct table_toolkits *t, const char *version);
/*
 * The release that brought this very run-time library ("13.0.96", as wheels and archives number
 * it), the newest of those that brought it; NULL when the table has none.
 */
const struct toolkit *toolkit_of_runtime(const struct table_toolkits *t, const char *runtime);
/* False for previews and candidates. */
bool toolkit_released(const struct toolkit *toolkit);

#endif
