#include "base/fs.h"
#include "builder/store.h"
#include "cli/command.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "manifests/stack.h"
#include "testkernels/test.h"

static const char *const mode_choices[] = { "auto", "runc", "crun", "bwrap", "loader", NULL };
static const char *const engine_choices[] = { "docker", "podman", NULL };
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
	{ .name = "shm-size", .value = "MIB", .help = "size of /dev/shm (default: 1024)" },
	{ .name = "host-network", .help = "give it this machine's network interfaces" },
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
#define cleanup_texts cleanup(texts_release)

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
	struct stack stack;
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
	stack_release(&c->stack);
	free(c->cache);
}
#define cleanup_call cleanup(call_release)

static void add_stack(struct call *c)
{
	for (size_t i = 0; i < c->stack.test_run_count; i++) {
		const struct stack_test_run *r = &c->stack.test_runs[i];
		struct test_command command = { .argv = r->cmd.items,
						.argc = r->cmd.count,
						.expect = r->expect,
						.gpu = r->gpu && str_equal(r->gpu, "true") };

		if (command.argc)
			vec_push(&c->commands, command);
	}
	if (c->stack.test_require)
		vec_push(&c->require, c->stack.test_require);
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
	const char *file = option_text(in, "stack", NULL);
	uint64_t seconds, mib;

	collect(in, "require", &c->require);
	collect(in, "gpu", &c->targets);
	collect(in, "device", &c->devices);
	collect(in, "cdi-dir", &c->cdi_dirs);
	collect(in, "engine-option", &c->engine_options);
	end_list(&c->cdi_dirs);
	end_list(&c->engine_options);
	if (file) {
		if (stack_read(file, &c->stack, err) < 0)
			return -1;
		add_stack(c);
	}
	if (option_number(in, "timeout", 1, 86400, 60, &seconds, err) < 0 ||
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

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", "junit", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_call struct call call = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_test_report struct test_report report = { 0 };
	struct test_options test;

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    gather(in, &call, &test, err) < 0 || image_arg_open(in, in->args[0], &image, err) < 0)
		return -1;
	if (test_run(&image, &test, &report, err) < 0)
		return error_wrap(err, "test %s", in->args[0]);
	if (deliver(in, &report, &outputs, err) < 0)
		return -1;
	return test_report_exit_status(&report);
}

const struct command command_test = {
	.name = "test",
	.usage = "IMAGE",
	.summary = "load an image's own CUDA libraries and run kernels through them",
	.description = "Starts a small probe through the image's own loader, opens the image's "
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
		       "Exit status: 0 nothing failed; 1 the image is to blame; 2 usage; 3 could "
		       "not be judged:\n"
		       "host or injection at fault, or a required test did not run.",
	.examples = "gpuimg test oci:out/app:1.0\n"
		    "gpuimg test --require load --gpu sm_90 -o json=report.json app.tar\n"
		    "gpuimg test --require run rootfs:/srv/image    # on a machine with a GPU\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
