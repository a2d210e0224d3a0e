#include "base/fs.h"
#include "builder/store.h"
#include "cli/command.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "cli/stack_arg.h"
#include "testkernels/fleet.h"
#include "testkernels/test.h"

static const char *const mode_choices[] = { "auto", "runc", "crun", "bwrap", "loader", NULL };
static const char *const engine_choices[] = { "docker", "podman", NULL };
static const char *const fleet_choices[] = { "kubernetes", "slurm", "docker-compose", NULL };
static const char *const inject_choices[] = { "auto", "cdi", "legacy", "enroot", "none", NULL };

static const struct option options[] = {
	REPORT_OUTPUT_OPTION("text (default), json or junit"),
	{ .name = "require",
	  .value = "WHAT",
	  .repeatable = true,
	  .help = "\"load\", \"run\" or a test's id: exit 3 when it did not run" },
	{ .name = "gpu",
	  .value = "TARGET",
	  .repeatable = true,
	  .help = "compile and assemble for this GPU architecture, e.g. sm_90" },
	{ .name = "driver",
	  .value = "CUDA",
	  .help = "would the image's CUDA runtime accept a driver that serves this CUDA, e.g. "
		  "12.4?" },
	{ .name = "mode",
	  .value = "MODE",
	  .choices = mode_choices,
	  .help = "how to start the probe: auto (default: the first that works), runc, crun, "
		  "bwrap, loader" },
	{ .name = "engine",
	  .value = "ENGINE",
	  .choices = engine_choices,
	  .help = "let docker or podman run it, with the engine's own injection" },
	{ .name = "engine-option",
	  .value = "OPTION",
	  .repeatable = true,
	  .help = "a further option of the engine's run, e.g. --engine-option=--runtime=runc" },
	{ .name = "inject",
	  .value = "HOW",
	  .choices = inject_choices,
	  .help = "where driver and devices come from: auto (default), cdi, none; or what the "
		  "runtimes before CDI would give: legacy, enroot" },
	{ .name = "device",
	  .value = "DEVICE",
	  .repeatable = true,
	  .help = "a CDI device, e.g. nvidia.com/gpu=0 or amd.com/gpu=all (default: all of "
		  "nvidia.com/gpu)" },
	{ .name = "cdi-dir",
	  .value = "DIR",
	  .repeatable = true,
	  .help = "where CDI specifications lie, instead of /etc/cdi and /var/run/cdi" },
	{ .name = "stack",
	  .value = "STACK",
	  .help = "also what this manifest's `test` asks for: its commands, what it requires" },
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	{ .name = "shm-size", .value = "MIB", .help = "size of /dev/shm (default: 1024)" },
	{ .name = "host-network", .help = "give it this machine's network interfaces" },
	{ .name = "for",
	  .value = "SCHEDULER",
	  .choices = fleet_choices,
	  .help = "emit: kubernetes, slurm or docker-compose" },
	{ .name = "to",
	  .value = "DIR",
	  .help = "emit: write the job's files here (default: print)" },
	{ .name = "name", .value = "NAME", .help = "emit: of the job (default: gpuimg-test)" },
	{ .name = "image-name", .value = "REF", .help = "emit: what the nodes call the image" },
	{ .name = "nodes", .value = "N", .help = "emit: how many; collect: how many must answer" },
	{ .name = "gpus", .value = "N", .help = "emit: GPUs of each node (default: 1; 0: none)" },
	{ .name = "queue", .value = "QUEUE", .help = "emit: Kueue's queue, or Slurm's partition" },
	{ .name = "rootfs",
	  .value = "DIR",
	  .help = "emit: for Slurm without pyxis, where each node finds the unpacked image" },
	{ .name = "no-cache", .help = "do not keep the unpacked image in the store" },
	{ .name = "timeout", .value = "SECONDS", .help = "time limit of one test (default: 60)" },
	PLATFORM_OPTION,
	{ 0 },
};

struct texts {
	const char **items;
	size_t len, cap;
};

static void texts_release(struct texts *t)
{
	vec_release(t);
}

static void collect(const struct invocation *in, const char *option, struct texts *out)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(in, option, n)); n++)
		vec_push(out, text);
}

