#include <sys/stat.h>

#include "builder/sandbox.h"

#include "oci/runtime_config.h"

enum { OUTPUT_KEPT_BYTES = 256 * 1024 };

/* Each secret is a file of the bundle, which is private and removed behind the command. */
static int write_secret(const struct sandbox_command *c, const char *bundle, size_t i,
			json_t *mounts, struct error *err)
{
	static const char *const options[] = { "bind", "ro", "nosuid", "nodev", "noexec", NULL };
	const struct secret *s = &c->sandbox->secrets->items[i];
	cleanup_free char *path = xasprintf("%s/secret-%zu", bundle, i);

	if (fs_write(AT_FDCWD, path, strbuf_slice(&s->bytes), 0400, err) < 0)
		return -1;
	json_push(mounts, runtime_mount(s->to, "bind", path, json_texts(options)));
	return 0;
}

static int add_mounts(const struct sandbox_command *c, const char *bundle, json_t *mounts,
		      struct error *err)
{
	static const char *const shm[] = { "nosuid", "nodev", "mode=1777", NULL };
	static const char *const private[] = { "nosuid", "nodev", "noexec", "mode=0700", NULL };
	const struct secrets *secrets = c->sandbox->secrets;

	runtime_add_mounts(mounts);
	json_push(mounts, runtime_mount("/dev/shm", "tmpfs", "shm", json_texts(shm)));
	runtime_add_cdi_mounts(&c->sandbox->devices->edits, mounts);
	if (geteuid() != 0)
		runtime_bind_cdi_devices(&c->sandbox->devices->edits, mounts);
	if (secrets->len)
		json_push(mounts,
			  runtime_mount(SECRETS_FOLDER, "tmpfs", "tmpfs", json_texts(private)));
	for (size_t i = 0; i < secrets->len; i++) {
		if (write_secret(c, bundle, i, mounts, err) < 0)
			return -1;
	}
	return 0;
}

static json_t *process_json(const struct sandbox_command *c)
{
	static const char *const sets[] = { "bounding", "effective", "permitted" };
	const struct sandbox_devices *d = c->sandbox->devices;
	json_t *o = json_object(), *user = json_object(), *capabilities = json_object();
	json_t *gids = json_array();
	json_t *env = json_texts(sandbox_environment);
	cleanup_free char *path = xasprintf("PATH=%s", c->path);

	json_put(user, "uid", json_integer(0));
	json_put(user, "gid", json_integer(0));
	json_push(env, json_text(path));
	for (size_t i = 0; i < d->edits.env.len; i++)
		json_push(env, json_text(d->edits.env.items[i]));
	if (d->libraries) {
		cleanup_free char *libraries = xasprintf("LD_LIBRARY_PATH=%s", d->libraries);

		json_push(env, json_text(libraries));
	}
	for (size_t i = 0; geteuid() == 0 && i < d->edits.gids.len; i++)
		json_push(gids, json_integer(d->edits.gids.items[i]));
	json_put(user, "additionalGids", gids);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		json_put(capabilities, sets[i], json_texts(sandbox_capabilities));
	json_put(o, "args",
		 json_texts((const char *const[]){ "/bin/sh", "-e", "-c", c->command, NULL }));
	json_put(o, "capabilities", capabilities);
	json_put(o, "cwd", json_text("/"));
	json_put(o, "env", env);
	json_put(o, "noNewPrivileges", json_true());
	json_put(o, "terminal", json_false());
	json_put(o, "user", user);
	return o;
}

static json_t *linux_json(const struct sandbox_devices *devices)
{
	static const char *const kinds[] = { "pid", "ipc", "uts", "mount", "network", "user" };
	json_t *o = json_object(), *namespaces = json_array();
	bool root = geteuid() == 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds) - root; i++)
		runtime_add_namespace(namespaces, kinds[i]);
	json_put(o, "namespaces", namespaces);
	if (root)
		runtime_add_cdi_devices(&devices->edits, o);
	if (!root) {
		json_put(o, "uidMappings", runtime_id_mapping(0, geteuid()));
		json_put(o, "gidMappings", runtime_id_mapping(0, getegid()));
	}
	return o;
}

static int write_bundle(const struct sandbox_command *c, const char *bundle, struct error *err)
{
	cleanup_json json_t *o = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_free char *path = xasprintf("%s/config.json", bundle);
	json_t *root = json_object(), *mounts = json_array();
	int rc = add_mounts(c, bundle, mounts, err);

	json_put(root, "path", json_text(c->sandbox->root));
	json_put(o, "ociVersion", json_text("1.0.2"));
	json_put(o, "hostname", json_text("build"));
	json_put(o, "process", process_json(c));
	json_put(o, "root", root);
	json_put(o, "mounts", mounts);
	json_put(o, "linux", linux_json(c->sandbox->devices));
	json_canonical(o, &text);
	return rc < 0 ? -1 : fs_write(AT_FDCWD, path, strbuf_slice(&text), 0600, err);
}

/* The engine itself may have been ended, and what it started must be as well. */
static void end_container(const char *engine, const char *state)
{
	const char *const argv[] = { engine, "--root", state, "delete", "--force", "build", NULL };
	struct process p = { .argv = argv };
	cleanup_process struct process_result result = { 0 };
	struct error ignored = { 0 };

	ignore_result(process_run(&p, &result, &ignored));
}

int sandbox_run_oci(const struct sandbox_command *c, const char *engine, struct process_result *out,
		    struct error *err)
{
	cleanup_free char *bundle = xasprintf("%s/bundle", c->sandbox->scratch);
	cleanup_free char *state = xasprintf("%s/state", c->sandbox->scratch);
	const char *const argv[] = { engine,     "--root", state,   "run",
				     "--bundle", bundle,   "build", NULL };
	struct process p = { .argv = argv,
			     .output_limit = OUTPUT_KEPT_BYTES,
			     .keep_tail = true,
			     .timeout_ms = c->timeout_ms };
	struct error ignored = { 0 };
	int rc;

	if (mkdir(bundle, 0700) < 0)
		return error_set_errno(err, errno, "create %s", bundle);
	rc = write_bundle(c, bundle, err);
	if (rc == 0)
		rc = process_run(&p, out, err);
	if (rc < 0 || out->timed_out || out->exit_status != 0)
		end_container(engine, state);
	ignore_result(fs_remove_tree(AT_FDCWD, bundle, &ignored));
	return rc;
}
