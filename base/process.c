#include "base/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"

extern char **environ;

void process_result_release(struct process_result *r)
{
	if (!r)
		return;
	strbuf_release(&r->out_stdout);
	strbuf_release(&r->out_stderr);
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

bool process_available(const char *name)
{
	const char *path = getenv("PATH");
	struct slice rest = slice_str(path ? path : "/usr/local/bin:/usr/bin:/bin"), dir;

	if (strchr(name, '/'))
		return is_program(name);
	while (slice_cut(&rest, ':', &dir)) {
		cleanup_free char *full =
			xasprintf("%.*s/%s", (int)dir.len, (const char *)dir.data, name);

		if (dir.len && is_program(full))
			return true;
	}
	return false;
}

struct pipes {
	int in[2], out[2], err[2], exec[2];
};

static void pipes_close(struct pipes *p)
{
	int *all[] = { p->in, p->out, p->err, p->exec };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		for (int k = 0; k < 2; k++) {
			if (all[i][k] >= 0)
				close(all[i][k]);
		}
	}
}

static int pipes_open(struct pipes *p, bool has_input, struct error *err)
{
	*p = (struct pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 } };
	if (!has_input)
		p->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if ((has_input ? pipe2(p->in, O_CLOEXEC) < 0 : p->in[0] < 0) ||
	    pipe2(p->out, O_CLOEXEC) < 0 || pipe2(p->err, O_CLOEXEC) < 0 ||
	    pipe2(p->exec, O_CLOEXEC) < 0)
		return error_set_errno(err, errno, "create a pipe");
	return 0;
}

static void NORETURN child(const struct process *p, const struct pipes *pipes)
{
	int failed, report = pipes->exec[1];

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing we started outlives us */
	if (p->no_network && unshare(CLONE_NEWNET) < 0)
		goto fail;
	signal(SIGPIPE, SIG_DFL);
	if (dup2(pipes->in[0], 0) < 0 ||
	    dup2(p->stdout_fd > 0 ? p->stdout_fd : pipes->out[1], 1) < 0 ||
	    (!p->inherit_stderr && dup2(pipes->err[1], 2) < 0))
		goto fail;
	if (p->extra_fd > 0 && p->extra_as == report) {
		report = fcntl(report, F_DUPFD_CLOEXEC, report + 1);
		if (report < 0)
			_exit(126);
	}
	if (p->extra_fd > 0) {
		if (p->extra_fd == p->extra_as)
			fcntl(p->extra_fd, F_SETFD, 0);
		else if (dup2(p->extra_fd, p->extra_as) < 0)
			goto fail;
	}
	for (size_t i = 0; i < p->kept_count; i++)
		fcntl(p->kept_fds[i], F_SETFD, 0);
	if (p->env)
		environ = (char **)p->env;
	execvp(p->argv[0], (char *const *)p->argv);
fail:
	failed = errno;
	if (write(report, &failed, sizeof(failed)) < 0)
		_exit(126);
	_exit(127);
}

/* How a conversation went wrong. */
struct trouble {
	bool over;     /* there was too much */
	int sys_errno; /* a pipe could not be read */
};

/* Takes what a descriptor has. False when it is at its end. */
static bool take_output(const struct process *p, int fd, struct strbuf *into, uint64_t limit,
			struct trouble *trouble)
{
	char buf[16 * 1024];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0) {
		if (errno == EINTR || errno == EAGAIN)
			return true;
		trouble->sys_errno = errno;
		return false;
	}
	if (n == 0)
		return false;
	if (p->keep_tail && into->len + (size_t)n > limit) {
		size_t kept = MIN(into->len, (size_t)limit / 2);

		memmove(into->data, into->data + into->len - kept, kept);
		strbuf_truncate(into, kept);
	}
	if (into->len + (size_t)n > limit)
		trouble->over = true;
	else
		strbuf_add(into, buf, (size_t)n);
	return true;
}

/*
 * write() whose reader may be gone: EPIPE, and no SIGPIPE for the program, whatever it does with
 * that signal.
 */
static ssize_t write_quietly(int fd, const void *data, size_t len)
{
	static const struct timespec at_once = { 0 };
	sigset_t pipe_signal, pending, before;
	bool was_pending;
	ssize_t n;
	int saved;

	sigemptyset(&pipe_signal);
	sigaddset(&pipe_signal, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE) == 1;
	pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
	n = write(fd, data, len);
	saved = errno;
	if (n < 0 && saved == EPIPE && !was_pending)
		sigtimedwait(&pipe_signal, NULL, &at_once);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return n;
}

