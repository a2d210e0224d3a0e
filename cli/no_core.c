#include "cli/no_core.h"

#include <sys/resource.h>

void no_core(void)
{
	static const struct rlimit none = { 0 };

	setrlimit(RLIMIT_CORE, &none);
}
