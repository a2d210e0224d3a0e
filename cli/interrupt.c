#include <signal.h>

#include "cli/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

/* As if it had never been watched for. */
static void die(const struct interrupt *i, int number)
{
	sigset_t set;

	pthread_mutex_lock(&i->registry->lock); /* no line is begun after the last */
	progress_end(&i->registry->progress);
	out_note(i->registry->out, "interrupted: %s", i->hint);
	fflush(i->registry->out->err);
	sigemptyset(&set);
	sigaddset(&set, number);
	signal(number, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	kill(getpid(), number);
	pause();
}

static void *watch(void *user)
{
	const struct interrupt *i = user;
	struct pollfd wait[] = { { .fd = i->signals, .events = POLLIN },
				 { .fd = i->end, .events = POLLIN } };
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(wait, ARRAY_LEN(wait), -1) < 0)
			continue;
		if (wait[1].revents)
			return NULL;
		if (read(i->signals, &info, sizeof(info)) == sizeof(info))
			die(i, (int)info.ssi_signo);
	}
}

void interrupt_begin(struct interrupt *i, struct registry_arg *registry, const char *hint)
{
	sigset_t set, all;
	int rc;

	*i = (struct interrupt){ .hint = hint };
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	i->signals = signalfd(-1, &set, SFD_CLOEXEC);
	i->end = eventfd(0, EFD_CLOEXEC);
	if (i->signals < 0 || i->end < 0)
		goto unwatched;
	i->registry = registry;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &i->old);
	rc = pthread_create(&i->thread, NULL, watch, i);
	pthread_sigmask(SIG_SETMASK, &i->old, NULL);
	if (rc)
		goto unwatched;
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return;
unwatched:
	if (i->signals >= 0)
		close(i->signals);
	if (i->end >= 0)
		close(i->end);
	i->registry = NULL;
}

void interrupt_end(struct interrupt *i)
{
	uint64_t one = 1;

	if (!i->registry)
		return;
	ignore_result(write(i->end, &one, sizeof(one)));
	pthread_join(i->thread, NULL);
	pthread_sigmask(SIG_SETMASK, &i->old, NULL);
	close(i->signals);
	close(i->end);
	i->registry = NULL;
}
