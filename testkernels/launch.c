#include "testkernels/launch.h"

#include "base/clock.h"
#include "base/process.h"
#include "testkernels/root_view.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum { LINES_MAX = 8 * 1024 * 1024, WORDS_MAX = 64 * 1024, RESULT_FD = 3, GRACE_MS = 2000 };

struct ends {
	int lines[2], words[2], exec[2];
};

void launch_result_release(struct launch_result *r)
{
	strbuf_release(&r->lines);
	strbuf_release(&r->words);
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void ends_close(struct ends *e)
{
	int *all[] = { e->lines, e->words, e->exec };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		close_end(&all[i][0]);
		close_end(&all[i][1]);
	}
}
#define cleanup_ends cleanup(ends_close)

/* A pipe whose ends are above the numbers that the child is given. */
static int pipe_high(int fds[2])
{
	int low[2];

	if (pipe2(low, O_CLOEXEC) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		fds[i] = fcntl(low[i], F_DUPFD_CLOEXEC, RESULT_FD + 1);
		close(low[i]);
	}
	return fds[0] < 0 || fds[1] < 0 ? -1 : 0;
}

static void NORETURN child(const struct launch *l, const struct ends *e, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY), failed;

	setpgid(0, 0);
	/* A probe that hangs must not outlive the one who would end it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	if (!l->keep_privileges)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	errno = l->view ? root_view_enter(l->view) : 0;
	if (errno)
		goto fail;
	if (null < 0 || dup2(null, 0) < 0 || dup2(l->framed ? e->lines[1] : e->words[1], 1) < 0 ||
	    dup2(e->words[1], 2) < 0 || dup2(e->lines[1], RESULT_FD) < 0 || chdir(l->cwd) < 0)
		goto fail;
	if (l->inherit_path)
		execvpe(l->argv[0], (char *const *)l->argv, (char *const *)l->env);
	else
		execve(l->argv[0], (char *const *)l->argv, (char *const *)l->env);
fail:
	failed = errno;
	ignore_result(write(e->exec[1], &failed, sizeof(failed)) < 0);
	_exit(127);
}

/* Takes what there is, dropping what is over the limit. False at the end, or with *failed set. */
static bool take(int fd, struct strbuf *into, size_t limit, int *failed)
{
	char buf[16 * 1024];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0) {
		if (errno == EINTR || errno == EAGAIN)
			return true;
		*failed = errno;
		return false;
	}
	strbuf_add(into, buf, MIN((size_t)n, limit - into->len));
	return n > 0;
}

/* Until descriptor 3 is closed by all who have it, or the time is over. */
static void collect(const struct launch *l, const struct ends *e, struct launch_result *out,
		    int *failed)
{
	uint64_t end = l->timeout_ms ? clock_ms(CLOCK_MONOTONIC) + l->timeout_ms : 0, now;
	bool words = true, lines = true;

	while (lines && !*failed) {
		struct pollfd fds[2] = {
			{ .fd = e->lines[0], .events = POLLIN },
			{ .fd = words ? e->words[0] : -1, .events = POLLIN },
		};

		now = end ? clock_ms(CLOCK_MONOTONIC) : 0;
		out->timed_out = end && now >= end;
		if (out->timed_out)
			return;
		if (poll(fds, 2, end ? (int)MIN(end - now, (uint64_t)INT_MAX) : -1) < 0)
			continue;
		if (fds[1].revents)
			words = take(e->words[0], &out->words, WORDS_MAX, failed);
		if (fds[0].revents)
			lines = take(e->lines[0], &out->lines, LINES_MAX, failed);
	}
}

/* Descriptor 3 is closed: the process has nothing more to say, and a moment to end. */
static int reap(pid_t pid)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	uint64_t end = clock_ms(CLOCK_MONOTONIC) + GRACE_MS;
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_ms(CLOCK_MONOTONIC) >= end)
			kill(-pid, SIGKILL);
		nanosleep(&pause, NULL);
	}
	return status;
}

/* What was printed and is not read yet; nobody waits for more. */
static void collect_words(const struct ends *e, struct launch_result *out, int *failed)
{
	struct pollfd fd = { .fd = e->words[0], .events = POLLIN };

	while (poll(&fd, 1, 0) > 0 && take(fd.fd, &out->words, WORDS_MAX, failed))
		continue;
}

int launch_run(const struct launch *l, struct launch_result *out, struct error *err)
{
	cleanup_ends struct ends e = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int status, failed, unread = 0;
	pid_t pid, parent = getpid();

	*out = (struct launch_result){ 0 };
	if (pipe_high(e.lines) < 0 || pipe_high(e.words) < 0 || pipe_high(e.exec) < 0)
		return error_set_errno(err, errno, "create a pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return error_set_errno(err, errno, "start %s", l->argv[0]);
	if (pid == 0)
		child(l, &e, parent);
	close_end(&e.lines[1]);
	close_end(&e.words[1]);
	close_end(&e.exec[1]);
	failed = process_exec_outcome(e.exec[0]);
	if (!failed)
		collect(l, &e, out, &unread);
	if (out->timed_out || unread)
		kill(-pid, SIGKILL);
	status = reap(pid);
	if (failed == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "%s: no such program", l->argv[0]);
	if (failed)
		return error_set_errno(err, failed, "start %s", l->argv[0]);
	collect_words(&e, out, &unread);
	if (unread)
		return error_set_errno(err, unread, "read what the probe says");
	out->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return 0;
}
