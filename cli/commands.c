#include "cli/command.h"

const struct command *const commands[] = {
	NULL,
};
