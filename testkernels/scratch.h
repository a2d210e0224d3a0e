/*
 * A temporary directory that is gone when we are, however we end: a small process of our own waits
 * for the end of a pipe that only we hold, and then removes the tree. So an interrupted or killed
 * run leaves nothing behind, without signal handlers or global state.
 */
#ifndef TESTKERNELS_SCRATCH_H
#define TESTKERNELS_SCRATCH_H

#include <sys/types.h>

#include "base/error.h"

struct scratch {
	char *path; /* absolute; NULL: none */
	int dirfd;  /* O_PATH */
	int guard;  /* our end of the pipe */
	pid_t pid;  /* of the process that waits */
};

/*
 * Create a directory, mode 0700, in `parent`, which is created when missing; NULL: $TMPDIR, else
 * /var/tmp, else /tmp. ERROR_SYSTEM; ERROR_USAGE when programs cannot be started from there
 * (mounted noexec) or its path holds a ":" or ";", which a loader's search path cannot express.
 */
int scratch_open(const char *parent, struct scratch *out, struct error *err) MUST_USE;
/* Remove it, now. A zeroed struct is allowed. */
void scratch_release(struct scratch *s);

#endif
