#include "registry/credentials.h"

#include "base/alloc.h"
#include "base/fs.h"
#include "base/process.h"
#include "formats/json.h"
#include "base/base64.h"

enum { CONFIG_BYTES_MAX = 1024 * 1024, HELPER_TIMEOUT_MS = 30000 };

/* Values. */

static void wipe_free(char **s)
{
	if (*s)
		explicit_bzero(*s, strlen(*s));
	free(*s);
	*s = NULL;
}

void credential_release(struct credential *c)
{
	wipe_free(&c->username);
	wipe_free(&c->secret);
	free(c->origin);
	*c = (struct credential){ 0 };
}

void credential_entry_release(struct credential_entry *e)
{
	free(e->helper);
	credential_release(&e->found);
	e->helper = NULL;
}

char *credential_basic(const struct credential *c)
{
	cleanup(strbuf_wipe) struct strbuf plain = { 0 };
	struct strbuf out = { 0 };

	strbuf_addf(&plain, "%s:%s", c->username ? c->username : "<token>", c->secret);
	strbuf_adds(&out, "Basic ");
	base64_encode(strbuf_slice(&plain), &out);
	return strbuf_steal(&out);
}

/* "<token>" as the user's name marks a refresh token, by docker's convention. */
static void set_password(struct credential *c, const char *username, const char *secret)
{
	bool is_token = str_equal(username, "<token>");

	credential_release(c);
	if (is_token && !*secret)
		return; /* as good as none */
	c->kind = is_token ? CREDENTIAL_IDENTITY_TOKEN : CREDENTIAL_PASSWORD;
	c->username = xstrdup(username);
	c->secret = xstrdup(secret);
}

/* Keys of configuration files. */

char *credential_key_host(const char *key)
{
	static const char *const hub[] = { "index.docker.io", "registry-1.docker.io" };
	const char *at = strstr(key, "://");
	char *out = xstrdup(at ? at + 3 : key);
	size_t len = strlen(out);

	while (len && out[len - 1] == '/')
		out[--len] = 0;
	if (str_ends(out, "/v1") || str_ends(out, "/v2"))
		out[len - 3] = 0;
	for (size_t i = 0; i < ARRAY_LEN(hub); i++) {
		size_t n = strlen(hub[i]);

		if (str_starts(out, hub[i]) && (out[n] == 0 || out[n] == '/')) {
			char *renamed = xasprintf("docker.io%s", out + n);

			free(out);
			return renamed;
		}
	}
	return out;
}

/* How much of "host/repository" the key covers; 0: another place. */
static size_t coverage(const char *key, const char *target)
{
	cleanup_free char *k = credential_key_host(key);
	size_t len = strlen(k);

	if (!len || strncmp(target, k, len) || (target[len] != 0 && target[len] != '/'))
		return 0;
	return len;
}

/* The member of `object` whose key covers most of `target`, or NULL. */
static json_t *best_member(json_t *object, const char *target)
{
	json_t *value, *best = NULL;
	const char *key;
	size_t most = 0;

	json_object_foreach(object, key, value)
	{
		size_t len = coverage(key, target);

		if (len > most) {
			most = len;
			best = value;
		}
	}
	return best;
}

/* One entry of "auths". */

static int decode_auth(const char *text, struct credential *out, struct error *err)
{
	cleanup(strbuf_wipe) struct strbuf plain = { 0 };
	char *colon;

	if (!base64_decode(slice_trim(slice_str(text)), &plain))
		return error_set(err, ERROR_FORMAT, "\"auth\" is not base64");
	while (plain.len && strchr("\r\n", plain.data[plain.len - 1]))
		strbuf_truncate(&plain, plain.len - 1);
	if (!plain.len)
		return 0;
	colon = strchr(plain.data, ':');
	if (!colon)
		return error_set(err, ERROR_FORMAT, "\"auth\" does not hold \"user:password\"");
	*colon = 0;
	set_password(out, plain.data, colon + 1);
	return 0;
}