static void feed(int *fd, struct slice *left)
{
	ssize_t n = left->len ? write_quietly(*fd, left->data, left->len) : 0;

	if (n > 0) {
		left->data += n;
		left->len -= (size_t)n;
	}
	if (!left->len || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		close(*fd);
		*fd = -1;
	}
}

/*
 * Moves bytes until both outputs are closed and all input is taken, the time is over (`end`, 0:
 * never), or there is too much.
 */
static void converse(const struct process *p, struct pipes *pipes, uint64_t end,
		     struct process_result *out, struct trouble *trouble)
{
	uint64_t limit = p->output_limit ? p->output_limit : 16 * MIB;
	struct slice input = p->stdin_data;
	bool open_out = true, open_err = !p->inherit_stderr;

	if (pipes->in[1] >= 0)
		fcntl(pipes->in[1], F_SETFL, O_NONBLOCK);
	while ((open_out || open_err || pipes->in[1] >= 0) && !trouble->over) {
		struct pollfd fds[3] = {
			{ .fd = open_out ? pipes->out[0] : -1, .events = POLLIN },
			{ .fd = open_err ? pipes->err[0] : -1, .events = POLLIN },
			{ .fd = pipes->in[1], .events = POLLOUT },
		};
		uint64_t now = end ? clock_ms(CLOCK_MONOTONIC) : 0;

		if (end && now >= end) {
			out->timed_out = true;
			return;
		}
		if (poll(fds, 3, end ? (int)MIN(end - now, (uint64_t)INT_MAX) : -1) < 0 &&
		    errno != EINTR)
			return;
		if (fds[0].revents)
			open_out = take_output(p, pipes->out[0], &out->out_stdout, limit, trouble);
		if (fds[1].revents)
			open_err = take_output(p, pipes->err[0], &out->out_stderr, limit, trouble);
		if (fds[2].revents)
			feed(&pipes->in[1], &input);
	}
}

/*
 * Waits for the child, which may live on after it closed its outputs; kills it when the time is
 * over.
 */
static int await(pid_t pid, uint64_t end, struct process_result *out)
{
	struct timespec pause = { .tv_nsec = 500000 };
	int status = 0;

	while (end && !out->timed_out) {
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			return status;
		if (done < 0 && errno != EINTR)
			break;
		if (clock_ms(CLOCK_MONOTONIC) >= end) {
			out->timed_out = true;
			kill(pid, SIGKILL);
			break;
		}
		nanosleep(&pause, NULL);
		pause.tv_nsec = MIN(pause.tv_nsec * 2, 20000000L);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return status;
}

int process_exec_outcome(int fd)
{
	int failed = 0;
	ssize_t n;

	do
		n = read(fd, &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno;
	return n == sizeof(failed) ? failed : 0;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int process_run(const struct process *p, struct process_result *out, struct error *err)
{
	struct pipes pipes;
	uint64_t end = p->timeout_ms ? clock_ms(CLOCK_MONOTONIC) + p->timeout_ms : 0;
	int status, failed;
	struct trouble trouble = { 0 };
	pid_t pid;

	fflush(NULL);
	if (pipes_open(&pipes, p->stdin_data.len > 0, err) < 0) {
		pipes_close(&pipes);
		return -1;
	}
	pid = fork();
	if (pid < 0) {
		error_set_errno(err, errno, "start %s", p->argv[0]);
		pipes_close(&pipes);
		return -1;
	}
	if (pid == 0)
		child(p, &pipes);
	close_end(&pipes.in[0]);
	close_end(&pipes.out[1]);
	close_end(&pipes.err[1]);
	close_end(&pipes.exec[1]);
	failed = process_exec_outcome(pipes.exec[0]);
	if (failed) {
		await(pid, 0, out);
		pipes_close(&pipes);
		if (failed == ENOENT)
			return error_set(err, ERROR_NOT_FOUND, "%s: no such program", p->argv[0]);
		return error_set_errno(err, failed, "start %s", p->argv[0]);
	}
	converse(p, &pipes, end, out, &trouble);
	if (trouble.over || trouble.sys_errno || out->timed_out)
		kill(pid, SIGKILL);
	pipes_close(&pipes);
	status = await(pid, trouble.over || trouble.sys_errno ? 0 : end, out);
	if (trouble.over)
		return error_set(err, ERROR_LIMIT, "%s: its output is too long", p->argv[0]);
	if (trouble.sys_errno)
		return error_set_errno(err, trouble.sys_errno, "read what %s prints", p->argv[0]);
	out->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	return 0;
}
