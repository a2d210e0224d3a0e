#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
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

enum {
	JOBS_MAX = 8,
	FDS_MAX = 64,
	PLAN_MAX = 1 << 20,
	WORDS_MAX = 2048,
	READ_MAX = 64 * 1024,
	DRAIN_MS = 200
};

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

/* What all steps of a run share. */
struct run {
	const char *root, *frame;
	char place[4096];
	bool image_fault, other_fault;
};

static char *cut(char **rest)
{
	char *start = *rest, *tab = start ? strchr(start, '\t') : NULL;

	if (tab)
		*tab = '\0';
	*rest = tab ? tab + 1 : NULL;
	return start;
}

static bool step_parse(char *line, const struct run *r, struct step *out)
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
	out->check.root = r->root;
	out->check.place = r->place;
	return true;
}

static void child_command(const struct step *step)
{
	const char *text = strerror(ENOENT);

	if (step->check.count) {
		execvp(step->args[0], (char *const *)step->args);
		text = strerror(errno);
	}
	result_fail(&step->check, "exec", text);
}

static void child_run(const struct step *step, int words, int results)
{
	const struct rlimit no_core = { 0, 0 };
	int null = open("/dev/null", O_RDONLY);
	check_fn *run;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	if (null >= 0)
		dup2(null, 0);
	dup2(words, 1);
	dup2(words, 2);
	dup2(results, SAY_FD);
	for (int fd = SAY_FD + 1; fd < FDS_MAX; fd++) /* those of others' pipes too */
		close(fd);
	if (strcmp(step->name, "command") == 0) {
		child_command(step);
		_exit(127);
	}
	run = check_load_find(step->name);
	if (!run)
		run = check_run_find(step->name);
	if (!run)
		run = check_host_find(step->name);
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
	char buf[READ_MAX];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0)
		words_add(w, buf, (size_t)n);
	return n > 0;
}

/* What a child says on its result pipe: the first line that is a result of its test. */
struct answer {
	char begin[SAY_MAX]; /* how such a line begins: with the id, which may hold a path */
	size_t begin_len;
	char line[SAY_MAX]; /* being read */
	size_t len;
	bool too_long;
	char result[SAY_MAX];
	size_t result_len;
	unsigned count;
};

static void answer_begin(struct answer *a, const struct step *step)
{
	struct say s;

	memset(a, 0, sizeof(*a));
	result_begin(&s, &step->check, "");
	a->begin_len = s.len - 1; /* up to the quote that opens the status */
	memcpy(a->begin, s.text, a->begin_len);
}

static void answer_line(struct answer *a)
{
	bool ours = !a->too_long && a->begin_len && a->len > a->begin_len &&
		    memcmp(a->line, a->begin, a->begin_len) == 0;

	if (ours && !a->count++) {
		memcpy(a->result, a->line, a->len);
		a->result_len = a->len;
	}
	a->len = 0;
	a->too_long = false;
}

static bool answer_read(struct answer *a, int fd)
{
	char buf[READ_MAX];
	ssize_t n = read(fd, buf, sizeof(buf));

	for (ssize_t i = 0; i < n; i++) {
		if (buf[i] == '\n')
			answer_line(a);
		else if (a->len < sizeof(a->line))
			a->line[a->len++] = buf[i];
		else
			a->too_long = true;
	}
	return n > 0;
}

struct outcome {
	int status;
	bool timed_out;
	long ms;
};

/* One that is being followed, and what is heard from it. */
struct child {
	struct step step;
	pid_t pid; /* 0: none */
	bool ended;
	long start, deadline;    /* 0: no limit */
	int words_fd, answer_fd; /* -1: at its end */
	struct words words;
	struct answer answer;
	struct outcome outcome;
};

/* Those that run at the same time. */
struct children {
	struct child items[JOBS_MAX];
	int jobs; /* how many may */
};

