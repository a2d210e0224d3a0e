#include "cli/command.h"

extern const struct command command_inspect;
extern const struct command command_push;
extern const struct command command_test;

const struct command *const commands[] = {
	&command_inspect,
	&command_push,
	&command_test,
	NULL,
};
