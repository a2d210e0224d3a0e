/*
 * Who we are to one registry: answers its challenges, fetches bearer tokens and renews them before
 * they expire. Shared by all threads that talk to the registry; each brings its own http client.
 *
 * Passwords go only to the registry itself (Basic), or to the token server that its challenge
 * names, when that is trusted: https (plain http only where the registry is loopback too), and of
 * the registry's own domain, or allowed by the options. nvcr.io trusts itself and nvidia.com.
 * Source: distribution's token specification and OAuth2 specification; RFC 7617.
 */
#ifndef REGISTRY_AUTH_H
#define REGISTRY_AUTH_H

#include "net/http.h"
#include "registry/challenge.h"
#include "registry/credentials.h"

struct auth;

/* `url`: the registry's address ("https://host:port"). Takes the content of `credential`. */
struct auth *auth_new(const char *registry, const char *url, struct credential *credential,
		      const char *const *allow_realms);
void auth_free(struct auth *a);

/*
 * Learn from a 401 (the answer to GET /v2/, or a later one) what is wanted. Gives 1 when another
 * try with a new auth_header() makes sense, 0 when not (the same was just refused), -1 and *err
 * when the challenge cannot be answered. `sent` is the header that was refused, or NULL.
 */
int auth_challenged(struct auth *a, const struct http_response *answer, const char *sent,
		    struct error *err) MUST_USE;
/*
 * The Authorization value for requests within `scopes` (NULL-terminated,
 * "repository:NAME:pull,push"), NULL when none is wanted. Fetches a token when the cache has none
 * that lives on. Heap; wipe with auth_header_free.
 * Errors: ERROR_NETWORK the token server refuses or cannot be reached.
 */
int auth_header(struct auth *a, struct http_client *http, const char *const *scopes, char **out,
		struct error *err) MUST_USE;
void auth_header_free(char **header);
#define cleanup_auth_header cleanup(auth_header_free)
/* What to tell a user whose request was refused: where the credentials came from. */
const char *auth_origin(const struct auth *a);
enum credential_kind auth_kind(const struct auth *a);
/* The "service" of the registry's challenge, or NULL; as long as nobody else is being answered. */
const char *auth_service(const struct auth *a);
/* The user's name, or NULL. */
const char *auth_username(const struct auth *a);

/* A token server's answer. */
struct token {
	char *value;
	uint64_t life_s; /* from expires_in, else the token's own exp - iat, else 60 */
};
void token_release(struct token *t);
/* Parse under a limit of 128 KiB. ERROR_FORMAT, ERROR_LIMIT. */
int token_parse(struct slice text, struct token *out, struct error *err) MUST_USE;
/* realm, "service" and scopes as one address; heap. */
char *token_url(const char *realm, const char *service, const char *const *scopes);
/* Whether a token server at `realm` may see the credentials for the registry at `url`. */
bool realm_trusted(const char *registry, const char *url, const char *realm,
		   const char *const *allow_realms);
/* localhost, *.localhost, 127.0.0.0/8, ::1; with or without a port. */
bool auth_host_is_loopback(const char *host);

#endif
