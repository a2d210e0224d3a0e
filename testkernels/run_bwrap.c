/*
 * Bubblewrap, with the mounts of a bundle as arguments.
 */
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/run_mode.h"

static void add(struct words *w, const char *a, const char *b, const char *c)
{
	words_add(w, a);
	if (b)
		words_add(w, b);
	if (c)
		words_add(w, c);
}

static void add_injected(const struct injection *in, struct words *w)
{
	for (size_t i = 0; i < in->edits.nodes.len; i++)
		add(w, "--dev-bind", in->edits.nodes.items[i].host_path,
		    in->edits.nodes.items[i].path);
	for (size_t i = 0; i < in->edits.mounts.len; i++) {
		const struct cdi_mount *m = &in->edits.mounts.items[i];

		if (m->type && str_equal(m->type, "tmpfs"))
			add(w, "--tmpfs", m->container_path, NULL);
		else
			add(w, cdi_mount_is_read_only(m) ? "--ro-bind" : "--bind", m->host_path,
			    m->container_path);
	}
}

static void add_environment(const struct run_context *c, struct words *w)
{
	cleanup_words struct words env = { 0 };

	run_environment(c, &env);
	words_add(w, "--clearenv");
	for (size_t i = 0; i < env.len; i++) {
		char *equals = strchr(env.items[i], '=');

		*equals = '\0';
		add(w, "--setenv", env.items[i], equals + 1);
	}
}

/* The user of the image, by a namespace: the only way bubblewrap has. */
static void add_user(const struct run_context *c, struct words *w)
{
	if (geteuid() == 0 && !c->user->uid && !c->user->gid) {
		add(w, "--cap-drop", "ALL", NULL);
		return;
	}
	words_add(w, "--unshare-user");
	words_add(w, "--uid");
	words_addf(w, "%u", c->user->uid);
	words_add(w, "--gid");
	words_addf(w, "%u", c->user->gid);
}

static void arguments(const struct run_context *c, const struct root_view *view, const char *root,
		      const char *probe_dir, struct slice plan, struct words *w)
{
	add(w, "bwrap", NULL, NULL);
	add_user(c, w);
	add(w, "--unshare-pid", "--unshare-ipc", "--unshare-uts");
	if (!c->host_network)
		words_add(w, "--unshare-net");
	add(w, "--hostname", "gpuimg", NULL);
	add(w, root_view_writable(view) ? "--bind" : "--ro-bind", root, "/");
	add(w, "--proc", "/proc", NULL);
	add(w, "--dev", "/dev", NULL);
	words_add(w, "--size");
	words_addf(w, "%" PRIu64, c->shm_bytes ? c->shm_bytes : UINT64_C(1) << 30);
	add(w, "--tmpfs", "/dev/shm", NULL);
	add(w, "--tmpfs", "/tmp", NULL);
	add(w, "--ro-bind", "/sys", "/sys");
	if (c->injection)
		add_injected(c->injection, w);
	add(w, "--ro-bind", probe_dir, PROBE_PLACE);
	add_environment(c, w);
	add(w, "--chdir", run_directory(c), NULL);
	add(w, "--die-with-parent", "--new-session", "--");
	run_arguments(c, PROBE_PLACE, plan, w);
	words_end(w);
}

static int run(const struct run_context *c, struct slice plan, struct launch_result *out,
	       struct error *err)
{
	cleanup_free char *view_dir = fs_join(c->scratch, "view"), *root = NULL;
	cleanup_free char *probe_dir = run_prepare(c, "probe-dir", plan, err);
	struct root_view view = { c->view, c->root, c->edits, view_dir };
	cleanup_words struct words argv = { 0 }, env = { 0 };
	struct launch launch = {
		.cwd = "/", .inherit_path = true, .timeout_ms = c->timeout_ms, .view = &view
	};

	if (!probe_dir || root_view_prepare(&view, &root, err) < 0)
		return -1;
	arguments(c, &view, root, probe_dir, plan, &argv);
	words_addf(&env, "PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/sbin:/usr/bin:/bin");
	words_end(&env);
	launch.argv = (const char *const *)argv.items;
	launch.env = (const char *const *)env.items;
	return launch_run(&launch, out, err);
}

const struct run_mode run_mode_bwrap = {
	.name = "bwrap",
	.program = "bwrap",
	.container = true,
	.run = run,
};
