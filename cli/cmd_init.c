#include <sys/stat.h>

#include "base/fs.h"
#include "cli/command.h"
#include "cli/init_wishes.h"
#include "cli/image_arg.h"
#include "cli/stack_report.h"
#include "manifests/stack_starter.h"

static const struct option options[] = {
	{ .name = "name", .value = "NAME", .help = "the image's name (the folder's)" },
	{ .name = "driver",
	  .value = "VERSION",
	  .help = "the oldest driver of the hosts (535.183.06, 550)" },
	{ .name = "gpu",
	  .value = "GPUS",
	  .repeatable = true,
	  .help = "the GPUs it must run on (sm_90,h100)" },
	{ .name = "framework",
	  .value = "NAME[=VERSION]",
	  .repeatable = true,
	  .help = "torch, tensorflow=2.18.*, 'jax>=0.5': the newest that fits" },
	{ .name = "cuda", .value = "VERSION", .help = "the CUDA toolkit (12.6, '>=12.4,<13')" },
	{ .name = "python", .value = "VERSION", .help = "the Python (3.12)" },
	{ .name = "requirements",
	  .value = "FILE",
	  .help = "take the frameworks of a requirements file or pylock.toml below DIR, and "
		  "install it" },
	{ .name = "from", .value = "IMAGE", .help = "take the stack that an image holds" },
	PLATFORM_OPTION,
	{ .name = "tables",
	  .value = "DIR",
	  .help = "compatibility tables of this folder instead of those of the program" },
	{ .name = "force", .help = "replace a stack.yaml that is there" },
	{ 0 },
};

static int solve(const struct tables *tables, const struct stack_request *stack,
		 const char *platform, struct solution *out, struct error *err)
{
	struct solver_request request = { .stack = stack, .flavour = "" }; /* of pip's index */

	request.arm64 = str_ends(platform, "/arm64");
	request.amd64 = !request.arm64;
	return solver_find(tables, &request, out, err);
}

/*
 * What an image's libraries say of CUDA may be that of a toolkit beside the framework's own: when
 * both do not go together, the framework counts.
 */
static int solve_wishes(const struct tables *tables, struct wishes *w, struct solution *out,
			struct error *err)
{
	struct stack_request without = w->stack;

	if (solve(tables, &w->stack, w->platform, out, err) < 0)
		return -1;
	if (out->solved || !w->cuda_seen || !w->stack.framework.count)
		return 0;
	without.cuda = NULL;
	solution_release(out);
	w->stack = without;
	return solve(tables, &w->stack, w->platform, out, err);
}

/* What was written is read and solved before anyone is told to use it. 0, 1: no solution, -1. */
static int prove(const struct tables *tables, const struct wishes *w, const struct strbuf *text,
		 const struct out *out, struct error *err)
{
	cleanup_stack struct stack stack = { 0 };
	cleanup_solution struct solution solution = { 0 };
	cleanup_strbuf struct strbuf report = { 0 };

	if (stack_parse(strbuf_slice(text), "the manifest for stack.yaml", &stack, err) < 0 ||
	    solve(tables, &stack.stack, w->platform, &solution, err) < 0)
		return -1;
	if (solution.solved)
		return 0;
	stack_report_text(&solution, false, &report);
	out_print(out, "%s", strbuf_text(&report));
	return 1;
}

static void tell(const struct out *out, const char *path, const struct solution *solution)
{
	const struct solver_choice *c = &solution->choice;
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < c->build_count; i++)
		strbuf_addf(&text, "%s %s (%s), ", c->builds[i]->framework, c->builds[i]->version,
			    c->builds[i]->flavour);
	if (c->toolkit)
		strbuf_addf(&text, "CUDA %s, ", c->toolkit->version);
	out_print(out, "%s: %snext: gpuimg lock %s\n", path, strbuf_text(&text), path);
}

static int write_manifest(const struct invocation *in, const struct tables *tables,
			  struct wishes *w, const char *dir, const char *path, struct error *err)
{
	cleanup_solution struct solution solution = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct stack_starter starter = { .name = w->name,
					 .platform = w->platform,
					 .stack = &w->stack,
					 .solution = &solution,
					 .requirements = w->requirements,
					 .hashed = w->hashed,
					 .from = option_text(in, "from", NULL),
					 .seen = w->seen,
					 .entrypoint = w->entrypoint,
					 .cmd = w->cmd };
	int rc;

	if (solve_wishes(tables, w, &solution, err) < 0)
		return -1;
	if (!solution.solved) {
		stack_report_text(&solution, false, &text);
		out_print(in->out, "%s", strbuf_text(&text));
		return 1;
	}
	stack_starter_write(&starter, &text);
	rc = prove(tables, w, &text, in->out, err);
	if (rc)
		return rc;
	if (fs_mkdirs(AT_FDCWD, dir, err) < 0 ||
	    fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, err) < 0)
		return -1;
	tell(in->out, path, &solution);
	return 0;
}

/* A requirements file in place of the folder means its folder. */
static const char *file_argument(const struct invocation *in)
{
	struct stat st;

	return in->arg_count && stat(in->args[0], &st) == 0 && S_ISREG(st.st_mode) ? in->args[0]
										   : NULL;
}

static int run(const struct invocation *in, struct error *err)
{
	const char *file = file_argument(in), *slash = file ? strrchr(file, '/') : NULL;
	cleanup_free char *folder =
		slash ? xstrndup(file, MAX((size_t)(slash - file), (size_t)1)) : NULL;
	const char *dir = file ? (folder ? folder : ".") : in->arg_count ? in->args[0] : ".";
	cleanup_free char *path =
		str_equal(dir, ".") ? xstrdup("stack.yaml") : fs_join(dir, "stack.yaml");
	cleanup_tables struct tables tables = { 0 };
	cleanup_wishes struct wishes w = { 0 };

	if (fs_exists(AT_FDCWD, path) && !option_given(in, "force"))
		return error_set(err, ERROR_USAGE, "%s: is there already; --force replaces it",
				 path);
	if (file && option_given(in, "requirements"))
		return error_set(err, ERROR_USAGE,
				 "'%s' is a file: name the folder beside --requirements", file);
	if (!file)
		file = option_text(in, "requirements", NULL);
	if (tables_load(option_text(in, "tables", NULL), &tables, err) < 0 ||
	    wishes_of_options(in, &w, err) < 0 ||
	    wishes_of_requirements(file, dir, &tables, &w, err) < 0 ||
	    wishes_of_image(in, &tables, &w, err) < 0)
		return -1;
	wishes_complete(&w, dir);
	return write_manifest(in, &tables, &w, dir, path, err);
}

const struct command command_init = {
	.name = "init",
	.usage = "[DIR|FILE]",
	.summary = "write a stack.yaml to begin with",
	.description =
		"Writes DIR/stack.yaml (DIR: this folder) for the newest stack that fits what is "
		"asked: framework, CUDA and Python for that driver and those GPUs. Each line says "
		"what it is for.\n\n"
		"With --requirements, or with a requirements.txt or pylock.toml in place of DIR, "
		"it "
		"takes the frameworks of that file, with --from those of an image, which lint "
		"would see in it; options go before both. When nothing fits, it "
		"says "
		"why and what would, and writes nothing. Exit status 1.",
	.examples = "gpuimg init --framework torch --driver 535 --gpu a100,h100\n"
		    "gpuimg init trainer --requirements trainer/requirements.txt\n"
		    "gpuimg init pylock.toml\n"
		    "gpuimg init --from oci:layout:latest",
	.options = options,
	.args_max = 1,
	.run = run,
};
