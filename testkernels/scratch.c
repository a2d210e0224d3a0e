#include "testkernels/scratch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/fs.h"

static char *absolute(const char *path)
{
	cleanup_free char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

	return here ? fs_join(here, path) : xstrdup(path);
}

static char *choose_parent(const char *asked)
{
	const char *tmp = getenv("TMPDIR");

	if (asked)
		return absolute(asked);
	if (tmp && *tmp)
		return absolute(tmp);
	return xstrdup(access("/var/tmp", W_OK | X_OK) == 0 ? "/var/tmp" : "/tmp");
}

static int check_parent(const char *parent, struct error *err)
{
	struct statvfs vfs;

	if (fs_mkdirs(AT_FDCWD, parent, err) < 0)
		return -1;
	if (strpbrk(parent, ":;"))
		return error_set(
			err, ERROR_USAGE,
			"temporary directory '%s': a \":\" or \";\" in its path does not go "
			"into a library search path; set TMPDIR to another",
			parent);
	if (statvfs(parent, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC))
		return error_set(
			err, ERROR_USAGE,
			"temporary directory '%s' is mounted noexec, so that nothing can be "
			"run from it; set TMPDIR to another",
			parent);
	return 0;
}

/* The process that waits: it holds nothing open but its end of the pipe. */
static void NORETURN guard_run(int fd, const char *path)
{
	struct error ignored = { 0 };
	struct pollfd end = { .fd = 0 }; /* nobody writes to it: it hangs up when we are gone */
	struct rlimit files;

	setsid();
	/* Removing a tree holds a descriptor for each level. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		ignore_result(setrlimit(RLIMIT_NOFILE, &files) < 0);
	}
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	if (dup2(fd, 0) < 0)
		_exit(1);
	if (syscall(SYS_close_range, 1u, ~0u, 0u) < 0) {
		for (int i = 1; i < 1024; i++)
			close(i);
	}
	while (!(end.revents & (POLLHUP | POLLERR)))
		poll(&end, 1, -1);
	_exit(fs_remove_tree(AT_FDCWD, path, &ignored) < 0);
}

static int guard_start(struct scratch *s, struct error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "create a pipe");
	fflush(NULL);
	s->pid = fork();
	if (s->pid == 0) {
		close(fds[1]);
		guard_run(fds[0], s->path);
	}
	close(fds[0]);
	s->guard = fds[1];
	if (s->pid < 0)
		return error_set_errno(err, errno, "start a process");
	return 0;
}

int scratch_open(const char *parent, struct scratch *out, struct error *err)
{
	cleanup_free char *dir = choose_parent(parent);
	struct scratch s = { .dirfd = -1, .guard = -1 };

	if (check_parent(dir, err) < 0)
		return -1;
	s.path = xasprintf("%s/gpuimg-run-XXXXXX", dir);
	if (!mkdtemp(s.path)) {
		error_set_errno(err, errno, "create a directory in %s", dir);
		free(s.path);
		return -1;
	}
	s.dirfd = open(s.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (s.dirfd < 0)
		error_set_errno(err, errno, "open %s", s.path);
	if (s.dirfd < 0 || guard_start(&s, err) < 0) {
		rmdir(s.path);
		s.pid = 0;
		scratch_release(&s);
		return -1;
	}
	*out = s;
	return 0;
}

void scratch_release(struct scratch *s)
{
	int status;

	if (!s->path)
		return;
	if (s->guard >= 0)
		close(s->guard);
	while (s->pid > 0 && waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->path);
	*s = (struct scratch){ .dirfd = -1, .guard = -1 };
}
