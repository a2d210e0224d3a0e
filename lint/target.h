/*
 * The GPU, driver and container runtime the user named. Nothing is guessed: a rule that needs a
 * target that was not named does not run.
 */
#ifndef LINT_TARGET_H
#define LINT_TARGET_H

#include "base/error.h"
#include "base/vec.h"

enum runtime {
	RUNTIME_CDI = 1 << 0,
	RUNTIME_LEGACY = 1 << 1,
	RUNTIME_ENROOT = 1 << 2,
	RUNTIME_WSL = 1 << 3,
	RUNTIME_JETSON = 1 << 4,
	RUNTIME_APPTAINER = 1 << 5,
};

struct target_texts {
	const char **items;
	size_t len, cap;
};

struct target {
	struct target_texts gpus;    /* as the user wrote them: "sm_90", "h100"; owned */
	struct target_texts drivers; /* "535.183.06", "550", ">=550"; owned */
	const char *driver_cuda;     /* "12.4", or NULL */
	unsigned runtimes;           /* RUNTIME_*; 0: none named */
};

void target_release(struct target *target);
/*
 * Add one option's value; a comma separates several. For driver_cuda the text must outlive the
 * target. ERROR_USAGE names the value and what is allowed.
 */
int target_add_gpus(struct target *target, const char *text, struct error *err) MUST_USE;
int target_add_drivers(struct target *target, const char *text, struct error *err) MUST_USE;
int target_set_driver_cuda(struct target *target, const char *text, struct error *err) MUST_USE;
int target_add_runtimes(struct target *target, const char *text, struct error *err) MUST_USE;
/* Append the names of the runtimes that were named ("cdi"), which need no release; NULL: none. */
void target_runtime_names(const struct target *target, struct target_texts *out);

#endif
