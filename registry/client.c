#include "registry/client.h"

#include <pthread.h>
#include <strings.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "oci/mediatype.h"
#include "registry/auth.h"
#include "registry/certs.h"
#include "registry/client_request.h"
#include "registry/refusal.h"
#include "registry/registries_conf.h"

enum {
	TRIES_DEFAULT = 5,
	BACKOFF_DEFAULT_MS = 500,
	BACKOFF_MAX_MS = 60 * 1000,
	RETRY_AFTER_MAX_MS = 10 * 60 * 1000,
	MANIFEST_READ_MAX = 8 * 1024 * 1024,
};

struct client_repository {
	char *registry, *name, *url, *scope;
	enum client_access access;
	const struct client_options *options;
	struct auth *auth;
	struct certs certs;
	bool insecure;   /* may be spoken to without TLS, or with a certificate nobody knows */
	bool unverified; /* and is */
	bool asks;       /* wants to know who we are */
	pthread_mutex_t lock;
	uint64_t quiet_until_ms; /* the registry wants no request before */
	char *warning;           /* of the registry, told last */
};

struct client {
	struct client_repository *repository;
	struct http_client *http;
	const char
		*also_scope; /* of the requests that follow, besides the repository's; borrowed */
	struct client_answer last;
};

/* Addresses. */

const char *client_repository_realm_service(const struct client_repository *r)
{
	return auth_service(r->auth);
}

bool client_repository_asks(const struct client_repository *r)
{
	return r->asks;
}

const char *client_repository_registry(const struct client_repository *r)
{
	return r->registry;
}

const char *client_repository_name(const struct client_repository *r)
{
	return r->name;
}

char *client_url(const struct client *c, const char *kind, const char *name)
{
	const struct client_repository *r = c->repository;

	return xasprintf("%s/v2/%s/%s/%s", r->url, r->name, kind, name);
}

const struct client_repository *client_repository_of(const struct client *c)
{
	return c->repository;
}

const struct client_options *client_options_of(const struct client *c)
{
	return c->repository->options;
}

int client_wrap(const struct client *c, const char *what, struct error *err)
{
	return error_wrap(err, "%s/%s: %s", c->repository->registry, c->repository->name, what);
}

void client_also_scope(struct client *c, const char *scope)
{
	c->also_scope = scope;
}

/* Being left alone, for all threads. */

static void keep_quiet(struct client_repository *r, uint64_t ms)
{
	pthread_mutex_lock(&r->lock);
	r->quiet_until_ms = MAX(r->quiet_until_ms, clock_ms(CLOCK_BOOTTIME) + ms);
	pthread_mutex_unlock(&r->lock);
}

static void wait_until_welcome(struct client_repository *r)
{
	uint64_t until, now = clock_ms(CLOCK_BOOTTIME);

	pthread_mutex_lock(&r->lock);
	until = r->quiet_until_ms;
	pthread_mutex_unlock(&r->lock);
	if (until > now)
		http_sleep_ms(until - now);
}

static void tell(struct client_repository *r, enum client_note kind, const char *text)
{
	cleanup_free char *note = xasprintf("%s/%s: %s", r->registry, r->name, text);

	if (!r->options->note)
		return;
	pthread_mutex_lock(&r->lock);
	r->options->note(r->options->note_user, kind, note);
	pthread_mutex_unlock(&r->lock);
}

void client_tell(struct client *c, enum client_note kind, const char *text)
{
	tell(c->repository, kind, text);
}

const struct client_answer *client_last(const struct client *c)
{
	return &c->last;
}

bool client_last_transient(const struct client *c)
{
	if (c->last.status)
		return http_status_transient(c->last.status);
	return c->last.failure == HTTP_FAILURE_CONNECT || c->last.failure == HTTP_FAILURE_RESOLVE ||
	       c->last.failure == HTTP_FAILURE_TRANSFER ||
	       c->last.failure == HTTP_FAILURE_HANDSHAKE;
}

/* `ms`, up to a half more: so that those who were refused together do not come back together. */
static uint64_t scatter(uint64_t ms)
{
	uint32_t dice = 0;

	if (getrandom(&dice, sizeof(dice), GRND_NONBLOCK) != sizeof(dice))
		dice = (uint32_t)clock_ms(CLOCK_MONOTONIC);
	return ms + dice % (ms / 2 + 1);
}