/* Whoever reads our lines is gone: everything ends. */
static void __attribute__((noreturn)) all_end(const struct children *all)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		if (all->items[i].pid)
			kill(-all->items[i].pid, SIGKILL);
	}
	_exit(1);
}

/* Take what all of them say, waiting a moment for it. */
static void children_hear(struct children *all, int wait_ms)
{
	struct pollfd fds[1 + 2 * JOBS_MAX] = { { SAY_FD, 0, 0 } };

	for (int i = 0; i < JOBS_MAX; i++) {
		const struct child *c = &all->items[i];

		fds[1 + 2 * i] = (struct pollfd){ c->pid ? c->words_fd : -1, POLLIN, 0 };
		fds[2 + 2 * i] = (struct pollfd){ c->pid ? c->answer_fd : -1, POLLIN, 0 };
	}
	if (poll(fds, 1 + 2 * JOBS_MAX, wait_ms) <= 0)
		return;
	if (fds[0].revents & (POLLERR | POLLNVAL))
		all_end(all);
	for (int i = 0; i < JOBS_MAX; i++) {
		struct child *c = &all->items[i];

		if (fds[1 + 2 * i].revents && !words_read(&c->words, c->words_fd)) {
			close(c->words_fd);
			c->words_fd = -1;
		}
		if (fds[2 + 2 * i].revents && !answer_read(&c->answer, c->answer_fd)) {
			close(c->answer_fd);
			c->answer_fd = -1;
		}
	}
}

static bool is_running(const struct children *all, long pid)
{
	for (int i = 0; i < JOBS_MAX; i++) {
		if (all->items[i].pid == pid && !all->items[i].ended)
			return true;
	}
	return false;
}

/* End a child of ours that is no test's; false when `pid` is none. */
static bool end_orphan(const struct children *all, long pid)
{
	int status;

	if (pid < 2 || is_running(all, pid))
		return false;
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, &status, 0);
	return true;
}

/*
 * End what a child left behind: with us as the one who gets orphans, they are our children. A few
 * rounds, since each that ends may leave others.
 */
static void end_orphans(const struct children *all)
{
	bool any = true;

	for (int round = 0; any && round < 20; round++) {
		char text[4096], *p = text;
		int fd = open("/proc/thread-self/children", O_RDONLY);
		ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		long pid = 0;

		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		any = false;
		for (; *p; p++) {
			if (*p >= '0' && *p <= '9') {
				pid = pid * 10 + (*p - '0');
				continue;
			}
			any |= end_orphan(all, pid);
			pid = 0;
		}
	}
}

/*
 * Has it come to its end? Its descendants may keep the pipes open after it: they get a moment, then
 * are killed.
 */
static bool child_is_over(struct child *c)
{
	long now = now_ms();

	if (!c->ended && c->deadline && now >= c->deadline) {
		c->outcome.timed_out = true;
		kill(-c->pid, SIGKILL);
		kill(c->pid, SIGKILL);
		c->deadline = 0;
	}
	if (!c->ended && waitpid(c->pid, &c->outcome.status, WNOHANG) == c->pid) {
		c->ended = true;
		c->outcome.ms = now - c->start;
		c->deadline = now + DRAIN_MS;
	}
	return c->ended && ((c->words_fd < 0 && c->answer_fd < 0) || now >= c->deadline);
}

static void step_event(const struct run *r, const struct step *step, const char *event)
{
	struct say s;

	say_begin(&s);
	say_str(&s, "test", step->check.id);
	say_str(&s, "event", event);
	say_end_framed(&s, r->frame);
}

static void step_result(const struct run *r, const struct step *step, const struct answer *a)
{
	struct say s;

	if (a->count == 1)
		say_line(a->result, a->result_len, r->frame);
	if (a->count < 2)
		return;
	result_begin(&s, &step->check, "fail");
	say_str(&s, "kind", "several-results");
	say_str(&s, "message", "something in its process wrote results of its own");
	say_end_framed(&s, r->frame);
}