static int parse_auth(const json_t *entry, struct credential *out, struct error *err)
{
	const char *auth, *user, *password, *identity, *token;

	if (!json_is_object(entry))
		return error_set(err, ERROR_FORMAT, "is not an object");
	if (json_get_str_opt(entry, "", "auth", &auth, err) < 0 ||
	    json_get_str_opt(entry, "", "username", &user, err) < 0 ||
	    json_get_str_opt(entry, "", "password", &password, err) < 0 ||
	    json_get_str_opt(entry, "", "identitytoken", &identity, err) < 0 ||
	    json_get_str_opt(entry, "", "registrytoken", &token, err) < 0)
		return -1;
	if (token && *token) {
		out->kind = CREDENTIAL_REGISTRY_TOKEN;
		out->secret = xstrdup(token);
		return 0;
	}
	if (identity && *identity) {
		out->kind = CREDENTIAL_IDENTITY_TOKEN;
		out->secret = xstrdup(identity);
		return 0;
	}
	if (auth && *auth)
		return decode_auth(auth, out, err);
	if (user && *user && password)
		set_password(out, user, password);
	return 0;
}

/* Files. */

static char *target_of(const char *registry, const char *repository)
{
	cleanup_free char *host = credential_key_host(registry);

	return xasprintf("%s/%s", host, repository ? repository : "");
}

/* The helper for the registry: its own, or the one for all. An empty own one means none. */
static int find_helper(const json_t *root, const char *target, char **out, struct error *err)
{
	json_t *helpers, *own;
	const char *store, *name;

	if (json_get_object_opt(root, "", "credHelpers", &helpers, err) < 0 ||
	    json_get_str_opt(root, "", "credsStore", &store, err) < 0)
		return -1;
	own = helpers ? best_member(helpers, target) : NULL;
	name = own ? json_string_value(own) : store;
	if (!name || !*name)
		return 0;
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")])
		return error_set(err, ERROR_FORMAT, "the credential helper has a bad name");
	*out = xstrdup(name);
	return 0;
}

/* ~/.dockercfg is the object "auths" alone. */
static bool is_old_form(const json_t *root)
{
	return !json_object_get(root, "auths") && !json_object_get(root, "credsStore") &&
	       !json_object_get(root, "credHelpers");
}

int credential_parse_config(struct slice text, const char *registry, const char *repository,
			    struct credential_entry *out, struct error *err)
{
	cleanup_free char *target = target_of(registry, repository);
	cleanup_json json_t *root = NULL;
	struct error quoting = { 0 }; /* its text may quote a secret */
	json_t *auths, *entry;

	if (text.len > CONFIG_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "is larger than 1 MiB");
	if (!slice_trim(text).len)
		return 0;
	if (json_parse(text, &root, &quoting) < 0 || !json_is_object(root))
		return error_set(err, ERROR_FORMAT, "is not a JSON object");
	if (find_helper(root, target, &out->helper, err) < 0 ||
	    json_get_object_opt(root, "", "auths", &auths, err) < 0)
		return -1;
	if (!auths && is_old_form(root))
		auths = root;
	entry = auths ? best_member(auths, target) : NULL;
	if (entry && parse_auth(entry, &out->found, err) < 0)
		return error_wrap(err, "entry for %s", registry);
	return 0;
}

/* Helpers. */

int credential_parse_helper(struct slice text, struct credential *out, struct error *err)
{
	cleanup_json json_t *root = NULL;
	const char *user, *secret;

	if (json_parse(text, &root, err) < 0)
		return -1;
	if (json_get_str(root, "", "Username", &user, err) < 0 ||
	    json_get_str(root, "", "Secret", &secret, err) < 0)
		return -1;
	set_password(out, user, secret);
	return 0;
}

const char *credential_key(const char *registry)
{
	return str_equal(registry, "docker.io") ? "https://index.docker.io/v1/" : registry;
}

/* CREDENTIAL_NONE when the helper knows of none. */
static int ask_helper(const char *helper, const char *registry, struct credential *out,
		      struct error *err)
{
	cleanup_free char *program = xasprintf("docker-credential-%s", helper);
	const char *const argv[] = { program, "get", NULL };
	struct process p = { .argv = argv,
			     .stdin_data = slice_str(credential_key(registry)),
			     .timeout_ms = HELPER_TIMEOUT_MS,
			     .output_limit = CONFIG_BYTES_MAX };
	cleanup_process struct process_result r = { 0 };
	int rc;

	if (process_run(&p, &r, err) < 0)
		return error_wrap(err, "credential helper %s", program);
	if (r.exit_status != 0 && strstr(strbuf_text(&r.out_stdout), "credentials not found"))
		return 0;
	if (r.exit_status != 0)
		return error_set(err, ERROR_NETWORK, "credential helper %s: %s for %s", program,
				 r.timed_out ? "gave no answer in 30 s" : "ended with a bad status",
				 registry);
	rc = credential_parse_helper(strbuf_slice(&r.out_stdout), out, err);
	if (r.out_stdout.data)
		explicit_bzero(r.out_stdout.data, r.out_stdout.len);
	if (rc < 0)
		return error_set(err, ERROR_FORMAT,
				 "credential helper %s: its answer for %s is not understood",
				 program, registry);
	out->origin = xstrdup(program);
	return 0;
}

