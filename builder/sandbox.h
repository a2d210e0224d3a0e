/*
 * A stage's tree on disk, and commands that run in it.
 */
#ifndef BUILDER_SANDBOX_H
#define BUILDER_SANDBOX_H

#include "base/process.h"
#include "builder/assemble.h"
#include "builder/sandbox_devices.h"
#include "builder/secret.h"

/* Write the tree to the empty directory `dir`. Owners are set when we are root. ERROR_SYSTEM. */
int sandbox_extract(struct rootfs *r, const char *dir, struct error *err) MUST_USE;

/* What the commands of a stage run in. */
struct sandbox {
	const struct stack *stack;
	const struct stack_stage *stage;
	const char *root;    /* its file system: a private copy */
	const char *scratch; /* a private folder beside it */
	bool cuda_programs;  /* /usr/local/cuda/bin goes on PATH */
	const struct secrets *secrets;
	struct sandbox_devices *devices;
	const struct out *out;
};

/*
 * Run the stage's commands one after the other with /bin/sh -e, in `root` as the file system: no
 * network, no path of the host, uid 0 inside with few capabilities, secrets as files. In bubblewrap
 * where there is one, else in runc or crun. When a command ends, or the stage's time is over, all
 * that it started ends with it. The stage's device is there while they run.
 * Errors: ERROR_USAGE there is none of these programs; ERROR_VERDICT a command ended with a status
 * other than 0, or the time was over (its output is shown through `out`, as it is with -v for all
 * commands, secrets masked); ERROR_SYSTEM the disk is full.
 */
int sandbox_run(const struct sandbox *sandbox, struct error *err) MUST_USE;

/*
 * Append what lies at `path` of the tree `root` to `c` as "x" and "x/…", each file put into the
 * store by digest (content.path names the object). Links on the way are followed inside the root,
 * never out of it. ERROR_USAGE when nothing is there; ERROR_INTEGRITY when a secret is in it.
 */
int sandbox_collect(struct store *store, const char *root, const char *path,
		    const struct secrets *secrets, struct component *c, struct error *err) MUST_USE;

/* --- for sandbox_*.c */

/* One command and what is left of the stage's time. */
struct sandbox_command {
	const struct sandbox *sandbox;
	const char *command;
	const char *path; /* PATH */
	uint64_t timeout_ms;
};

/* Open below the root as a chroot would, whatever links the commands have made. Fd or -1. */
int sandbox_open_inside(int rootfd, const char *path, uint64_t flags);
/* The environment of commands, "K=V" but PATH; ends with NULL. */
extern const char *const sandbox_environment[];
/* What root may do inside: own files, change users; nothing of the host. Ends with NULL. */
extern const char *const sandbox_capabilities[];
/* By an OCI runtime, `engine`: "runc" or "crun". Errors: those of process_run. */
int sandbox_run_oci(const struct sandbox_command *command, const char *engine,
		    struct process_result *out, struct error *err) MUST_USE;

#endif
