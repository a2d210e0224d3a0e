#include <signal.h>
#include <sys/resource.h>

#include "base/digest.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "cli/version.h"
#include "formats/json.h"

static int report(const struct error *err, const struct out *out)
{
	fflush(out->out);
	fprintf(out->err, "%sgpuimg:%s ", out->err_colour ? "\033[31m" : "",
		out->err_colour ? "\033[0m" : "");
	out_put_clean(out->err, err->text);
	fputc('\n', out->err);
	return error_exit_status(err->code ? err->code : ERROR_SYSTEM); /* never success */
}

static int unknown_command(const char *name, struct error *err)
{
	struct nearest near = nearest_start(name);

	for (const struct command *const *c = commands; *c; c++)
		nearest_try(&near, (*c)->name);
	if (near.best)
		return error_set(err, ERROR_USAGE, "no command '%s'; did you mean '%s'?", name,
				 near.best);
	return error_set(err, ERROR_USAGE, "no command '%s' (see gpuimg --help)", name);
}

static bool wants_colour(const char *when, FILE *file)
{
	if (str_equal(when, "always"))
		return true;
	return str_equal(when, "auto") && isatty(fileno(file)) && !getenv("NO_COLOR");
}

static void apply_global(const struct invocation *in, struct out *out)
{
	const char *when = option_text(in, "color", "auto");

	out->colour = wants_colour(when, out->out);
	out->err_colour = wants_colour(when, out->err);
	for (size_t n = 0; option_nth(in, "verbose", n); n++)
		out->verbosity++;
	if (option_given(in, "quiet"))
		out->verbosity = -1;
}

static int run_command(const struct command *command, int argc, const char *const *argv,
		       struct out *out, struct error *err)
{
	cleanup_invocation struct invocation in = { 0 };

	if (options_parse(command, argc, argv, &in, err) < 0)
		return -1;
	apply_global(&in, out);
	in.out = out;
	if (option_given(&in, "help")) {
		help_command(out, command);
		return 0;
	}
	return command->run(&in, err);
}

/* Each open package holds a descriptor; the usual soft limit of 1024 is for select(), unused here.
 */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* The page of a command, or the list of all when none is named. */
static int print_help(const char *name, const struct out *out, struct error *err)
{
	const struct command *command = name ? command_find(name) : NULL;

	if (name && !command)
		return unknown_command(name, err);
	if (command)
		help_command(out, command);
	else
		help_overview(out);
	return 0;
}

/* Options of every command may stand before its name, too: they go behind it. */
static void move_command_first(int argc, char **argv)
{
	int at = options_command_at(argc, (const char *const *)argv);
	char *name;

	if (at <= 1 || at >= argc)
		return;
	name = argv[at];
	memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
	argv[1] = name;
}

/* What was asked for; its exit status, or -1 with `err`. Output may still wait to be written. */
static int run(int argc, const char *const *argv, struct out *out, struct error *err)
{
	const char *name = argc > 1 ? argv[1] : "--help";
	const struct command *command;

	if (str_equal(name, "--help") || str_equal(name, "-h") || str_equal(name, "help")) {
		if (print_help(argc > 2 ? argv[2] : NULL, out, err) < 0)
			return -1;
		return argc > 1 ? 0 : 2;
	}
	if (str_equal(name, "--version")) {
		out_print(out, "gpuimg %s\n", GPUIMG_VERSION);
		return 0;
	}
	command = command_find(name);
	if (!command)
		return unknown_command(name, err);
	return run_command(command, argc - 2, argv + 2, out, err);
}

int main(int argc, char **argv)
{
	struct out out = { .out = stdout, .err = stderr };
	struct error err = { 0 };
	int status;

	move_command_first(argc, argv);
	signal(SIGPIPE, SIG_IGN);
	allow_many_files();
	json_use_alloc();
	digest_use_alloc();
	status = run(argc, (const char *const *)argv, &out, &err);
	if (status >= 0 && (fflush(out.out) != 0 || ferror(out.out)))
		status = error_set_errno(&err, errno, "write the result");
	return status < 0 ? report(&err, &out) : status;
}