void client_back_off(struct client *c, unsigned try)
{
	const struct client_options *o = c->repository->options;
	uint64_t first = o->backoff_ms ? o->backoff_ms : BACKOFF_DEFAULT_MS;
	uint64_t ms = scatter(MIN(first << MIN(try - 1, 10u), (uint64_t)BACKOFF_MAX_MS));

	if (c->last.retry_after_ms > RETRY_AFTER_MAX_MS)
		tell(c->repository, CLIENT_NOTE_WARNING,
		     "wants to be left alone for longer than 10 minutes; asked again after these");
	if (c->last.retry_after_ms)
		ms = MIN(c->last.retry_after_ms, (uint64_t)RETRY_AFTER_MAX_MS);
	if (http_status_transient(c->last.status))
		keep_quiet(c->repository, ms);
	http_sleep_ms(ms);
}

/* Notes. */

/* The text of `299 - "text"`, as far as it is quoted. */
static struct slice warning_text(struct slice header)
{
	struct slice rest = header, before, text;

	if (!slice_starts(header, "299 ") || !slice_cut(&rest, '"', &before) ||
	    !slice_cut(&rest, '"', &text))
		return (struct slice){ 0 };
	return text;
}

/* A warning is told once, however often the registry repeats it. */
static void tell_warning(struct client_repository *r, const struct http_response *answer)
{
	struct slice text = warning_text(http_header(answer, "warning"));
	cleanup_strbuf struct strbuf note = { 0 };

	if (!text.len || !r->options->note)
		return;
	strbuf_addf(&note, "%s warns: ", r->registry);
	strbuf_add_quoted(&note, text, 300);
	pthread_mutex_lock(&r->lock);
	if (!r->warning || !str_equal(r->warning, note.data)) {
		free(r->warning);
		r->warning = xstrdup(note.data);
		r->options->note(r->options->note_user, CLIENT_NOTE_WARNING, note.data);
	}
	pthread_mutex_unlock(&r->lock);
}

static void tell_origin(struct client_repository *r)
{
	cleanup_free char *note = NULL;

	if (!r->options->note)
		return;
	note = auth_origin(r->auth) ? xasprintf("%s/%s: credentials from %s", r->registry, r->name,
						auth_origin(r->auth))
				    : xasprintf("%s/%s: no credentials", r->registry, r->name);
	r->options->note(r->options->note_user, CLIENT_NOTE_CREDENTIALS, note);
}

/* Requests. */

static void note_answer(struct client *c, const struct http_response *r, int rc)
{
	c->last = (struct client_answer){ .body_sent = r->body_sent };
	if (rc < 0) {
		c->last.failure = r->failure;
		return;
	}
	c->last.status = r->status;
	c->last.retry_after_ms = http_retry_after_ms(r);
	c->last.lists_subject = http_header(r, "oci-subject").data != NULL;
	if (r->status >= 400)
		refusal_code(r, c->last.code, c->last.message);
}

int client_refuse(const struct client *c, const char *what, const struct http_response *r,
		  struct error *err)
{
	const struct client_repository *repo = c->repository;
	struct refusal about = { .registry = repo->registry,
				 .repository = repo->name,
				 .what = what,
				 .auth = repo->auth,
				 .push = repo->access == CLIENT_PUSH };

	return refusal_set(&about, r, err);
}

int client_request(struct client *c, const char *what, struct http_request *request,
		   struct http_response *r, struct error *err)
{
	struct client_repository *repo = c->repository;
	const char *const scopes[] = { repo->scope, c->also_scope, NULL };
	bool home = http_same_origin(repo->url, request->url);

	request->foreign = !home;
	for (unsigned try = 1;; try++) {
		cleanup_auth_header char *header = NULL;
		int again;

		c->last = (struct client_answer){ 0 };
		wait_until_welcome(repo);
		if (home && auth_header(repo->auth, c->http, scopes, &header, err) < 0)
			return error_wrap(err, "%s/%s: %s", repo->registry, repo->name, what);
		request->authorization = header;
		if (http_perform(c->http, request, r, err) < 0) {
			note_answer(c, r, -1);
			return error_wrap(err, "%s/%s", repo->registry, repo->name);
		}
		request->authorization = NULL;
		note_answer(c, r, 0);
		tell_warning(repo, r);
		if (r->status != 401 || !home || try == 3 || !http_same_origin(repo->url, r->url))
			return 0;
		again = auth_challenged(repo->auth, r, header, err);
		if (again <= 0 || r->body_sent)
			return MIN(again, 0);
	}
}

