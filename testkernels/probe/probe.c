#include "probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PLAN_MAX = 1 << 20, WORDS_MAX = 1024, DRAIN_MS = 200 };

int main(int argc, char **argv);

/*
 * Entry without the start files of any C library: they differ between libraries and versions.
 * The old form of __libc_start_main takes the constructors' runner; this program has none.
 */
#if defined(__x86_64__)
__asm__(".text\n.globl _start\n.type _start,@function\n_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rdx, %r9\n"
	"	mov (%rsp), %rsi\n"
	"	lea 8(%rsp), %rdx\n"
	"	and $-16, %rsp\n"
	"	push %rax\n"
	"	push %rsp\n"
	"	xor %r8d, %r8d\n"
	"	xor %ecx, %ecx\n"
	"	lea main(%rip), %rdi\n"
	"	call *__libc_start_main@GOTPCREL(%rip)\n"
	"	hlt\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl _start\n.type _start,%function\n_start:\n"
	"	mov x29, #0\n"
	"	mov x30, #0\n"
	"	mov x5, x0\n"
	"	ldr x1, [sp]\n"
	"	add x2, sp, #8\n"
	"	mov x6, sp\n"
	"	adrp x0, main\n"
	"	add x0, x0, :lo12:main\n"
	"	mov x3, #0\n"
	"	mov x4, #0\n"
	"	bl __libc_start_main\n"
	"	brk #1\n");
#else
#error "the probe has no entry for this processor"
#endif

static long now_ms(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One line of the plan, cut at its tabs. */
struct step {
	struct check check;
	long timeout_ms;
	const char *name; /* of the check */
	const char *args[CHECK_ARGS_MAX];
};

static char *cut(char **rest)
{
	char *start = *rest, *tab = start ? strchr(start, '\t') : NULL;

	if (tab)
		*tab = '\0';
	*rest = tab ? tab + 1 : NULL;
	return start;
}

static bool step_parse(char *line, const char *root, struct step *out)
{
	char *rest = line, *number;

	memset(out, 0, sizeof(*out));
	out->check.id = cut(&rest);
	number = cut(&rest);
	out->name = cut(&rest);
	if (!out->name)
		return false;
	for (; *number >= '0' && *number <= '9' && out->timeout_ms < 100000000; number++)
		out->timeout_ms = out->timeout_ms * 10 + (*number - '0');
	while (rest && out->check.count < CHECK_ARGS_MAX)
		out->args[out->check.count++] = cut(&rest);
	out->check.args = out->args;
	out->check.root = root;
	return true;
}

static void child_run(const struct step *step, int words)
{
	check_fn *run = check_load_find(step->name);
	const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	if (null >= 0)
		dup2(null, 0);
	dup2(words, 1);
	dup2(words, 2);
	if (!run)
		run = check_run_find(step->name);
	if (run)
		run(&step->check);
	else
		result_fail(&step->check, "unknown-check", step->name);
	_exit(0);
}

/* The end of what a child wrote to its outputs. */
struct words {
	size_t len;
	char text[WORDS_MAX + 1];
};

static void words_add(struct words *w, const char *data, size_t len)
{
	if (len > WORDS_MAX) {
		data += len - WORDS_MAX;
		len = WORDS_MAX;
	}
	if (w->len + len > WORDS_MAX) {
		size_t drop = w->len + len - WORDS_MAX;

		memmove(w->text, w->text + drop, w->len - drop);
		w->len -= drop;
	}
	memcpy(w->text + w->len, data, len);
	w->len += len;
	w->text[w->len] = '\0';
}

/* Read what there is; false at the end. */
static bool words_read(struct words *w, int fd)
{
	char buf[1024];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0)
		words_add(w, buf, (size_t)n);
	return n > 0;
}

struct outcome {
	int status;
	bool timed_out;
	long ms;
};

/*
 * Follow a child to its end. Whoever reads our lines may be gone: then everything ends. Its
 * descendants may keep the pipe open after it: they get a moment, then are killed with the group.
 */
static void child_follow(pid_t pid, int fd, long timeout_ms, struct words *words,
			 struct outcome *out)
{
	long start = now_ms(), deadline = timeout_ms > 0 ? start + timeout_ms : 0;
	bool ended = false, reading = true;

