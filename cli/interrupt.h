/*
 * Transfers that are interrupted: SIGINT and SIGTERM end the program as they always do, by the
 * signal itself, but first the user reads how to go on. A second signal need not be waited for.
 */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <signal.h>

#include "cli/registry_arg.h"

struct interrupt {
	struct registry_arg *registry; /* NULL: nothing is watched */
	const char *hint;
	pthread_t thread;
	int signals, end; /* descriptors */
	sigset_t old;
};

/*
 * Watch from now on, until interrupt_end in the same thread. `hint` is a line for the user. Threads
 * begun meanwhile leave these signals alone.
 */
void interrupt_begin(struct interrupt *i, struct registry_arg *registry, const char *hint);
void interrupt_end(struct interrupt *i);
#define cleanup_interrupt cleanup(interrupt_end)

#endif
