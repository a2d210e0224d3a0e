/*
 * What a command is: a name, its help, a table of options and a function. Help, completion and
 * manual pages are printed from these tables; nothing about a command is said twice.
 *
 * A new command is one file cli/cmd_<name>.c that defines `const struct command command_<name>`
 * and one line in the list of cli/commands.c.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "base/error.h"
#include "base/out.h"
#include "base/slice.h"
#include "base/vec.h"

struct option {
	const char *name;           /* long form, without "--" */
	char letter;                /* short form, or 0 */
	const char *value;          /* what it takes ("FILE"), or NULL for a switch */
	const char *help;           /* one line */
	bool repeatable;            /* several allowed; else the second is an error */
	const char *const *choices; /* NULL-terminated allowed values, or NULL */
};

struct invocation;

struct command {
	const char *name;
	const char *usage;            /* "IMAGE..." */
	const char *summary;          /* one line for the list */
	const char *description;      /* paragraphs */
	const char *examples;         /* lines of "command    # what it does" */
	const struct option *options; /* ends with a NULL name; or NULL */
	size_t args_min, args_max;    /* positional arguments; SIZE_MAX: any number */
	/* Exit status 0 or 1 (a verdict against), or -1 with *err set. */
	int (*run)(const struct invocation *in, struct error *err);
};

struct option_value {
	const struct option *option;
	const char *value; /* "" for a switch */
};

/* One call of a command, parsed and checked against its tables. */
struct invocation {
	const struct command *command;
	const struct out *out;
	const char *const *args;
	size_t arg_count;
	struct {
		struct option_value *items;
		size_t len, cap;
	} values; /* in the order given, global options included */
};

/* The options every command has: -q, -v, --color, --progress, --store, --help. */
extern const struct option global_options[];
/* All commands, sorted by name; ends with NULL. */
extern const struct command *const commands[];
const struct command *command_find(const char *name);

/* The last value of an option, or `fallback`. The name must be in the tables. */
const char *option_text(const struct invocation *in, const char *name, const char *fallback);
bool option_given(const struct invocation *in, const char *name);
/* The n-th value (from 0) of a repeatable option, or NULL. */
const char *option_nth(const struct invocation *in, const char *name, size_t n);
/* A whole number in [min, max]; `fallback` when it is not given. ERROR_USAGE. */
int option_number(const struct invocation *in, const char *name, uint64_t min, uint64_t max,
		  uint64_t fallback, uint64_t *out, struct error *err) MUST_USE;

/*
 * Parse argv[1 …] after the command's name. Options may stand anywhere, "--" ends them;
 * "--name=value" and "--name value". ERROR_USAGE with the nearest known name. Release with
 * invocation_release.
 */
int options_parse(const struct command *command, int argc, const char *const *argv,
		  struct invocation *out, struct error *err) MUST_USE;
/* Where in argv the command's name stands, behind options of every command that were given before
 * it; argc when there is none. */
int options_command_at(int argc, const char *const *argv);
void invocation_release(struct invocation *in);
#define cleanup_invocation cleanup(invocation_release)

/* --help of one command, the list of all. */
void help_command(const struct out *out, const struct command *command);
void help_overview(const struct out *out);

#endif