	memset(out, 0, sizeof(*out));
	while (!ended || reading) {
		struct pollfd fds[2] = { { SAY_FD, 0, 0 }, { reading ? fd : -1, POLLIN, 0 } };
		long now = now_ms();

		if (!ended && deadline && now >= deadline) {
			out->timed_out = true;
			kill(-pid, SIGKILL);
			kill(pid, SIGKILL);
			deadline = 0;
		}
		if (ended && now >= deadline)
			break;
		if (poll(fds, 2, ended ? 10 : 5) > 0) {
			if (fds[0].revents & (POLLERR | POLLNVAL)) {
				kill(-pid, SIGKILL);
				_exit(1);
			}
			if (fds[1].revents && !words_read(words, fd))
				reading = false;
		}
		if (!ended && waitpid(pid, &out->status, WNOHANG) == pid) {
			ended = true;
			out->ms = now_ms() - start;
			deadline = now_ms() + DRAIN_MS;
		}
	}
	kill(-pid, SIGKILL);
}

static void step_event(const struct step *step, const char *event)
{
	struct say s;

	say_begin(&s);
	say_str(&s, "test", step->check.id);
	say_str(&s, "event", event);
	say_end(&s);
}

static void step_end(const struct step *step, const struct outcome *o, const struct words *words)
{
	int status = o->status;
	struct say s;

	say_begin(&s);
	say_str(&s, "test", step->check.id);
	say_str(&s, "event", "end");
	say_int(&s, "exit", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	say_int(&s, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	say_int(&s, "timed_out", o->timed_out);
	say_int(&s, "ms", o->ms);
	if (words->len)
		say_str(&s, "last_words", words->text);
	say_end(&s);
}

static void step_run(const struct step *step)
{
	struct words words = { 0 };
	struct outcome outcome;
	int pipe_fds[2];
	pid_t pid;

	step_event(step, "start");
	if (pipe(pipe_fds) < 0 || (pid = fork()) < 0) {
		result_fail(&step->check, "host", "the probe could not start a process");
		return;
	}
	if (pid == 0) {
		close(pipe_fds[0]);
		child_run(step, pipe_fds[1]);
	}
	setpgid(pid, pid);
	close(pipe_fds[1]);
	child_follow(pid, pipe_fds[0], step->timeout_ms, &words, &outcome);
	close(pipe_fds[0]);
	step_end(step, &outcome, &words);
}

/* The names of the network interfaces, from /proc/net/dev: "lo,eth0". */
static void interfaces(char *out, size_t size)
{
	char text[4096], *line = text, *next;
	int fd = open("/proc/net/dev", O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	size_t at = 0;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	out[0] = '\0';
	for (; line && *line; line = next) {
		char *colon;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		while (*line == ' ')
			line++;
		if (at + strlen(line) + 2 > size)
			break;
		put_text(out + at, size - at, "%s%s", at ? "," : "", line);
		at += strlen(out + at);
	}
}

static void say_hello(void)
{
	const char *(*version)(void) = (const char *(*)(void))dlsym(NULL, "gnu_get_libc_version");
	char libc[64] = "not glibc", names[512];
	struct rlimit memlock = { 0, 0 };
	struct statfs shm;
	struct say s;

	if (version)
		put_text(libc, sizeof(libc), "glibc %s", version());
	getrlimit(RLIMIT_MEMLOCK, &memlock);
	interfaces(names, sizeof(names));
	say_begin(&s);
	say_int(&s, "probe", 1);
	say_str(&s, "libc", libc);
	say_int(&s, "uid", (long)getuid());
	say_int(&s, "shm_bytes",
		statfs("/dev/shm", &shm) == 0 ? (long)shm.f_blocks * (long)shm.f_bsize : -1);
	say_int(&s, "memlock", memlock.rlim_cur == RLIM_INFINITY ? -1 : (long)memlock.rlim_cur);
	say_str(&s, "interfaces", names);
	say_end(&s);
}

static char *plan_read(const char *path)
{
	char *text = malloc(PLAN_MAX + 1);
	int fd = open(path, O_RDONLY);
	size_t len = 0;
	ssize_t n;

	if (fd < 0 || !text)
		return NULL;
	while (len < PLAN_MAX && (n = read(fd, text + len, PLAN_MAX - len)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = '\0';
	return text;
}

static int run_plan(const char *path, const char *root)
{
	char *line = plan_read(path), *next;
	struct step step;
	struct say s;

	if (!line)
		return 2;
	say_hello();
	for (; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (step_parse(line, root, &step))
			step_run(&step);
	}
	say_begin(&s);
	say_str(&s, "event", "done");
	say_end(&s);
	return 0;
}

int main(int argc, char **argv)
{
	struct say s;

	if (argc >= 3 && strcmp(argv[1], "run") == 0)
		return run_plan(argv[2], argc >= 4 ? argv[3] : "");
	if (argc >= 2 && strcmp(argv[1], "noop") == 0) {
		say_begin(&s);
		say_int(&s, "ok", 1);
		say_end(&s);
		return 0;
	}
	return 2;
}