int client_request_patiently(struct client *c, const char *what, struct http_request *request,
			     struct http_response *r, struct error *err)
{
	unsigned tries = c->repository->options->tries;

	for (unsigned try = 1;; try++) {
		struct error failed = { 0 };
		int rc = client_request(c, what, request, r, &failed);

		if (rc == 0 && !client_last_transient(c))
			return 0;
		if (try >= (tries ? tries : TRIES_DEFAULT) || !client_last_transient(c)) {
			if (rc < 0)
				*err = failed;
			return rc;
		}
		client_back_off(c, try);
	}
}

/* Opening. */

static struct http_client *connect_http(const struct client_repository *r)
{
	struct http_options http = { .ca_file = r->options->ca_file,
				     .ca_pem = strbuf_slice(&r->certs.ca_pem),
				     .client_cert = r->certs.client_cert,
				     .client_key = r->certs.client_key,
				     .unverified = r->unverified };

	return http_client_new(&http);
}

/*
 * GET /v2/: whether somebody answers; learns the challenge. A connection that breaks is tried again
 * where nothing else is left to try.
 */
static int ping(struct client_repository *r, struct client *c, bool last,
		struct http_response *answer, struct error *err)
{
	cleanup_free char *url = xasprintf("%s/v2/", r->url);
	struct http_request request = { .method = "GET", .url = url };

	for (unsigned try = 1;; try++) {
		struct error failed = { 0 };
		int rc = http_perform(c->http, &request, answer, &failed);
		bool broke = rc < 0 && (answer->failure == HTTP_FAILURE_TRANSFER ||
					(last && answer->failure == HTTP_FAILURE_HANDSHAKE));

		note_answer(c, answer, rc);
		if (rc == 0 && !http_status_transient(answer->status))
			return 0;
		if (try == 3 || (rc < 0 && !broke)) {
			if (rc < 0)
				*err = failed;
			return rc;
		}
		client_back_off(c, try);
	}
}

static int set_address(struct client_repository *r, const char *scheme, struct error *err)
{
	const char *host =
		str_equal(r->registry, "docker.io") ? "registry-1.docker.io" : r->registry;
	struct credential credential = { 0 };

	if (credential_find(&r->options->credentials, r->registry, r->name, &credential, err) < 0)
		return -1;
	free(r->url);
	auth_free(r->auth);
	r->url = xasprintf("%s://%s", scheme, host);
	r->auth = auth_new(r->registry, r->url, &credential, r->options->allow_realms);
	return 0;
}

/* A certificate that cannot be verified will do where registries.conf says so. */
static int ping_unverified(struct client_repository *r, struct client *c,
			   struct http_response *answer, struct error *err)
{
	r->unverified = true;
	http_client_free(c->http);
	c->http = connect_http(r);
	tell(r, CLIENT_NOTE_WARNING,
	     "its certificate is not verified, since registries.conf calls it insecure");
	return ping(r, c, true, answer, err);
}

/* Whether http would go to the port that https went to. */
static bool has_port(const char *registry)
{
	const char *end = strrchr(registry, ']'); /* of an IPv6 address */

	return strchr(end ? end : registry, ':');
}

/* http, after a hand-shake that broke; https once more when it was the line that broke. */
static int ping_either(struct client_repository *r, struct client *c, struct http_response *answer,
		       struct error *err)
{
	struct error over_tls = { 0 }, plain = { 0 };
	int rc = ping(r, c, true, answer, &plain);

	if (rc == 0 && answer->status != 400) /* the word of servers that speak TLS */
		return 0;
	if (set_address(r, "https", err) < 0)
		return -1;
	if (ping(r, c, true, answer, &over_tls) == 0)
		return 0;
	*err = rc < 0 && answer->failure == HTTP_FAILURE_HANDSHAKE ? plain : over_tls;
	return -1;
}

