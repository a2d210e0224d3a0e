/*
 * --output FORMAT[=FILE], the same for every command that reports: several at once, "-" or no
 * file for standard output, and a file appears only when its report is complete.
 */
#ifndef CLI_REPORT_OUTPUT_H
#define CLI_REPORT_OUTPUT_H

#include "cli/command.h"

struct report_output {
	const char *format;
	const char *file; /* NULL: standard output */
};

struct report_outputs {
	struct report_output *items; /* at least one; text when none was asked for */
	size_t len, cap;
};

/*
 * From the values of the option "output". `formats` (NULL-terminated) are those this command
 * knows. ERROR_USAGE for others, and for two of them on standard output.
 */
int report_outputs_parse(const struct invocation *in, const char *const *formats,
			 struct report_outputs *out, struct error *err) MUST_USE;
void report_outputs_release(struct report_outputs *outputs);
#define cleanup_report_outputs cleanup(report_outputs_release)
/* Deliver one finished report. */
int report_output_write(const struct report_output *output, struct slice text,
			const struct out *out, struct error *err) MUST_USE;

/* For the option table of a command. */
#define REPORT_OUTPUT_OPTION(help_text)                                                       \
	{                                                                                     \
		.name = "output", .letter = 'o', .value = "FORMAT[=FILE]", .help = help_text, \
		.repeatable = true                                                            \
	}

#endif
