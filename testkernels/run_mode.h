/*
 * Ways of starting the probe in an unpacked image, one per file (run_<mode>.c).
 *
 * runc, crun and bwrap are programs of this machine, started on a root that is the image's tree
 * with a layer of ours over it (root_view); what is written at run time is gone afterwards. Loader
 * mode needs nothing and isolates nothing. The engines start an image that they hold themselves.
 */
#ifndef TESTKERNELS_RUN_MODE_H
#define TESTKERNELS_RUN_MODE_H

#include "oci/config.h"
#include "testkernels/image_user.h"
#include "testkernels/inject.h"
#include "testkernels/launch.h"
#include "testkernels/probe_lines.h"
#include "testkernels/root_view.h"

/* A list of texts of its own, for command lines and environments. */
struct words {
	char **items; /* NULL-terminated once words_end was called */
	size_t len, cap;
};
void words_add(struct words *w, const char *text);
void words_addf(struct words *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* All of a NULL-terminated list. */
void words_add_all(struct words *w, const char *const *texts);
void words_end(struct words *w);
void words_release(struct words *w);
#define cleanup_words cleanup(words_release)

struct run_context {
	const char *scratch;               /* absolute path of a directory of ours */
	const char *root;                  /* absolute path of the image's tree */
	const struct image_loader *loader; /* of the image; its path is not NULL */
	const struct image_config *config; /* environment and working directory */
	const struct image_user *user;     /* who the image's processes are */
	uint64_t timeout_ms;               /* of the whole run */
	uint64_t shm_bytes;                /* of /dev/shm; 0: 1 GiB */
	bool host_network;                 /* the host's interfaces, as NCCL may need them */
	enum root_view_kind view;          /* how the root is made */
	const struct injection *injection; /* NULL: none */
	const char *edits;                 /* its layer of files; NULL: none */
	const char *ptx_dir;               /* files that go beside the plan, in "ptx"; NULL: none */
	const char *driver_dir;            /* its libraries alone, for loader mode; NULL: none */
	const char *engine_image;          /* what an engine calls the image; NULL: unknown */
	const char *const *engine_options; /* further options of its run, or NULL */
};

/* A plan for the probe; empty: say "noop", to learn whether this mode works at all. */
struct run_mode {
	const char *name;    /* "runc" */
	const char *program; /* that it needs; NULL: none */
	bool container;      /* the image's root is "/" and the injection is complete */
	/* Why it need not be tried here, heap; NULL: it may work. May be NULL itself. */
	char *(*refused)(void);
	/* Run a plan (testkernels/probe/probe.h) to its end. Errors as launch_run gives them. */
	int (*run)(const struct run_context *c, struct slice plan, struct launch_result *out,
		   struct error *err);
};

extern const struct run_mode run_mode_runc;
extern const struct run_mode run_mode_crun;
extern const struct run_mode run_mode_bwrap;
/*
 * The image's loader started directly with the image's directories as its search path: no
 * namespaces, no privileges, no isolation. The image's code runs as the user who runs us, and sees
 * the host's files. Absolute paths inside libraries (DT_RUNPATH, dlopen of a full name) point at
 * the host; where that lets a file of the host in, the result says so.
 */
extern const struct run_mode run_mode_loader;
extern const struct run_mode run_mode_docker;
extern const struct run_mode run_mode_podman;

/* What the tests of a plan see before the paths of the image; "" in a container. */
const char *run_prefix(const struct run_mode *mode, const struct run_context *c);

/* --- for run_*.c */

#define PROBE_PLACE "/dev/.gpuimg"

/* Put the probe and the plan into the directory `name` of the scratch; its path, heap; NULL:
 * ERROR_SYSTEM. */
char *run_prepare(const struct run_context *c, const char *name, struct slice plan,
		  struct error *err) MUST_USE;
/* The image's environment with what a runtime adds: PATH, HOME, what is injected. Not ended. */
void run_environment(const struct run_context *c, struct words *env);
/* The image's working directory, or "/" when it has none. */
const char *run_directory(const struct run_context *c);
/* "LOADER PROBE run PLAN" or "… noop", with `place` as the directory of the probe. Not ended. */
void run_arguments(const struct run_context *c, const char *place, struct slice plan,
		   struct words *argv);
/* The first line of what was printed, for a reason; heap. */
char *run_words(const struct launch_result *r);

#endif