/* https, then for loopback and insecure hosts http, but not where nobody listens. */
static int find_scheme(struct client_repository *r, struct client *c, struct http_response *answer,
		       struct error *err)
{
	bool loopback = auth_host_is_loopback(r->registry);
	struct error over_tls = { 0 };
	bool handshake, nobody;

	if (set_address(r, "https", err) < 0)
		return -1;
	if (ping(r, c, !loopback && !r->insecure, answer, &over_tls) == 0)
		return 0;
	handshake = answer->failure == HTTP_FAILURE_HANDSHAKE;
	nobody = answer->failure == HTTP_FAILURE_CONNECT;
	if (r->insecure && answer->failure == HTTP_FAILURE_CERTIFICATE)
		return ping_unverified(r, c, answer, err);
	if ((!loopback && !r->insecure) || (!nobody && !handshake) ||
	    (nobody && has_port(r->registry))) {
		*err = over_tls;
		if (handshake)
			error_wrap(err, "plain http is spoken to loopback hosts only");
		return -1;
	}
	if (!loopback)
		tell(r, CLIENT_NOTE_WARNING,
		     "is spoken to without TLS, since registries.conf calls it insecure");
	if (set_address(r, "http", err) < 0)
		return -1;
	if (!handshake)
		return ping(r, c, true, answer, err);
	return ping_either(r, c, answer, err);
}

static int greet(struct client_repository *r, struct error *err)
{
	cleanup_client struct client *c = client_new(r);
	cleanup_response struct http_response answer = { 0 };

	if (find_scheme(r, c, &answer, err) < 0)
		return error_wrap(err, "registry %s", r->registry);
	tell_origin(r);
	r->asks = answer.status == 401;
	if (r->asks)
		return auth_challenged(r->auth, &answer, NULL, err) < 0 ? -1 : 0;
	if (answer.status == 404)
		return error_set(err, ERROR_NETWORK,
				 "registry %s: answers 404 to %s/v2/; is it a container registry?",
				 r->registry, r->url);
	if (http_status_transient(answer.status))
		return client_refuse(c, "GET /v2/", &answer, err);
	return 0;
}

/* What a token is to allow; NULL: nothing. */
static char *scope_of(const char *repository, enum client_access access)
{
	static const char *const actions[] = {
		[CLIENT_PULL] = "pull", [CLIENT_PUSH] = "pull,push", [CLIENT_DELETE] = "pull,delete"
	};

	if (access == CLIENT_LOGIN)
		return NULL;
	if (access == CLIENT_CATALOG)
		return xstrdup("registry:catalog:*");
	return xasprintf("repository:%s:%s", repository, actions[access]);
}

struct client_repository *client_repository_connect(const char *registry, const char *repository,
						    enum client_access access, bool insecure,
						    const struct client_options *options,
						    struct error *err)
{
	struct client_repository *r = xcalloc(1, sizeof(*r));

	pthread_mutex_init(&r->lock, NULL);
	r->registry = xstrdup(registry);
	r->name = xstrdup(repository);
	r->access = access;
	r->options = options;
	r->insecure = insecure;
	r->scope = scope_of(repository, access);
	if (certs_find(registry, &r->certs, err) == 0 && greet(r, err) == 0)
		return r;
	client_repository_close(r);
	return NULL;
}

struct client_repository *client_repository_open(const char *registry, const char *repository,
						 enum client_access access,
						 const struct client_options *options,
						 struct error *err)
{
	cleanup_registries_conf struct registries_conf conf = { 0 };
	const struct registry_rule *rule;

	if (registries_conf_load(&conf, err) < 0)
		return NULL;
	rule = registries_conf_find(&conf, registry, repository);
	if (rule && rule->blocked) {
		error_set(err, ERROR_USAGE, "%s%s%s: is blocked by %s (prefix \"%s\")", registry,
			  *repository ? "/" : "", repository, rule->file, rule->prefix);
		return NULL;
	}
	return client_repository_connect(registry, repository, access, rule && rule->place.insecure,
					 options, err);
}

void client_repository_close(struct client_repository *r)
{
	if (!r)
		return;
	auth_free(r->auth);
	certs_release(&r->certs);
	pthread_mutex_destroy(&r->lock);
	free(r->registry);
	free(r->name);
	free(r->url);
	free(r->scope);
	free(r->warning);
	free(r);
}

