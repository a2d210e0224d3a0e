/*
 * Stored credentials for a registry: what docker, podman and their helpers keep.
 *
 * Order, first found wins: the options; auth_file, else $GPUIMG_AUTH_FILE; $REGISTRY_AUTH_FILE;
 * $DOCKER_CONFIG/config.json or ~/.docker/config.json; $XDG_RUNTIME_DIR/containers/auth.json,
 * /run/containers/UID/auth.json; $XDG_CONFIG_HOME/containers/auth.json (~/.config); the JSON in
 * $DOCKER_AUTH_CONFIG; ~/.dockercfg; for nvcr.io only $NGC_API_KEY as user "$oauthtoken"; none.
 * Within a file: credHelpers, credsStore, auths. Keys match with or without scheme, "/v1/" and
 * "/v2/"; keys with a path cover the repositories below it, the longest wins.
 * Secrets appear in no error text. They are wiped when released.
 * Source: docker's credential store documentation; containers-auth.json(5).
 */
#ifndef REGISTRY_CREDENTIALS_H
#define REGISTRY_CREDENTIALS_H

#include "base/error.h"
#include "base/slice.h"

enum credential_kind {
	CREDENTIAL_NONE = 0,
	CREDENTIAL_PASSWORD,       /* username and secret */
	CREDENTIAL_IDENTITY_TOKEN, /* secret is a refresh token for the token server */
	CREDENTIAL_REGISTRY_TOKEN, /* secret is a bearer token, sent as it is */
};

struct credential {
	enum credential_kind kind;
	char *username; /* CREDENTIAL_PASSWORD; may be NULL for others */
	char *secret;
	char *origin; /* where it was found, for texts: a path, "--username", "NGC_API_KEY" */
};

void credential_release(struct credential *c);
#define cleanup_credential cleanup(credential_release)

struct credential_options {
	const char *username, *password; /* both or none */
	const char *registry_token;      /* NULL: none */
	const char *auth_file;           /* must exist; NULL: none */
	bool anonymous;                  /* look nowhere */
};

/*
 * `registry` as in a reference ("docker.io", "host:5000"). Nothing found: CREDENTIAL_NONE.
 * Errors: ERROR_USAGE username without password; ERROR_NOT_FOUND the auth_file, or a helper's
 * program; ERROR_FORMAT a file that is no such JSON (with its name); ERROR_NETWORK a helper that
 * did not answer; ERROR_SYSTEM.
 */
int credential_find(const struct credential_options *options, const char *registry,
		    const char *repository, struct credential *out, struct error *err) MUST_USE;

/* What one configuration file says about a registry. */
struct credential_entry {
	char *helper;            /* to ask first: docker-credential-<helper>; NULL: none */
	struct credential found; /* of auths */
};

void credential_entry_release(struct credential_entry *e);
#define cleanup_credential_entry cleanup(credential_entry_release)

/* Parse such a file (`text`) under a limit of 1 MiB. ERROR_FORMAT, ERROR_LIMIT. */
int credential_parse_config(struct slice text, const char *registry, const char *repository,
			    struct credential_entry *out, struct error *err) MUST_USE;
/* What a helper printed. ERROR_FORMAT. */
int credential_parse_helper(struct slice text, struct credential *out, struct error *err) MUST_USE;
/* The host (and path) of a key: "https://host/v1/" gives "host"; Docker Hub's many names give
 * "docker.io". Heap. */
char *credential_key_host(const char *key);
/* The key under which docker keeps a registry. */
const char *credential_key(const char *registry);
/* "Basic …" of a password credential, or of a refresh token as docker sends it, with "<token>" as
 * the user's name; heap. */
char *credential_basic(const struct credential *c);

#endif
