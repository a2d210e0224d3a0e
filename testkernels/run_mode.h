/*
 * Ways of starting the probe in an unpacked image, one per file (run_<mode>.c).
 */
#ifndef TESTKERNELS_RUN_MODE_H
#define TESTKERNELS_RUN_MODE_H

#include "oci/config.h"
#include "testkernels/image_loader.h"
#include "testkernels/launch.h"

struct run_context {
	const char *scratch;               /* absolute path of a directory of ours */
	const char *root;                  /* absolute path of the image's tree */
	const struct image_loader *loader; /* of the image; its path is not NULL */
	const struct image_config *config; /* environment and working directory */
	uint64_t timeout_ms;               /* of the whole run */
	const char *driver_dir;            /* host's driver libraries alone; NULL: none injected */
};

struct run_mode {
	const char *name; /* "loader" */
	/* What the tests of a plan see before the paths of the image; "" in a container. */
	const char *(*prefix)(const struct run_context *c);
	/* Run a plan (testkernels/probe/probe.h) to its end. Errors as launch_run gives them. */
	int (*run)(const struct run_context *c, struct slice plan, struct launch_result *out,
		   struct error *err);
};

/*
 * The image's loader started directly with the image's directories as its search path: no
 * namespaces, no privileges, no isolation. The image's code runs as the user who runs us, and sees
 * the host's files. Absolute paths inside libraries (DT_RUNPATH, dlopen of a full name) point at
 * the host; where that lets a file of the host in, the result says so.
 */
extern const struct run_mode run_mode_loader;

#endif
