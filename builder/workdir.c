#include "builder/workdir.h"

#include "base/alloc.h"

static const char prefix[] = "work-";

char *workdir_new(struct store *store, struct error *err)
{
	cleanup_free char *tmp = fs_join(store_path(store), "tmp"), *owner = fs_owner(),
			  *path = xasprintf("%s/%s%s-XXXXXX", tmp, prefix, owner);
	cleanup_fd int tmpfd = open(tmp, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (tmpfd >= 0)
		fs_sweep(tmpfd, prefix);
	if (!mkdtemp(path)) {
		error_set_errno(err, errno, "create a folder in %s", tmp);
		return NULL;
	}
	return steal_ptr(&path);
}

void workdir_remove(char *path)
{
	struct error ignored = { 0 }; /* swept by the next run */

	if (path)
		ignore_result(fs_remove_tree(AT_FDCWD, path, &ignored));
	free(path);
}
