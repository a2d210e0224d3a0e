/*
 * runc and crun on a bundle of ours.
 * Source: OCI runtime specification 1.0.2, config.md, config-linux.md.
 */
#include "base/alloc.h"
#include "base/fs.h"
#include "base/process.h"
#include "oci/runtime_config.h"
#include "testkernels/rootdir.h"
#include "testkernels/run_mode.h"

static json_t *mounts_json(const struct run_context *c, const char *probe_dir)
{
	static const char *const sys[] = { "nosuid", "noexec", "nodev", "ro", NULL };
	static const char *const bound[] = { "rbind", "nosuid", "noexec", "nodev", "ro", NULL };
	static const char *const probe[] = { "rbind", "ro", "rprivate", "nosuid", "nodev", NULL };
	cleanup_free char *shm_size =
		xasprintf("size=%" PRIu64, c->shm_bytes ? c->shm_bytes : UINT64_C(1) << 30);
	const char *const shm[] = { "nosuid", "noexec", "nodev", "mode=1777", shm_size, NULL };
	bool host_sys = c->host_network;
	json_t *list = json_array();

	runtime_add_mounts(list);
	json_push(list, runtime_mount("/dev/shm", "tmpfs", "shm", json_texts(shm)));
	json_push(list, host_sys ? runtime_mount("/sys", "none", "/sys", json_texts(bound))
				 : runtime_mount("/sys", "sysfs", "sysfs", json_texts(sys)));
	if (c->injection)
		runtime_add_cdi_mounts(&c->injection->edits, list);
	json_push(list, runtime_mount(PROBE_PLACE, "none", probe_dir, json_texts(probe)));
	return list;
}

static json_t *process_json(const struct run_context *c, struct slice plan)
{
	cleanup_words struct words env = { 0 }, argv = { 0 };
	json_t *o = json_object(), *user = json_object(), *gids = json_array();
	json_t *none = json_object();

	run_environment(c, &env);
	run_arguments(c, PROBE_PLACE, plan, &argv);
	words_end(&env);
	words_end(&argv);
	json_put(user, "uid", json_integer(c->user->uid));
	json_put(user, "gid", json_integer(c->user->gid));
	for (size_t i = 0; geteuid() == 0 && i < c->user->group_count; i++)
		json_push(gids, json_integer(c->user->groups[i]));
	for (size_t i = 0; geteuid() == 0 && c->injection && i < c->injection->edits.gids.len; i++)
		json_push(gids, json_integer(c->injection->edits.gids.items[i]));
	json_put(user, "additionalGids", gids);
	json_put(none, "bounding", json_array());
	json_put(none, "effective", json_array());
	json_put(none, "permitted", json_array());
	json_put(o, "args", json_texts((const char *const *)argv.items));
	json_put(o, "env", json_texts((const char *const *)env.items));
	json_put(o, "cwd", json_text(run_directory(c)));
	json_put(o, "capabilities", none);
	json_put(o, "noNewPrivileges", json_true());
	json_put(o, "terminal", json_false());
	json_put(o, "user", user);
	return o;
}

static json_t *linux_json(const struct run_context *c)
{
	static const char *const kinds[] = { "mount", "pid", "ipc", "uts" };
	static const char *const masked[] = { "/proc/kcore", "/proc/keys", "/proc/timer_list",
					      "/sys/firmware", NULL };
	static const char *const read_only[] = { "/proc/bus",           "/proc/fs",
						 "/proc/irq",           "/proc/sys",
						 "/proc/sysrq-trigger", NULL };
	json_t *o = json_object(), *namespaces = json_array();
	bool root = geteuid() == 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		runtime_add_namespace(namespaces, kinds[i]);
	if (!c->host_network)
		runtime_add_namespace(namespaces, "network");
	if (!root)
		runtime_add_namespace(namespaces, "user");
	json_put(o, "namespaces", namespaces);
	json_put(o, "maskedPaths", json_texts(masked));
	json_put(o, "readonlyPaths", json_texts(read_only));
	if (root && c->injection)
		runtime_add_cdi_devices(&c->injection->edits, o);
	if (!root) {
		json_put(o, "uidMappings", runtime_id_mapping(c->user->uid, geteuid()));
		json_put(o, "gidMappings", runtime_id_mapping(c->user->gid, getegid()));
	}
	return o;
}

