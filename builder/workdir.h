/*
 * Temporary directories in the store's tmp/, named for the process that made them, so that the
 * next run can remove those of killed ones.
 */
#ifndef BUILDER_WORKDIR_H
#define BUILDER_WORKDIR_H

#include "builder/store.h"

/* A new directory (mode 0700); what dead processes left is removed first. Heap path, or NULL with
 * ERROR_SYSTEM. */
char *workdir_new(struct store *store, struct error *err) MUST_USE;
/* Remove it with all it holds, and free the path. NULL is allowed. */
void workdir_remove(char *path);
static inline void workdir_remove_p(char **path)
{
	workdir_remove(*path);
}
#define cleanup_workdir cleanup(workdir_remove_p)

#endif