/* The search. */

struct search {
	const char *registry, *repository;
	struct credential *out;
	struct error *err;
};

/* 1 found, 0 not, -1. */
static int search_text(const struct search *s, struct slice text, const char *name)
{
	cleanup_credential_entry struct credential_entry entry = { 0 };

	if (credential_parse_config(text, s->registry, s->repository, &entry, s->err) < 0)
		return error_wrap(s->err, "credentials in %s", name);
	if (entry.helper) {
		if (ask_helper(entry.helper, s->registry, s->out, s->err) < 0)
			return error_wrap(s->err, "%s", name);
		if (s->out->kind)
			return 1;
	}
	if (!entry.found.kind)
		return 0;
	*s->out = entry.found;
	entry.found = (struct credential){ 0 };
	s->out->origin = xstrdup(name);
	return 1;
}

static int search_file(const struct search *s, const char *path, bool must_exist)
{
	cleanup(strbuf_wipe) struct strbuf text = { 0 };
	struct error failed = { 0 };

	if (fs_read(AT_FDCWD, path, CONFIG_BYTES_MAX, &text, &failed) < 0) {
		if (failed.code == ERROR_NOT_FOUND && !must_exist)
			return 0;
		*s->err = failed;
		return error_wrap(s->err, "credentials");
	}
	return search_text(s, strbuf_slice(&text), path);
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* DIR/NAME, where DIR is an environment variable's value, else `below` in the home folder. */
static int search_env_dir(const struct search *s, const char *variable, const char *below,
			  const char *name)
{
	const char *dir = variable ? env(variable) : NULL, *home = env("HOME");
	cleanup_free char *path = NULL;

	if (!dir && (!below || !home))
		return 0;
	path = dir ? xasprintf("%s/%s", dir, name) : xasprintf("%s/%s/%s", home, below, name);
	return search_file(s, path, false);
}

static int search_files(const struct search *s)
{
	cleanup_free char *run = xasprintf("/run/containers/%ju/auth.json", (uintmax_t)getuid());
	int rc = 0;

	if (!rc && env("REGISTRY_AUTH_FILE"))
		rc = search_file(s, env("REGISTRY_AUTH_FILE"), false);
	if (!rc)
		rc = search_env_dir(s, "DOCKER_CONFIG", ".docker", "config.json");
	if (!rc)
		rc = search_env_dir(s, "XDG_RUNTIME_DIR", NULL, "containers/auth.json");
	if (!rc)
		rc = search_file(s, run, false);
	if (!rc)
		rc = search_env_dir(s, "XDG_CONFIG_HOME", ".config", "containers/auth.json");
	if (!rc && env("DOCKER_AUTH_CONFIG"))
		rc = search_text(s, slice_str(env("DOCKER_AUTH_CONFIG")), "DOCKER_AUTH_CONFIG");
	if (!rc)
		rc = search_env_dir(s, NULL, ".", ".dockercfg");
	return rc;
}

static int take_options(const struct credential_options *o, const struct search *s)
{
	if (o->registry_token) {
		s->out->kind = CREDENTIAL_REGISTRY_TOKEN;
		s->out->secret = xstrdup(o->registry_token);
		s->out->origin = xstrdup("the registry token given");
		return 1;
	}
	if (!o->username != !o->password)
		return error_set(s->err, ERROR_USAGE,
				 "a user name and a password are wanted together");
	if (!o->username)
		return 0;
	set_password(s->out, o->username, o->password);
	s->out->origin = xstrdup("the user name given");
	return 1;
}

int credential_find(const struct credential_options *options, const char *registry,
		    const char *repository, struct credential *out, struct error *err)
{
	struct search s = { registry, repository, out, err };
	const char *file = options->auth_file ? options->auth_file : env("GPUIMG_AUTH_FILE");
	int rc;

	if (options->anonymous)
		return 0;
	rc = take_options(options, &s);
	if (!rc && file)
		rc = search_file(&s, file, true);
	if (!rc)
		rc = search_files(&s);
	if (!rc && str_equal(registry, "nvcr.io") && env("NGC_API_KEY")) {
		set_password(out, "$oauthtoken", env("NGC_API_KEY"));
		out->origin = xstrdup("NGC_API_KEY");
	}
	return rc < 0 ? -1 : 0;
}
