#include "builder/workdir.h"

#include <signal.h>

#include "base/alloc.h"

static const char prefix[] = "work-";

/* The process that made "work-PID-XXXXXX", or 0. */
static pid_t maker(const char *name)
{
	const char *digits = name + sizeof(prefix) - 1, *dash;
	uint64_t pid;

	if (!str_starts(name, prefix) || !(dash = strchr(digits, '-')) ||
	    !slice_u64(slice_of(digits, (size_t)(dash - digits)), &pid) || pid > INT32_MAX)
		return 0;
	return (pid_t)pid;
}

static void sweep(const char *tmp)
{
	struct fs_names names = { 0 };
	struct error ignored = { 0 }; /* what cannot be removed now is tried again next time */

	if (fs_list(AT_FDCWD, tmp, &names, &ignored) < 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		pid_t pid = maker(names.items[i]);

		if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH) {
			cleanup_free char *path = fs_join(tmp, names.items[i]);

			ignore_result(fs_remove_tree(AT_FDCWD, path, &ignored));
		}
	}
	fs_names_release(&names);
}

char *workdir_new(struct store *store, struct error *err)
{
	cleanup_free char *tmp = fs_join(store_path(store), "tmp"),
			  *path = xasprintf("%s/%s%ld-XXXXXX", tmp, prefix, (long)getpid());

	sweep(tmp);
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
