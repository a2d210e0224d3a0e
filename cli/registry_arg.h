/*
 * What all commands that speak to registries take: credentials, CAs, token servers to trust; and
 * what they tell the user meanwhile.
 */
#ifndef CLI_REGISTRY_ARG_H
#define CLI_REGISTRY_ARG_H

#include <pthread.h>

#include "cli/command.h"
#include "cli/progress.h"
#include "oci/reference.h"
#include "registry/client.h"

#define REGISTRY_OPTIONS                                                                       \
	{ .name = "authfile",                                                                  \
	  .value = "FILE",                                                                     \
	  .help = "credentials file to ask before all others" },                               \
		{ .name = "username",                                                          \
		  .letter = 'u',                                                               \
		  .value = "NAME",                                                             \
		  .help = "user name; the password is read with --password-stdin" },           \
		{ .name = "password-stdin", .help = "read the password from standard input" }, \
		{ .name = "anonymous", .help = "use no credentials" },                         \
		{ .name = "allow-realm",                                                       \
		  .value = "HOST",                                                             \
		  .repeatable = true,                                                          \
		  .help = "token server outside the registry's domain that may see the "       \
			  "credentials" },                                                     \
	{                                                                                      \
		.name = "tls-ca", .value = "FILE",                                             \
		.help = "CA certificates to trust besides the system's"                        \
	}

struct registry_arg {
	struct client_options client; /* for the commands; points into what follows */
	struct strbuf password;
	VEC(const char *) realms;
	char *state_dir;
	const struct out *out;
	pthread_mutex_t lock; /* of what follows, and of lines that go out together */
	struct progress progress;
};

/*
 * Read the options. `what` names the work in progress lines. Release it in any case; it may not
 * move. ERROR_USAGE, and what reading the password gives.
 */
int registry_arg_take(const struct invocation *in, const char *what, struct registry_arg *out,
		      struct error *err) MUST_USE;
void registry_arg_release(struct registry_arg *a);
#define cleanup_registry_arg cleanup(registry_arg_release)
/* "docker://HOST/NAME:TAG" or the same without "docker://". */
int registry_arg_reference(const char *text, struct arena *arena, struct reference *out,
			   struct error *err) MUST_USE;

/* A repository and a client of it. */
struct registry_target {
	struct client_repository *repository;
	struct client *client;
};

/* Release it in any case. Errors: those of client_repository_open. */
int registry_target_open(const struct registry_arg *a, const char *registry, const char *repository,
			 enum client_access access, struct registry_target *out,
			 struct error *err) MUST_USE;
void registry_target_release(struct registry_target *t);
#define cleanup_registry_target cleanup(registry_target_release)

#endif