static int deliver(const struct invocation *in, const struct test_report *report,
		   const struct report_outputs *outputs, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json"))
			test_report_json(report, &text);
		else if (str_equal(outputs->items[i].format, "junit"))
			test_report_junit(report, &text);
		else
			test_report_text(report, in->out->colour && !outputs->items[i].file,
					 in->out->verbosity > 0, &text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

/* What docker and podman call it, when its name says that they hold it. */
static const char *engine_name(const char *image)
{
	static const char *const prefixes[] = { "docker-daemon:", "containers-storage:",
						"docker://" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (str_starts(image, prefixes[i]))
			return image + strlen(prefixes[i]);
	}
	return NULL;
}

/* What a call needs besides its options, and lets go at its end. */
struct call {
	struct texts require, targets, devices, cdi_dirs, engine_options;
	struct stacks stacks;
	VEC(struct test_command) commands;
	char *cache;
};

static void call_release(struct call *c)
{
	texts_release(&c->require);
	texts_release(&c->targets);
	texts_release(&c->devices);
	texts_release(&c->cdi_dirs);
	texts_release(&c->engine_options);
	vec_release(&c->commands);
	stacks_release(&c->stacks);
	free(c->cache);
}
#define cleanup_call cleanup(call_release)

static void add_commands(struct call *c, const struct stack *stack)
{
	for (size_t i = 0; i < stack->test_run_count; i++) {
		const struct stack_test_run *r = &stack->test_runs[i];
		struct test_command command = { .argv = r->cmd.items,
						.argc = r->cmd.count,
						.expect = r->expect,
						.gpu = r->gpu && str_equal(r->gpu, "true") };

		if (command.argc)
			vec_push(&c->commands, command);
	}
	if (stack->test_require)
		vec_push(&c->require, stack->test_require);
}

/* What the manifest asks for, which describes one image. */
static int add_stack(const struct invocation *in, struct call *c, struct error *err)
{
	const char *file = option_text(in, "stack", NULL);

	if (!file)
		return 0;
	if (stack_arg_read(in, file, &c->stacks, err) < 0)
		return -1;
	if (c->stacks.count != 1)
		return error_set(err, ERROR_USAGE,
				 "--stack %s: describes %zu images; say with --variant which one "
				 "this is",
				 file, c->stacks.count);
	add_commands(c, &c->stacks.items[0]);
	return 0;
}

/* Trees lie in the store, where `store ls` and `store gc` know them. */
static int find_cache(const struct invocation *in, struct call *c, struct error *err)
{
	cleanup_store struct store *store = NULL;

	if (option_given(in, "no-cache"))
		return 0;
	store = store_open(option_text(in, "store", NULL), err);
	if (!store)
		return -1;
	c->cache = fs_join(store_path(store), "trees");
	return 0;
}

static void end_list(struct texts *t)
{
	if (t->len)
		vec_push(t, NULL);
}

static int gather(const struct invocation *in, struct call *c, struct test_options *o,
		  struct error *err)
{
	uint64_t seconds, mib;

	collect(in, "require", &c->require);
	collect(in, "gpu", &c->targets);
	collect(in, "device", &c->devices);
	collect(in, "cdi-dir", &c->cdi_dirs);
	collect(in, "engine-option", &c->engine_options);
	end_list(&c->cdi_dirs);
	end_list(&c->engine_options);
	if (add_stack(in, c, err) < 0 ||
	    option_number(in, "timeout", 1, 86400, 60, &seconds, err) < 0 ||
	    option_number(in, "shm-size", 1, 1 << 30, 1024, &mib, err) < 0 ||
	    find_cache(in, c, err) < 0)
		return -1;
	*o = (struct test_options){ .mode = option_text(in, "mode", "auto"),
				    .engine = option_text(in, "engine", NULL),
				    .engine_options = c->engine_options.items,
				    .cache_dir = c->cache,
				    .timeout_ms = seconds * 1000,
				    .require = c->require.items,
				    .require_count = c->require.len,
				    .targets = c->targets.items,
				    .target_count = c->targets.len,
				    .inject = option_text(in, "inject", "auto"),
				    .devices = c->devices.items,
				    .device_count = c->devices.len,
				    .cdi_dirs = c->cdi_dirs.items,
				    .driver = option_text(in, "driver", NULL),
				    .commands = c->commands.items,
				    .command_count = c->commands.len,
				    .shm_bytes = mib * MIB,
				    .host_network = option_given(in, "host-network"),
				    .out = in->out };
	if (o->engine)
		o->engine_image = engine_name(in->args[0]);
	return test_options_check(o, err);
}

static int write_files(const struct invocation *in, const struct fleet_files *files,
		       struct error *err)
{
	const char *to = option_text(in, "to", NULL);

	if (!to && files->len > 1)
		return error_set(err, ERROR_USAGE,
				 "this job is of several files: name a folder with --to");
	if (!to) {
		out_print(in->out, "%s", strbuf_text(&files->items[0].bytes));
		return 0;
	}
	for (size_t i = 0; i < files->len; i++) {
		const struct fleet_file *f = &files->items[i];
		cleanup_free char *path = fs_join(to, f->name);
		cleanup_free char *dir = xstrndup(path, (size_t)(strrchr(path, '/') - path));

		if (fs_mkdirs(AT_FDCWD, dir, err) < 0 ||
		    fs_write(AT_FDCWD, path, strbuf_slice(&f->bytes), f->executable ? 0755 : 0644,
			     err) < 0)
			return -1;
		out_note(in->out, "written: %s", path);
	}
	return 0;
}

static int run_emit(const struct invocation *in, struct error *err)
{
	cleanup_call struct call call = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_fleet_files struct fleet_files files = { 0 };
	struct fleet_request request = { .target = option_text(in, "for", NULL),
					 .name = option_text(in, "name", NULL),
					 .image = option_text(in, "image-name", NULL),
					 .queue = option_text(in, "queue", NULL),
					 .rootfs = option_text(in, "rootfs", NULL) };
	struct test_options test;

	if (in->arg_count != 2)
		return error_set(err, ERROR_USAGE, "test emit takes one image");
	if (!request.target)
		return error_set(err, ERROR_USAGE,
				 "test emit needs --for kubernetes, slurm or docker-compose");
	if (option_number(in, "nodes", 1, 100000, 1, &request.nodes, err) < 0 ||
	    option_number(in, "gpus", 0, 64, 1, &request.gpus, err) < 0 ||
	    fleet_request_check(&request, err) < 0 || gather(in, &call, &test, err) < 0 ||
	    image_arg_open(in, in->args[1], &image, err) < 0)
		return -1;
	if (fleet_emit(&image, &test, &request, &files, err) < 0)
		return error_wrap(err, "test emit %s", in->args[1]);
	return write_files(in, &files, err);
}

static int deliver_fleet(const struct invocation *in, const struct fleet_report *r,
			 const struct report_outputs *outputs, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json"))
			fleet_report_json(r, &text);
		else if (str_equal(outputs->items[i].format, "junit"))
			fleet_report_junit(r, &text);
		else
			fleet_report_text(r, in->out->colour && !outputs->items[i].file,
					  in->out->verbosity > 0, &text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

static int run_collect(const struct invocation *in, const struct report_outputs *outputs,
		       struct error *err)
{
	enum { LOG_MAX = 256 };
	cleanup_fleet_report struct fleet_report report = { 0 };

	if (in->arg_count < 2)
		return error_set(err, ERROR_USAGE, "test collect takes logs or reports");
	if (option_number(in, "nodes", 1, 100000, 0, &report.wanted, err) < 0)
		return -1;
	for (size_t i = 1; i < in->arg_count; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (fs_read(AT_FDCWD, in->args[i], LOG_MAX * MIB, &text, err) < 0)
			return -1;
		fleet_collect(&report, strbuf_slice(&text), in->args[i]);
	}
	fleet_report_sort(&report);
	if (deliver_fleet(in, &report, outputs, err) < 0)
		return -1;
	if (fleet_report_exit_status(&report) == 3 && !report.nodes.len)
		return error_set(err, ERROR_NOT_FOUND, "no node has answered");
	return fleet_report_exit_status(&report);
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", "junit", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_call struct call call = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_test_report struct test_report report = { 0 };
	struct test_options test;

	if (report_outputs_parse(in, formats, &outputs, err) < 0)
		return -1;
	if (str_equal(in->args[0], "emit"))
		return run_emit(in, err);
	if (str_equal(in->args[0], "collect"))
		return run_collect(in, &outputs, err);
	if (in->arg_count > 1)
		return error_set(err, ERROR_USAGE, "test takes one image");
	if (gather(in, &call, &test, err) < 0 || image_arg_open(in, in->args[0], &image, err) < 0)
		return -1;
	if (test_run(&image, &test, &report, err) < 0)
		return error_wrap(err, "test %s", in->args[0]);
	if (deliver(in, &report, &outputs, err) < 0)
		return -1;
	return test_report_exit_status(&report);
}

const struct command command_test = {
	.name = "test",
	.usage = "IMAGE | emit IMAGE --for SCHEDULER | collect LOG...",
	.summary = "load an image's own CUDA libraries and run kernels through them",
	.description =
		"Starts a small probe through the image's own loader, opens the image's "
		"CUDA libraries,\n"
		"asks them for their versions, has nvrtc compile and nvJitLink assemble a "
		"kernel, and runs\n"
		"kernels where there is a GPU. Each test has a process and a time limit of "
		"its own. What\n"
		"fails is blamed on the image, on the injection of the driver, on the host "
		"or on the\n"
		"hardware. Without a GPU the run tier is skipped.\n"
		"\n"
		"It runs in runc, crun or bubblewrap, whichever is there and works, else "
		"through the image's\n"
		"loader alone (mode loader), where the image's code runs as you, without "
		"isolation. Unpacked\n"
		"images are kept in the store. Drivers and devices come from CDI "
		"specifications, else from\n"
		"nvidia-ctk, else from what the machine has.\n"
		"\n"
		"emit writes a job that does the same on the nodes of a cluster, with nothing "
		"but the image;\n"
		"collect makes one report of the nodes' logs, or of reports.\n"
		"\n"
		"Exit status: 0 nothing failed; 1 the image is to blame; 2 usage; 3 could "
		"not be judged:\n"
		"host or injection at fault, or a required test did not run.",
	.examples = "gpuimg test oci:out/app:1.0\n"
		    "gpuimg test --require load --gpu sm_90 -o json=report.json app.tar\n"
		    "gpuimg test --driver 12.4 oci:out/app:1.0    # would that driver do?\n"
		    "gpuimg test emit docker://registry.example.org/app:1.0 --for slurm --nodes 4 "
		    "--to job\n"
		    "gpuimg test collect --nodes 4 -o junit=fleet.xml gpuimg-test-17.log\n"
		    "gpuimg test --require run rootfs:/srv/image    # on a machine with a GPU\n",
	.options = options,
	.args_min = 1,
	.args_max = SIZE_MAX,
	.run = run,
};
