#include "cli/no_core.h"

#include <sys/resource.h>

void no_core(void)
{
	/* 0 stops files only. 1 is the kernel's word for "not even to a program", such as
	 * systemd-coredump, and less than any file of a core. */
	static const struct rlimit none = { .rlim_cur = 1, .rlim_max = 1 };

	setrlimit(RLIMIT_CORE, &none);
}
