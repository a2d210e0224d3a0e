#include "base/alloc.h"
#include "cli/registry_arg.h"
#include "registry/credential_store.h"
#include "registry/listing.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ 0 },
};

/* "docker://HOST/anything" → HOST, as a reference names it. */
static const char *host_of(const char *text, struct arena *arena, struct error *err)
{
	const char *at = str_starts(text, "docker://") ? text + strlen("docker://") : text;
	size_t len = strcspn(at, "/");
	struct reference ref;

	if (!len || strchr(at, '@')) {
		error_set(err, ERROR_USAGE, "'%s': the host of a registry is wanted", text);
		return NULL;
	}
	if (reference_parse(arena_printf(arena, "%.*s/x", (int)len, at), arena, &ref, err) < 0)
		return NULL;
	if (str_equal(ref.registry, "docker.io") && strncmp(at, "docker.io", 9) &&
	    strncmp(at, "index.docker.io", 15)) {
		error_set(err, ERROR_USAGE,
			  "'%s': is no host of a registry (HOST.DOMAIN or HOST:PORT)", text);
		return NULL;
	}
	return ref.registry;
}

static int login(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_client_repository struct client_repository *repository = NULL;
	cleanup_credential struct credential credential = { .kind = CREDENTIAL_PASSWORD };
	cleanup_client struct client *client = NULL; /* goes before its repository */
	cleanup_free char *where = NULL;
	const char *file = option_text(in, "authfile", NULL);
	const char *host = host_of(in->args[0], &arena, err);

	if (!host || registry_arg_take(in, "login", &registry, err) < 0)
		return -1;
	if (!registry.client.credentials.username)
		return error_set(err, ERROR_USAGE,
				 "login: --username NAME and --password-stdin are wanted, as in "
				 "`gpuimg login --username NAME --password-stdin %s <FILE`",
				 host);
	registry.client.credentials.auth_file = NULL;
	repository = client_repository_open(host, "", CLIENT_LOGIN, &registry.client, err);
	if (!repository)
		return -1;
	client = client_new(repository);
	if (listing_check_login(client, err) < 0)
		return -1;
	credential.username = xstrdup(registry.client.credentials.username);
	credential.secret = xstrdup(registry.client.credentials.password);
	if (credential_store(file, host, &credential, &where, err) < 0)
		return -1;
	out_note(in->out, "%s: logged in as %s; kept in %s", host, credential.username, where);
	if (!client_repository_asks(repository))
		out_warn(in->out,
			 "%s asks for no credentials, so nobody has looked whether these are right",
			 host);
	return 0;
}

static int logout(const struct invocation *in, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_credential struct credential left = { 0 };
	struct credential_options o = { .auth_file = NULL };
	const char *host = host_of(in->args[0], &arena, err);
	cleanup_free char *where = NULL;
	struct error ignored = { 0 };
	bool found;

	if (!host ||
	    credential_erase(option_text(in, "authfile", NULL), host, &found, &where, err) < 0)
		return -1;
	out_note(in->out, found ? "%s: logged out of %s" : "%s: not logged in by %s", host, where);
	if (credential_find(&o, host, "", &left, &ignored) == 0 && left.kind)
		out_warn(in->out, "%s: there are still credentials in %s", host, left.origin);
	return 0;
}

const struct command command_login = {
	.name = "login",
	.usage = "HOST",
	.summary = "keep credentials for a registry",
	.description =
		"Asks the registry whether it knows the name and the password (or token), and "
		"only\n"
		"then keeps them where docker and podman find them too: in the helper that the\n"
		"file names, else in the file, which only you may read. The file is --authfile,\n"
		"$GPUIMG_AUTH_FILE, $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json or\n"
		"~/.docker/config.json, the first that is set. For nvcr.io the name is the "
		"literal\n"
		"$oauthtoken (mind the shell), the password an NGC API key.",
	.examples = "gpuimg login -u joe --password-stdin registry.example.org <token.txt"
		    "    # from a file\n"
		    "echo \"$NGC_API_KEY\" | gpuimg login -u '$oauthtoken' --password-stdin nvcr.io"
		    "    # NGC",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = login,
};

static const struct option logout_options[] = {
	{ .name = "authfile", .value = "FILE", .help = "the credentials file" },
	{ 0 },
};

const struct command command_logout = {
	.name = "logout",
	.usage = "HOST",
	.summary = "forget the credentials for a registry",
	.description =
		"Removes what `gpuimg login` (or docker's, or podman's) kept for the host in\n"
		"that file or its helper, and tells where else credentials for it are left.",
	.examples = "gpuimg logout registry.example.org    # forget",
	.options = logout_options,
	.args_min = 1,
	.args_max = 1,
	.run = logout,
};
