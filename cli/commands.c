#include "cli/command.h"

extern const struct command command_inspect;

const struct command *const commands[] = {
	&command_inspect,
	NULL,
};