static int write_bundle(const struct run_context *c, const struct root_view *view, const char *root,
			const char *probe_dir, const char *bundle, struct slice plan,
			struct error *err)
{
	cleanup_json json_t *o = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = fs_join(bundle, "config.json");
	json_t *root_part = json_object(), *mounts = mounts_json(c, probe_dir);

	if (c->injection && geteuid() != 0)
		runtime_bind_cdi_devices(&c->injection->edits, mounts);
	json_put(root_part, "path", json_text(root));
	json_put(root_part, "readonly", json_boolean(!root_view_writable(view)));
	json_put(o, "ociVersion", json_text("1.0.2"));
	json_put(o, "hostname", json_text("gpuimg"));
	json_put(o, "process", process_json(c, plan));
	json_put(o, "root", root_part);
	json_put(o, "mounts", mounts);
	json_put(o, "linux", linux_json(c));
	json_pretty(o, &text);
	if (fs_mkdirs(AT_FDCWD, bundle, err) < 0)
		return -1;
	return fs_write(AT_FDCWD, path, strbuf_slice(&text), 0600, err);
}

/* The runtime itself may have been ended, and what it started must be as well. */
static void end_container(const char *program, const char *state)
{
	const char *const argv[] = {
		program, "--root", state, "delete", "--force", "gpuimg", NULL
	};
	struct process p = { .argv = argv, .timeout_ms = 20000 };
	cleanup_process struct process_result result = { 0 };
	struct error ignored = { 0 };

	ignore_result(process_run(&p, &result, &ignored));
}

static int run(const char *program, const struct run_context *c, struct slice plan,
	       struct launch_result *out, struct error *err)
{
	cleanup_free char *view_dir = fs_join(c->scratch, "view"), *root = NULL;
	cleanup_free char *state = fs_join(c->scratch, "state");
	cleanup_free char *bundle = fs_join(c->scratch, "bundle");
	cleanup_free char *probe_dir = run_prepare(c, "probe-dir", plan, err);
	struct root_view view = { c->view, c->root, c->edits, view_dir };
	const char *const argv[] = { program, "--root",   state,  "run",    "--preserve-fds",
				     "1",     "--bundle", bundle, "gpuimg", NULL };
	struct launch launch = { .argv = argv,
				 .cwd = "/",
				 .inherit_path = true,
				 .timeout_ms = c->timeout_ms,
				 .view = &view };
	cleanup_words struct words env = { 0 };
	int rc;

	if (!probe_dir || root_view_prepare(&view, &root, err) < 0 ||
	    write_bundle(c, &view, root, probe_dir, bundle, plan, err) < 0)
		return -1;
	words_addf(&env, "PATH=%s", getenv("PATH") ? getenv("PATH") : "/usr/sbin:/usr/bin:/bin");
	words_addf(&env, "XDG_RUNTIME_DIR=%s", c->scratch);
	words_end(&env);
	launch.env = (const char *const *)env.items;
	rc = launch_run(&launch, out, err);
	if (rc < 0 || out->timed_out || out->exit_status != 0)
		end_container(program, state);
	return rc;
}

static int run_runc(const struct run_context *c, struct slice plan, struct launch_result *out,
		    struct error *err)
{
	return run("runc", c, plan, out, err);
}

static int run_crun(const struct run_context *c, struct slice plan, struct launch_result *out,
		    struct error *err)
{
	return run("crun", c, plan, out, err);
}

/* Found before it is started, since crun checks it before it looks at its options. */
static char *crun_refused(void)
{
	static const char file[] = "/sys/fs/cgroup/unified/cgroup.controllers";
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	if (fs_read(AT_FDCWD, file, 64 * KIB, &text, &ignored) < 0 ||
	    !slice_trim(strbuf_slice(&text)).len)
		return NULL;
	return xstrdup("this machine's control groups are hybrid (v1 with controllers in "
		       "/sys/fs/cgroup/unified), which crun refuses");
}

const struct run_mode run_mode_runc = {
	.name = "runc",
	.program = "runc",
	.container = true,
	.run = run_runc,
};

const struct run_mode run_mode_crun = {
	.name = "crun",
	.program = "crun",
	.container = true,
	.refused = crun_refused,
	.run = run_crun,
};
