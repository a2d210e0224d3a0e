#include "registry/credential_store.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/fs.h"
#include "base/process.h"
#include "formats/json.h"

enum { CONFIG_BYTES_MAX = 1024 * 1024, HELPER_TIMEOUT_MS = 30000 };

/* The file that is being changed. */
struct keep {
	char *path;
	int lock;             /* of its folder */
	struct strbuf before; /* its text */
	json_t *root;
	char *helper; /* for the registry; NULL: none */
};

static void keep_release(struct keep *k)
{
	free(k->path);
	free(k->helper);
	json_decref(k->root);
	if (k->before.data)
		explicit_bzero(k->before.data, k->before.len);
	strbuf_release(&k->before);
	if (k->lock >= 0)
		close(k->lock);
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static char *choose_path(const char *auth_file)
{
	cleanup_free char *path = NULL;
	char *real;

	if (auth_file || env("GPUIMG_AUTH_FILE") || env("REGISTRY_AUTH_FILE"))
		path = xstrdup(auth_file                 ? auth_file
			       : env("GPUIMG_AUTH_FILE") ? env("GPUIMG_AUTH_FILE")
							 : env("REGISTRY_AUTH_FILE"));
	else if (env("DOCKER_CONFIG"))
		path = fs_join(env("DOCKER_CONFIG"), "config.json");
	else if (env("HOME"))
		path = fs_join(env("HOME"), ".docker/config.json");
	if (!path)
		return NULL;
	real = realpath(path, NULL); /* a link stays one */
	return real ? real : steal_ptr(&path);
}

/* Others that log in meanwhile wait. */
static int lock_folder(struct keep *k, struct error *err)
{
	const char *slash = strrchr(k->path, '/');
	cleanup_free char *dir =
		slash ? xstrndup(k->path, (size_t)(slash - k->path) + 1) : xstrdup(".");
	struct error ignored = { 0 };

	if (fs_mkdirs(AT_FDCWD, dir, err) < 0)
		return error_wrap(err, "credentials");
	k->lock = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (k->lock < 0)
		return error_set_errno(err, errno, "open %s", dir);
	ignore_result(fs_lock(k->lock, LOCK_EX, dir, &ignored)); /* some homes know no locks */
	return 0;
}

static int keep_open(struct keep *k, const char *auth_file, const char *registry, struct error *err)
{
	cleanup_credential_entry struct credential_entry entry = { 0 };
	struct error failed = { 0 };

	k->lock = -1;
	k->path = choose_path(auth_file);
	if (!k->path)
		return error_set(err, ERROR_USAGE,
				 "no place for credentials: set HOME, DOCKER_CONFIG or --authfile");
	if (lock_folder(k, err) < 0)
		return -1;
	if (fs_read(AT_FDCWD, k->path, CONFIG_BYTES_MAX, &k->before, &failed) < 0 &&
	    failed.code != ERROR_NOT_FOUND) {
		*err = failed;
		return error_wrap(err, "credentials");
	}
	if (credential_parse_config(strbuf_slice(&k->before), registry, "", &entry, err) < 0)
		return error_wrap(err, "credentials in %s", k->path);
	k->helper = steal_ptr(&entry.helper);
	if (slice_trim(strbuf_slice(&k->before)).len)
		return json_parse(strbuf_slice(&k->before), &k->root, err);
	k->root = json_object();
	return 0;
}

static int keep_write(struct keep *k, struct error *err)
{
	struct strbuf text = { 0 };
	int rc;

	json_pretty(k->root, &text);
	rc = fs_write_durable(AT_FDCWD, k->path, strbuf_slice(&text), 0600, err);
	explicit_bzero(text.data, text.len);
	strbuf_release(&text);
	return rc < 0 ? error_wrap(err, "store the credentials") : 0;
}

/* Run docker-credential-HELPER ACTION. */
static int run_helper(const char *helper, const char *action, struct slice input, bool *out_known,
		      struct error *err)
{
	cleanup_free char *program = xasprintf("docker-credential-%s", helper);
	const char *const argv[] = { program, action, NULL };
	struct process p = { .argv = argv,
			     .stdin_data = input,
			     .timeout_ms = HELPER_TIMEOUT_MS,
			     .output_limit = CONFIG_BYTES_MAX };
	cleanup_process struct process_result r = { 0 };

	if (process_run(&p, &r, err) < 0)
		return error_wrap(err, "credential helper %s", program);
	*out_known = !strstr(strbuf_text(&r.out_stdout), "credentials not found");
	if (r.exit_status == 0 || !*out_known)
		return 0;
	return error_set(err, ERROR_NETWORK, "credential helper %s: `%s` %s", program, action,
			 r.timed_out ? "gave no answer in 30 s" : "ended with a bad status");
}

static int store_in_helper(struct keep *k, const char *registry, const struct credential *c,
			   char **out_where, struct error *err)
{
	cleanup_json json_t *entry = json_object();
	struct strbuf text = { 0 };
	bool known;
	int rc;

	json_put(entry, "ServerURL", json_text(credential_key(registry)));
	json_put(entry, "Username", json_text(c->username));
	json_put(entry, "Secret", json_text(c->secret));
	json_canonical(entry, &text);
	rc = run_helper(k->helper, "store", strbuf_slice(&text), &known, err);
	explicit_bzero(text.data, text.len);
	strbuf_release(&text);
	if (rc == 0)
		*out_where = xasprintf("docker-credential-%s", k->helper);
	return rc;
}

/* Remove all keys of this very registry. */
static bool remove_keys(json_t *auths, const char *registry)
{
	cleanup_free char *host = credential_key_host(registry);
	json_t *value;
	const char *key;
	void *next;
	bool found = false;

	json_object_foreach_safe(auths, next, key, value)
	{
		cleanup_free char *other = credential_key_host(key);

		if (!str_equal(other, host))
			continue;
		json_object_del(auths, key);
		found = true;
	}
	return found;
}

int credential_store(const char *auth_file, const char *registry, const struct credential *c,
		     char **out_where, struct error *err)
{
	cleanup(keep_release) struct keep k = { 0 };
	cleanup_free char *basic = NULL;
	json_t *auths, *entry;
	int rc;

	if (keep_open(&k, auth_file, registry, err) < 0)
		return -1;
	if (k.helper)
		return store_in_helper(&k, registry, c, out_where, err);
	if (!json_object_get(k.root, "auths"))
		json_put(k.root, "auths", json_object());
	auths = json_object_get(k.root, "auths");
	remove_keys(auths, registry);
	basic = credential_basic(c);
	entry = json_object();
	json_put(entry, "auth", json_text(basic + strlen("Basic ")));
	explicit_bzero(basic, strlen(basic));
	json_put(auths, credential_key(registry), entry);
	rc = keep_write(&k, err);
	if (rc == 0)
		*out_where = steal_ptr(&k.path);
	return rc;
}

int credential_erase(const char *auth_file, const char *registry, bool *out_found, char **out_where,
		     struct error *err)
{
	cleanup(keep_release) struct keep k = { 0 };
	json_t *auths;

	*out_found = false;
	if (keep_open(&k, auth_file, registry, err) < 0)
		return -1;
	auths = json_object_get(k.root, "auths");
	if (k.helper &&
	    run_helper(k.helper, "erase", slice_str(credential_key(registry)), out_found, err) < 0)
		return -1;
	*out_where = k.helper ? xasprintf("docker-credential-%s", k.helper) : xstrdup(k.path);
	if (!auths || !remove_keys(auths, registry))
		return 0;
	*out_found = true;
	return keep_write(&k, err);
}
