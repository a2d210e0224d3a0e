#include "cli/command.h"

#include "base/strbuf.h"

static void print_options(const struct out *out, const struct option *table)
{
	for (; table && table->name; table++) {
		cleanup_strbuf struct strbuf left = { 0 };

		if (table->letter)
			strbuf_addf(&left, "-%c, ", table->letter);
		strbuf_addf(&left, "--%s", table->name);
		if (table->value)
			strbuf_addf(&left, " %s", table->value);
		out_print(out, "  %-26s %s%s\n", strbuf_text(&left), table->help,
			  table->repeatable && table->value ? " (may be repeated)" : "");
	}
}

static void print_examples(const struct out *out, const char *examples)
{
	struct slice rest = slice_str(examples), line;

	out_print(out, "\nExamples:\n");
	while (slice_cut(&rest, '\n', &line)) {
		if (line.len)
			out_print(out, "  %.*s\n", (int)line.len, (const char *)line.data);
	}
}

void help_command(const struct out *out, const struct command *command)
{
	out_print(out, "Usage: gpuimg %s [OPTIONS]%s%s\n\n%s\n", command->name,
		  *command->usage ? " " : "", command->usage, command->description);
	if (command->options && command->options->name) {
		out_print(out, "\nOptions:\n");
		print_options(out, command->options);
	}
	out_print(out, "\nOptions of every command:\n");
	print_options(out, global_options);
	if (command->examples)
		print_examples(out, command->examples);
}

void help_overview(const struct out *out)
{
	out_print(out, "gpuimg builds, checks and publishes container images for GPUs: no daemon, "
		       "no root.\n\n"
		       "Usage: gpuimg COMMAND [OPTIONS] [ARGUMENTS]\n\nCommands:\n");
	for (const struct command *const *c = commands; *c; c++)
		out_print(out, "  %-9s %s\n", (*c)->name, (*c)->summary);
	out_print(out,
		  "\n`gpuimg COMMAND --help` explains one.\n"
		  "Exit status: 0 done, nothing against it; 1 a verdict against; 2 your request or "
		  "manifest\nhas to be mended; 3 it could not be completed or judged.\n");
}
