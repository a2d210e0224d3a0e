/*
 * One repository of a registry, as the distribution specification names things: blobs and
 * manifests. Uploads are session.h's.
 *
 * `struct client_repository` is what all threads share: address, credentials, tokens, and how long
 * the registry wants to be left alone. `struct client` is one thread's connection to it.
 *
 * Addresses: https, and plain http only for loopback hosts, and those that registries.conf calls
 * insecure, where https finds nobody or no TLS.
 * Credentials go to the registry's own scheme, host and port, and to its token server (auth.h).
 * What the registry names as the place of an upload is used as it came.
 * Every error names registry, repository, request, status and the registry's own words.
 * Source: OCI distribution specification 1.1.
 */
#ifndef REGISTRY_CLIENT_H
#define REGISTRY_CLIENT_H

#include "net/http.h"
#include "oci/descriptor.h"
#include "registry/credentials.h"

enum client_note {
	CLIENT_NOTE_CREDENTIALS, /* where credentials came from; for -v */
	CLIENT_NOTE_EVENT,       /* what happened on the way, such as a lost upload session */
	CLIENT_NOTE_WARNING,     /* what the registry wants its users to read */
};

struct client_options {
	struct credential_options credentials;
	const char *const *allow_realms; /* hosts of token servers to trust besides; NULL: none */
	const char *ca_file;             /* trusted besides the system's CAs; NULL: none */
	unsigned tries;                  /* per request that may be repeated; 0: 5 */
	uint64_t backoff_ms;             /* first wait between tries, doubled each time; 0: 500 */
	/* Told what the user may want to know. From any thread, one at a time; NULL: nobody. */
	void (*note)(void *user, enum client_note kind, const char *text);
	void *note_user;
	const char
		*state_dir; /* where uploads and what hosts are like is remembered; NULL: nowhere */
	uint64_t commit_wait_ms; /* for a blob to appear after a lost answer; 0: by its size */
};

enum client_access {
	CLIENT_PULL,
	CLIENT_PUSH,
	CLIENT_DELETE,
	CLIENT_CATALOG, /* the names of repositories; `repository` is "" */
	CLIENT_LOGIN,   /* nothing but who we are; `repository` is "" */
};

struct client_repository;

/*
 * Find out how the registry is spoken to and whether it wants credentials. `options` and what it
 * points at must outlive the result. ERROR_NETWORK; those of credential_find; ERROR_USAGE when
 * registries.conf blocks the name; those of registries_conf_load.
 */
struct client_repository *client_repository_open(const char *registry, const char *repository,
						 enum client_access access,
						 const struct client_options *options,
						 struct error *err) MUST_USE;
/*
 * The same, without looking into registries.conf, which has been done (registries_conf.h). With
 * `insecure` TLS that cannot be verified, or plain http, will do; the user is told.
 */
struct client_repository *client_repository_connect(const char *registry, const char *repository,
						    enum client_access access, bool insecure,
						    const struct client_options *options,
						    struct error *err) MUST_USE;
void client_repository_close(struct client_repository *r);
DEFINE_CLEANUP(struct client_repository *, client_repository_close)
#define cleanup_client_repository cleanup(client_repository_close_p)
/* "https://host:port" */
const char *client_repository_url(const struct client_repository *r);
/* Whether the registry wants to know who we are; some tell everybody everything. */
bool client_repository_asks(const struct client_repository *r);
/* As given when it was opened. */
const char *client_repository_registry(const struct client_repository *r);
const char *client_repository_name(const struct client_repository *r);
/* The service that the registry's challenge named at first, or NULL. */
const char *client_repository_realm_service(const struct client_repository *r);

struct client;

struct client *client_new(struct client_repository *r);
void client_free(struct client *c);
DEFINE_CLEANUP(struct client *, client_free)
#define cleanup_client cleanup(client_free_p)

/* The last answer, for those who decide what to do after an error. */
struct client_answer {
	int status;                /* 0: there was none */
	enum http_failure failure; /* why */
	char code[64];             /* the registry's: "BLOB_UPLOAD_UNKNOWN", or "" */
	char message[160];         /* its words, or "" */
	uint64_t retry_after_ms;   /* 0: not said */
	uint64_t body_sent;        /* bytes of the request body that had left */
	bool lists_subject;        /* OCI-Subject: it keeps the list of referrers itself */
};
const struct client_answer *client_last(const struct client *c);
/* Whether it was of the kind that passes: cut connections, 408, 429, most of 5xx. */
bool client_last_transient(const struct client *c);
/*
 * Wait before the try after number `try` (from 1): doubling and scattered, or as the registry
 * asked. After an answer of the kind that passes all threads of the repository wait.
 */
void client_back_off(struct client *c, unsigned try);

/* Blobs. */

/*
 * 0 either way; *out_size (may be NULL) is its size when the registry tells, else UINT64_MAX.
 * ERROR_NETWORK.
 */
int client_blob_exists(struct client *c, const struct digest *digest, bool *out_exists,
		       uint64_t *out_size, struct error *err) MUST_USE;
/*
 * The bytes of a blob, verified against digest and size while they pass; one try. ERROR_INTEGRITY,
 * ERROR_NOT_FOUND, ERROR_NETWORK.
 */
int client_blob_get(struct client *c, const struct descriptor *desc, struct sink *out,
		    struct error *err) MUST_USE;

/* Manifests. `name` is a tag, or a digest as text. */

/*
 * PUT; tried again while that may help. The digest the registry answers with must be that of
 * `text`: ERROR_INTEGRITY.
 */
int client_manifest_put(struct client *c, const char *name, const char *media_type,
			struct slice text, struct error *err) MUST_USE;
/*
 * GET: the exact bytes, appended, with media type (in `arena`), digest and size. When `name` is a
 * digest the bytes have it. ERROR_NOT_FOUND, ERROR_INTEGRITY, ERROR_LIMIT over 8 MiB.
 */
int client_manifest_get(struct client *c, const char *name, struct arena *arena, struct strbuf *out,
			struct descriptor *desc, struct error *err) MUST_USE;

#endif
