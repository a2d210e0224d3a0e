/*
 * Start the probe through some program (a loader, later a container runtime) and collect what it
 * writes on descriptor 3.
 */
#ifndef TESTKERNELS_LAUNCH_H
#define TESTKERNELS_LAUNCH_H

#include "base/error.h"
#include "base/strbuf.h"

struct root_view;

/* The probe itself, as built: written where it is needed. */
extern const uint8_t probe_bytes[];
extern const size_t probe_size;
/* The stand-in for the driver (testkernels/double/driver_double.c). */
extern const uint8_t driver_double_bytes[];
extern const size_t driver_double_size;

struct launch {
	const char *const *argv; /* NULL-terminated */
	bool inherit_path;       /* argv[0] is looked up on our PATH; else it is a path */
	bool keep_privileges;    /* set-user-ID programs work in it: some engines need newuidmap */
	const struct root_view *view; /* entered before the program starts; NULL: none */
	bool framed;                  /* the lines come on standard output, behind PROBE_FRAME */
	const char *const *env;       /* NULL-terminated "K=V": the whole environment */
	const char *cwd;
	uint64_t timeout_ms; /* 0: none; all is killed when it is over */
};

struct launch_result {
	struct strbuf lines; /* of descriptor 3; cut at 8 MiB */
	struct strbuf words; /* standard output and error, the first 64 KiB */
	int exit_status;     /* or -1 */
	int signal;          /* or 0 */
	bool timed_out;
};

void launch_result_release(struct launch_result *r);
#define cleanup_launch cleanup(launch_result_release)

/*
 * Run to the end. It gets no privileges it does not have (unless keep_privileges), no standard
 * input, a process group of its own, and no descriptors but 0 to 3. 0 whatever its status. Errors:
 * ERROR_NOT_FOUND  argv[0] or the loader it names does not exist ERROR_SYSTEM
 */
int launch_run(const struct launch *l, struct launch_result *out, struct error *err) MUST_USE;

#endif
