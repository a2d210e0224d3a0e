/*
 * From locked inputs to a tree: the components of one stage, merged and finished.
 */
#ifndef BUILDER_ASSEMBLE_H
#define BUILDER_ASSEMBLE_H

#include "base/pool.h"
#include "builder/base_image.h"
#include "builder/finish/finish.h"
#include "builder/sources/package_source.h"

/* What assembling a platform goes on. */
struct assembly {
	const struct stack *stack;
	const struct lockfile *lock;
	const struct lock_platform *inputs; /* of `platform` */
	struct platform platform;
	struct store *store;
	struct pool *pool;
	const struct out *out;
	struct arena *arena;        /* of the report */
	const struct digest *files; /* by stage: dir_files_digest when the build began */
	const char *const *secrets; /* of build stages, as secrets_read takes them */
	size_t secret_count;
	const char *const *cdi_dirs;   /* NULL-terminated, instead of the usual ones; or NULL */
	const struct base_image *base; /* all stages sit on it; NULL: on nothing */
};

/* A stage's tree, as long as its component entries are needed. Release with assembled_release. */
struct assembled {
	struct rootfs rootfs;
	struct finish finish; /* the report of scripts is in it */
};

/*
 * Open all inputs of `stage` (in parallel), add `extra` (NULL-terminated, taken: what was copied
 * from earlier stages) and the stage's `files`, and run the finish actions. ERROR_INTEGRITY when
 * those are not what a->files says, so that no key ever stands for other bytes.
 */
int assemble_stage(const struct assembly *a, const struct stack_stage *stage,
		   struct component **extra, struct assembled *out, struct error *err) MUST_USE;
void assembled_release(struct assembled *assembled);
#define cleanup_assembled cleanup(assembled_release)

#endif