const char *client_repository_url(const struct client_repository *r)
{
	return r->url;
}

struct client *client_new(struct client_repository *r)
{
	struct client *c = xcalloc(1, sizeof(*c));

	c->repository = r;
	c->http = connect_http(r);
	return c;
}

void client_free(struct client *c)
{
	if (!c)
		return;
	http_client_free(c->http);
	free(c);
}

/* Blobs. */

char *client_say_blob(const char *verb, const struct digest *digest)
{
	char text[DIGEST_TEXT_MAX];

	return xasprintf("%s %.19s", verb, digest_text(digest, text));
}

int client_blob_look(struct client *c, const struct digest *digest, bool patiently,
		     struct http_response *r, struct error *err)
{
	char text[DIGEST_TEXT_MAX];
	cleanup_free char *what = client_say_blob("HEAD blob", digest);
	cleanup_free char *url = client_url(c, "blobs", digest_text(digest, text));
	struct http_request request = { .method = "HEAD", .url = url };
	int rc = patiently ? client_request_patiently(c, what, &request, r, err)
			   : client_request(c, what, &request, r, err);

	if (rc == 0 && r->status != 200 && r->status != 404)
		return client_refuse(c, what, r, err);
	return rc;
}

int client_blob_exists(struct client *c, const struct digest *digest, bool *out_exists,
		       uint64_t *out_size, struct error *err)
{
	cleanup_response struct http_response r = { 0 };
	uint64_t size;

	if (client_blob_look(c, digest, true, &r, err) < 0)
		return -1;
	*out_exists = r.status == 200;
	if (!slice_u64(http_header(&r, "content-length"), &size))
		size = UINT64_MAX;
	if (out_size)
		*out_size = size;
	return 0;
}

/* Passes on, hashing, and stops at the first byte too many. */
struct checked_sink {
	struct sink base;
	struct sink *inner;
	struct digest_state state;
	uint64_t seen, limit;
};

static int checked_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct checked_sink *s = (struct checked_sink *)base;

	if (len > s->limit - s->seen)
		return error_set(err, ERROR_INTEGRITY, "sends more than %" PRIu64 " bytes",
				 s->limit);
	s->seen += len;
	digest_update(&s->state, data, len);
	return sink_write(s->inner, data, len, err);
}

static const struct sink_ops checked_ops = { .write = checked_write };

static int check_blob(struct client *c, const char *what, const struct descriptor *desc,
		      struct checked_sink *s, struct error *err)
{
	struct digest got = digest_finish(&s->state);

	if (s->seen == desc->size && digest_equal(&got, &desc->digest))
		return 0;
	return error_set(err, ERROR_INTEGRITY,
			 "%s/%s: %s: %" PRIu64 " bytes came, of %" PRIu64 "; their digest is %s",
			 c->repository->registry, c->repository->name, what, s->seen, desc->size,
			 digest_equal(&got, &desc->digest) ? "right" : "wrong");
}

int client_blob_get(struct client *c, const struct descriptor *desc, struct sink *out,
		    struct error *err)
{
	char text[DIGEST_TEXT_MAX];
	cleanup_free char *what = client_say_blob("GET blob", &desc->digest);
	cleanup_free char *url = client_url(c, "blobs", digest_text(&desc->digest, text));
	struct checked_sink sink = { .base = { &checked_ops }, .inner = out, .limit = desc->size };
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "GET", .url = url, .out_body = &sink.base };
	int rc;

	digest_init(&sink.state, desc->digest.algorithm);
	rc = client_request(c, what, &request, &r, err);
	if (rc == 0 && r.status != 200)
		rc = client_refuse(c, what, &r, err);
	if (rc == 0)
		rc = check_blob(c, what, desc, &sink, err);
	digest_release(&sink.state);
	return rc;
}

/* Manifests. */

static int check_answered_digest(struct client *c, const char *what, const struct http_response *r,
				 const struct digest *want, struct error *err)
{
	struct slice header = http_header(r, "docker-content-digest");
	struct error ignored = { 0 };
	char text[DIGEST_TEXT_MAX];
	struct digest got;

	if (!header.data || digest_parse(header, &got, &ignored) < 0 ||
	    got.algorithm != want->algorithm || digest_equal(&got, want))
		return 0;
	return error_set(err, ERROR_INTEGRITY,
			 "%s/%s: %s: the registry says the digest is %.*s; it is %s",
			 c->repository->registry, c->repository->name, what,
			 (int)MIN(header.len, (size_t)80), header.data, digest_text(want, text));
}

