/*
 * docker and podman, on request: the image as the engine holds it, with the engine's own injection.
 * They hand on no descriptor, so the lines come on standard output.
 */
#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/run_mode.h"

#define PLACE "/gpuimg"

/* podman runs a tree too, but knows nothing then of the image's configuration. */
static void add_tree(const struct run_context *c, struct words *w)
{
	cleanup_words struct words env = { 0 };

	run_environment(c, &env);
	for (size_t i = 0; i < env.len; i++) {
		words_add(w, "--env");
		words_add(w, env.items[i]);
	}
	words_addf(w, "--user=%u:%u", c->user->uid, c->user->gid);
	words_addf(w, "--workdir=%s", run_directory(c));
	words_add(w, "--rootfs");
	words_addf(w, "%s:O", c->root);
}

static void arguments(const char *program, const struct run_context *c, const char *probe_dir,
		      struct slice plan, struct words *w)
{
	bool docker = str_equal(program, "docker");

	words_add_all(w, (const char *const[]){ program, "run", "--rm", NULL });
	if (!c->host_network)
		words_add(w, "--network=none");
	else
		words_add(w, "--network=host");
	words_addf(w, "--shm-size=%" PRIu64, c->shm_bytes ? c->shm_bytes : UINT64_C(1) << 30);
	words_addf(w, "--volume=%s:" PLACE ":ro", probe_dir);
	words_addf(w, "--entrypoint=/%s", c->loader->path);
	if (c->injection)
		words_add(w, docker ? "--gpus=all" : "--device=nvidia.com/gpu=all");
	if (c->engine_options)
		words_add_all(w, c->engine_options);
	if (c->engine_image) {
		words_add(w, "--pull=never");
		words_add(w, c->engine_image);
	} else {
		add_tree(c, w);
	}
	words_add(w, PLACE "/probe");
	words_add(w, plan.len ? "run" : "noop");
	if (plan.len)
		words_add_all(w, (const char *const[]){ PLACE "/plan", "", NULL });
	words_add(w, PROBE_FRAME);
	words_end(w);
}

extern char **environ;

static int run(const char *program, const struct run_context *c, struct slice plan,
	       struct launch_result *out, struct error *err)
{
	cleanup_free char *probe_dir = run_prepare(c, "probe-dir", plan, err);
	cleanup_words struct words argv = { 0 };
	struct launch launch = { .cwd = "/",
				 .env = (const char *const *)environ,
				 .inherit_path = true,
				 .keep_privileges = true,
				 .framed = true,
				 .timeout_ms = c->timeout_ms };

	if (!probe_dir)
		return -1;
	if (!c->engine_image && str_equal(program, "docker"))
		return error_set(err, ERROR_USAGE,
				 "docker runs only images that it holds: name it as "
				 "docker-daemon:NAME, after docker load if need be");
	arguments(program, c, probe_dir, plan, &argv);
	launch.argv = (const char *const *)argv.items;
	return launch_run(&launch, out, err);
}

static int run_docker(const struct run_context *c, struct slice plan, struct launch_result *out,
		      struct error *err)
{
	return run("docker", c, plan, out, err);
}

static int run_podman(const struct run_context *c, struct slice plan, struct launch_result *out,
		      struct error *err)
{
	return run("podman", c, plan, out, err);
}

const struct run_mode run_mode_docker = {
	.name = "docker",
	.program = "docker",
	.container = true,
	.run = run_docker,
};

const struct run_mode run_mode_podman = {
	.name = "podman",
	.program = "podman",
	.container = true,
	.run = run_podman,
};
