/*
 * Test kernels: start a probe inside an image, load the image's own CUDA libraries, run kernels
 * where there is a GPU, and say whether the image, the injection of the driver, the host or the
 * hardware is to blame for what does not work.
 *
 * The only header others include. The load tier needs no GPU; where the run tier cannot be done
 * it is reported as skipped, with the reason.
 */
#ifndef TESTKERNELS_TEST_H
#define TESTKERNELS_TEST_H

#include "base/out.h"
#include "oci/image.h"
#include "testkernels/test_report.h"

/* A command that must end well inside the image: `test.run` of a manifest. */
struct test_command {
	const char *const *argv;
	size_t argc;        /* at least 1 */
	const char *expect; /* what its output must hold; NULL or "": nothing */
	bool gpu;           /* it needs a GPU: elsewhere it is skipped */
};

struct test_options {
	const char *mode;         /* "auto" (NULL), "runc", "crun", "bwrap" or "loader" */
	const char *engine;       /* "docker" or "podman" in place of a mode; NULL: none */
	const char *engine_image; /* what the engine calls the image; NULL: it does not hold it */
	const char *const
		*engine_options;    /* further options of its run, NULL-terminated; or NULL */
	const char *tmp_dir;        /* for what is made for one run; NULL: $TMPDIR, else /var/tmp */
	const char *cache_dir;      /* where unpacked trees are kept; NULL: they are not */
	uint64_t timeout_ms;        /* of one test; 0: 60 s */
	const char *const *require; /* "load", "run" or ids of tests that must have run */
	size_t require_count;
	const char *const *targets; /* "sm_90": what to compile and assemble for; may be none */
	size_t target_count;
	const char *inject;         /* "auto" (NULL), "cdi", "legacy", "enroot", "none" */
	const char *const *devices; /* CDI devices; none: all GPUs of NVIDIA */
	size_t device_count;
	const char *const *cdi_dirs; /* NULL-terminated, instead of the usual ones; or NULL */
	/* Would the image's runtime accept a driver that serves this CUDA? "12.4"; NULL: not asked
	 */
	const char *driver;
	const struct test_command *commands;
	size_t command_count;
	uint64_t shm_bytes;    /* of /dev/shm; 0: 1 GiB */
	bool host_network;     /* the host's interfaces */
	const char *host_root; /* stands for "/" when the driver is looked for; NULL: "/" */
	const struct out *out; /* for notes of progress; NULL: none */
};

/*
 * Test `image`. `out` is filled also when tests failed; only what kept the tests from being run
 * at all is an error. Release with test_report_release.
 * Errors: ERROR_USAGE   unknown mode, requirement, target or device
 *         ERROR_SYSTEM  the mode that was asked for does not work here
 *         others        the image could not be read or unpacked, or no process started
 */
int test_run(struct image *image, const struct test_options *options, struct test_report *out,
	     struct error *err) MUST_USE;

/* ERROR_USAGE for an unknown mode, requirement or target: what can be said before an image is read.
 */
int test_options_check(const struct test_options *options, struct error *err) MUST_USE;

#endif