/* The digest `name` is, or that of `text` when it is a tag. */
static struct digest expected_digest(const char *name, struct slice text)
{
	struct error ignored = { 0 };
	struct digest d;

	if (digest_parse(slice_str(name), &d, &ignored) < 0)
		return digest_of(text);
	return d;
}

int client_manifest_put(struct client *c, const char *name, const char *media_type,
			struct slice text, struct error *err)
{
	cleanup_free char *what = xasprintf("PUT manifest %.40s", name);
	cleanup_free char *url = client_url(c, "manifests", name);
	cleanup_free char *type = xasprintf("Content-Type: %s", media_type);
	const char *const headers[] = { type, NULL };
	struct digest want = expected_digest(name, text);
	unsigned tries = c->repository->options->tries;

	for (unsigned try = 1;; try++) {
		cleanup_stream struct stream *body = stream_memory(text);
		cleanup_response struct http_response r = { 0 };
		struct http_request request = { .method = "PUT",
						.url = url,
						.headers = headers,
						.body = body,
						.body_size = text.len,
						.expect_continue = true };
		struct error failed = { 0 };
		int rc = client_request(c, what, &request, &r, &failed);

		if (rc == 0 && (r.status == 201 || r.status == 200 || r.status == 204))
			return check_answered_digest(c, what, &r, &want, err);
		if (try >= (tries ? tries : TRIES_DEFAULT) ||
		    (!client_last_transient(c) && !(r.status == 401 && r.body_sent))) {
			if (rc == 0)
				return client_refuse(c, what, &r, err);
			*err = failed;
			return -1;
		}
		client_back_off(c, try);
	}
}

static int describe(struct client *c, const char *what, const char *name,
		    const struct http_response *r, struct arena *arena, struct descriptor *desc,
		    struct error *err)
{
	struct slice type = http_header(r, "content-type"), bare;
	struct digest got = digest_of(strbuf_slice(&r->body));
	struct error ignored = { 0 };
	struct digest want;

	*desc = (struct descriptor){ .digest = got, .size = r->body.len };
	if (digest_parse(slice_str(name), &want, &ignored) == 0) {
		struct digest_state state;

		digest_init(&state, want.algorithm);
		digest_update(&state, strbuf_text(&r->body), r->body.len);
		desc->digest = digest_finish(&state);
		digest_release(&state);
		if (!digest_equal(&desc->digest, &want))
			return error_set(err, ERROR_INTEGRITY,
					 "%s/%s: %s: what came has another digest",
					 c->repository->registry, c->repository->name, what);
	}
	if (!slice_cut(&type, ';', &bare))
		bare = slice_str("");
	desc->media_type = arena_slice(arena, slice_trim(bare));
	return 0;
}

int client_manifest_get(struct client *c, const char *name, struct arena *arena, struct strbuf *out,
			struct descriptor *desc, struct error *err)
{
	static const char *const headers[] = {
		"Accept: " MEDIATYPE_OCI_INDEX ", " MEDIATYPE_OCI_MANIFEST
		", " MEDIATYPE_DOCKER_INDEX ", " MEDIATYPE_DOCKER_MANIFEST
		", application/vnd.oci.artifact.manifest.v1+json, */*;q=0.1",
		NULL
	};
	cleanup_free char *what = xasprintf("GET manifest %.40s", name);
	cleanup_free char *url = client_url(c, "manifests", name);
	cleanup_response struct http_response r = { 0 };
	struct http_request request = {
		.method = "GET", .url = url, .headers = headers, .body_limit = MANIFEST_READ_MAX
	};

	if (client_request_patiently(c, what, &request, &r, err) < 0)
		return -1;
	if (r.status != 200)
		return client_refuse(c, what, &r, err);
	if (describe(c, what, name, &r, arena, desc, err) < 0)
		return -1;
	strbuf_add(out, r.body.data, r.body.len);
	return 0;
}
