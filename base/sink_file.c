#include "base/sink_file.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/fs.h"

int sink_file_write(const char *file, sink_file_fn *write, void *user, struct error *err)
{
	const char *slash = strrchr(file, '/');
	cleanup_free char *parent =
		slash ? xstrndup(file, (size_t)(slash - file) + 1) : xstrdup(".");
	cleanup_fd int dirfd = -1;
	cleanup_pending struct fs_pending pending = { .fd = -1 }; /* goes before dirfd */
	cleanup_sink struct sink *sink = NULL;

	if (fs_mkdirs(AT_FDCWD, parent, err) < 0)
		return -1;
	dirfd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return error_set_errno(err, errno, "open the folder of %s", file);
	if (fs_pending_open(dirfd, &pending, err) < 0)
		return -1;
	sink = sink_fd_early(pending.fd, file);
	if (write(user, sink, err) < 0)
		return -1;
	if (fdatasync(pending.fd) < 0 && errno != EINVAL && errno != EROFS)
		return error_set_errno(err, errno, "bring %s to the disk", file);
	return fs_pending_commit(&pending, slash ? slash + 1 : file, 0644, err);
}