static void step_end(const struct run *r, const struct step *step, const struct child *c)
{
	int status = c->outcome.status;
	struct say s;

	say_begin(&s);
	say_str(&s, "test", step->check.id);
	say_str(&s, "event", "end");
	say_int(&s, "exit", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	say_int(&s, "signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	say_int(&s, "timed_out", c->outcome.timed_out);
	say_int(&s, "ms", c->outcome.ms);
	if (c->words.len)
		say_str(&s, "last_words", c->words.text);
	say_end_framed(&s, r->frame);
}

/* The number after `key` in a line that result_fail_call made, or -1. */
static long number_after(const char *line, size_t len, const char *key)
{
	size_t n = strlen(key);

	for (size_t i = 0; i + n < len; i++) {
		long value = 0;

		if (memcmp(line + i, key, n) != 0)
			continue;
		for (i += n; i < len && line[i] >= '0' && line[i] <= '9' && value < 100000; i++)
			value = value * 10 + (line[i] - '0');
		return value;
	}
	return -1;
}

/* Statuses for which the image is not to blame first: of the driver, and of NCCL and NVML. */
static bool others_fault(const char *line, size_t len)
{
	static const long codes[] = { 2, 35, 36, 46, 100, 101, 221, 222, 304, 801, 802, 803, 999 };
	long code = number_after(line, len, "\"code\":");

	if (strstr(line, "\"kind\":\"dlopen\"") && strstr(line, "libcuda.so.1"))
		return true;
	if (strstr(line, "\"kind\":\"wrong-numbers\"") || strstr(line, "\"kind\":\"node\"") ||
	    strstr(line, "\"domain\":\"nvml\""))
		return true;
	if (strstr(line, "\"domain\":\"libnccl\""))
		return code == 2 || code == 5 || code == 6;
	if (!strstr(line, "\"domain\":\"driver\"") && !strstr(line, "\"domain\":\"libcudart\""))
		return false;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (codes[i] == code)
			return true;
	}
	return false;
}

/*
 * A first idea of who is to blame, for the exit status: whoever collects the lines judges them
 * with more knowledge.
 */
static void step_blame(struct run *r, const struct step *step, struct child *c)
{
	static const char fail[] = "\"status\":\"fail\"", any[] = "\"status\":\"";
	const struct answer *a = &c->answer;
	bool command = strcmp(step->name, "command") == 0 && !c->outcome.status;
	bool failed = !a->count && !command;

	c->answer.result[a->result_len < SAY_MAX ? a->result_len : SAY_MAX - 1] = '\0';
	if (a->count > 1 || strstr(a->result, fail))
		failed = true;
	if (!failed || (a->count == 1 && !strstr(a->result, any)))
		return;
	if (strncmp(step->check.id, "run.", 4) == 0 && others_fault(a->result, a->result_len))
		r->other_fault = true;
	else
		r->image_fault = true;
}

static void step_not_started(struct run *r, const struct step *step)
{
	struct say s;

	result_begin(&s, &step->check, "fail");
	say_str(&s, "kind", "host");
	say_str(&s, "message", "the probe could not start a process");
	say_end_framed(&s, r->frame);
	r->other_fault = true;
}

static void child_start(struct run *r, const struct step *step, struct child *c)
{
	int words[2] = { -1, -1 }, results[2] = { -1, -1 };

	memset(c, 0, sizeof(*c));
	c->step = *step;
	c->step.check.args = c->step.args;
	answer_begin(&c->answer, step);
	step_event(r, step, "start");
	if (pipe(words) < 0 || pipe(results) < 0 || (c->pid = fork()) < 0) {
		step_not_started(r, step);
		c->pid = 0;
		for (int i = 0; i < 2; i++) {
			close(words[i]);
			close(results[i]);
		}
		return;
	}
	if (c->pid == 0)
		child_run(&c->step, words[1], results[1]);
	setpgid(c->pid, c->pid);
	close(words[1]);
	close(results[1]);
	c->words_fd = words[0];
	c->answer_fd = results[0];
	c->start = now_ms();
	c->deadline = step->timeout_ms > 0 ? c->start + step->timeout_ms : 0;
}

static void child_finish(struct run *r, struct children *all, struct child *c)
{
	kill(-c->pid, SIGKILL);
	end_orphans(all);
	if (c->words_fd >= 0)
		close(c->words_fd);
	if (c->answer_fd >= 0)
		close(c->answer_fd);
	step_result(r, &c->step, &c->answer);
	step_end(r, &c->step, c);
	step_blame(r, &c->step, c);
	c->pid = 0;
}

/* Follow those that run until fewer than `limit` do. */
static void children_follow(struct run *r, struct children *all, int limit)
{
	for (;;) {
		int running = 0;

		for (int i = 0; i < JOBS_MAX; i++) {
			struct child *c = &all->items[i];

			if (c->pid && child_is_over(c))
				child_finish(r, all, c);
			running += c->pid != 0;
		}
		if (running < limit)
			return;
		children_hear(all, 5);
	}
}

static void step_run(struct run *r, struct children *all, const struct step *step)
{
	bool alone = strcmp(step->name, "command") == 0;
	struct child *c = all->items;

	children_follow(r, all, alone ? 1 : all->jobs);
	while (c->pid)
		c++;
	child_start(r, step, c);
	if (alone)
		children_follow(r, all, 1);
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

static void say_hello(const struct run *r)
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
	if (getenv("GPUIMG_NODE") || getenv("SLURMD_NODENAME"))
		say_str(&s, "node",
			getenv("GPUIMG_NODE") ? getenv("GPUIMG_NODE") : getenv("SLURMD_NODENAME"));
	say_end_framed(&s, r->frame);
}

static char *plan_read(const char *path)
{
	int fd = open(path, O_RDONLY);
	char *text = fd < 0 ? NULL : malloc(PLAN_MAX + 1);
	size_t len = 0;
	ssize_t n;

	if (!text)
		return NULL;
	while (len < PLAN_MAX && (n = read(fd, text + len, PLAN_MAX - len)) > 0)
		len += (size_t)n;
	close(fd);
	text[len] = '\0';
	return text;
}

static int run_plan(struct run *r, const char *path)
{
	char *line = plan_read(path), *next;
	struct children all = { .jobs = 1 };
	struct step step;
	struct say s;

	if (!line)
		return 2;
	put_text(r->place, sizeof(r->place), "%s", path);
	if (strrchr(r->place, '/'))
		*strrchr(r->place, '/') = '\0';
	if (r->frame[0])
		dup2(1, SAY_FD);
	/* Children must not reach our descriptors through /proc, and their orphans become ours. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	say_hello(r);
	for (; line && *line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (line[0] == '#')
			say_line(line + 1, strlen(line + 1), r->frame);
		else if (line[0] == '!' && line[1] >= '1' && line[1] <= '0' + JOBS_MAX)
			all.jobs = line[1] - '0';
		else if (step_parse(line, r, &step))
			step_run(r, &all, &step);
	}
	children_follow(r, &all, 1);
	say_begin(&s);
	say_str(&s, "event", "done");
	say_end_framed(&s, r->frame);
	if (!r->frame[0])
		return 0;
	return r->image_fault ? 1 : r->other_fault ? 3 : 0;
}

int main(int argc, char **argv)
{
	struct run r = { .root = "", .frame = "" };
	struct say s;

	if (argc >= 3 && strcmp(argv[1], "run") == 0) {
		if (argc >= 4)
			r.root = argv[3];
		if (argc >= 5)
			r.frame = argv[4];
		return run_plan(&r, argv[2]);
	}
	if (argc >= 2 && strcmp(argv[1], "noop") == 0) {
		if (argc >= 3)
			dup2(1, SAY_FD);
		say_begin(&s);
		say_int(&s, "ok", 1);
		say_end_framed(&s, argc >= 3 ? argv[2] : "");
		return 0;
	}
	return 2;
}
