#include "cli/command.h"

extern const struct command command_inspect;
extern const struct command command_test;

const struct command *const commands[] = {
	&command_inspect,
	&command_test,
	NULL,
};
