/*
 * docker and podman, on request: the image as the engine holds it, with the engine's own injection.
 * They hand on no descriptor, so the lines come on standard output.
 */
#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/run_mode.h"

#define PLACE "/gpuimg"

enum { REMOVE_MS = 30 * 1000 };

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

/* What the container is called: by the folder of this run, which nobody else has. */
static char *container_name(const struct run_context *c)
{
	const char *slash = strrchr(c->scratch, '/');

	return xstrdup(slash ? slash + 1 : c->scratch);
}

static void arguments(const char *program, const struct run_context *c, const char *name,
		      const char *probe_dir, struct slice plan, struct words *w)
{
	bool docker = str_equal(program, "docker");

	words_add_all(w, (const char *const[]){ program, "run", "--rm", NULL });
	words_addf(w, "--name=%s", name);
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

/*
 * The program that was ended only watched: the container is the engine's, and goes on until it is
 * removed.
 */
static void remove_container(const char *program, const char *name)
{
	const char *const argv[] = { program, "rm", "--force", name, NULL };
	const struct launch launch = { .argv = argv,
				       .cwd = "/",
				       .env = (const char *const *)environ,
				       .inherit_path = true,
				       .keep_privileges = true,
				       .framed = true,
				       .timeout_ms = REMOVE_MS };
	cleanup_launch struct launch_result result = { 0 };
	struct error ignored = { 0 };

	ignore_result(launch_run(&launch, &result, &ignored) < 0);
}

static int run(const char *program, const struct run_context *c, struct slice plan,
	       struct launch_result *out, struct error *err)
{
	cleanup_free char *probe_dir = run_prepare(c, "probe-dir", plan, err);
	cleanup_free char *name = container_name(c);
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
	arguments(program, c, name, probe_dir, plan, &argv);
	launch.argv = (const char *const *)argv.items;
	if (launch_run(&launch, out, err) < 0)
		return -1;
	if (out->timed_out)
		remove_container(program, name);
	return 0;
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
