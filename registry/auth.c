#include "registry/auth.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "formats/json.h"
#include "base/base64.h"

enum {
	TOKEN_BYTES_MAX = 128 * 1024,
	TOKEN_LIFE_DEFAULT_S = 60,
	TOKEN_TRIES = 4,
	TOKENS_MAX = 256,
};

enum auth_mode { AUTH_NONE, AUTH_BASIC, AUTH_BEARER };

struct cached_token {
	char *scopes; /* joined by spaces */
	char *value;
	uint64_t renew_at_ms;
};

struct auth {
	pthread_mutex_t lock; /* of all below; held while a token is fetched, so one thread asks */
	char *registry, *url;
	struct credential credential;
	const char *const *allow_realms;
	enum auth_mode mode;
	char *realm, *service;
	char *extra_scope; /* that a challenge asked for beyond ours */
	VEC(struct cached_token) tokens;
};

void auth_header_free(char **header)
{
	if (*header)
		explicit_bzero(*header, strlen(*header));
	free(*header);
	*header = NULL;
}

static void cached_token_release(struct cached_token *t)
{
	free(t->scopes);
	auth_header_free(&t->value);
}

struct auth *auth_new(const char *registry, const char *url, struct credential *credential,
		      const char *const *allow_realms)
{
	struct auth *a = xcalloc(1, sizeof(*a));

	pthread_mutex_init(&a->lock, NULL);
	a->registry = xstrdup(registry);
	a->url = xstrdup(url);
	a->credential = *credential;
	a->allow_realms = allow_realms;
	*credential = (struct credential){ 0 };
	return a;
}

void auth_free(struct auth *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->tokens.len; i++)
		cached_token_release(&a->tokens.items[i]);
	vec_release(&a->tokens);
	credential_release(&a->credential);
	free(a->registry);
	free(a->url);
	free(a->realm);
	free(a->service);
	free(a->extra_scope);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

const char *auth_origin(const struct auth *a)
{
	return a->credential.origin;
}

enum credential_kind auth_kind(const struct auth *a)
{
	return a->credential.kind;
}

const char *auth_service(const struct auth *a)
{
	return a->service;
}

const char *auth_username(const struct auth *a)
{
	return a->credential.username;
}

/* Hosts, and who may be told secrets. */

/* The host of an address or of "host:port", without brackets, in lower case. Heap. */
static char *host_of(const char *text)
{
	const char *at = strstr(text, "://");
	const char *end;
	char *out;

	at = at ? at + 3 : text;
	if (*at == '[') {
		at++;
		end = at + strcspn(at, "]/?#");
	} else {
		end = at + strcspn(at, ":/?#");
	}
	out = xstrndup(at, (size_t)(end - at));
	for (char *c = out; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return out;
}

bool auth_host_is_loopback(const char *text)
{
	cleanup_free char *host = host_of(text);
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &v6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&v6);
	return str_equal(host, "localhost") || str_ends(host, ".localhost");
}

static bool is_address(const char *host)
{
	uint8_t buf[16];

	return inet_pton(AF_INET, host, buf) == 1 || inet_pton(AF_INET6, host, buf) == 1;
}

/*
 * The part of a name that one owner holds: the last two labels, or three below a two-letter
 * country with a short second label ("co.uk"). Part of `host`.
 */
static const char *owned_domain(const char *host)
{
	const char *label[3] = { host, host, host }; /* last, second to last, third to last */
	size_t count = 1;

	for (const char *c = host; *c; c++) {
		if (*c != '.')
			continue;
		label[2] = label[1];
		label[1] = label[0];
		label[0] = c + 1;
		count++;
	}
	if (count < 3)
		return host;
	if (strlen(label[0]) == 2 && label[0] - label[1] <= 4)
		return label[2];
	return label[1];
}

static bool same_owner(const char *a, const char *b)
{
	if (str_equal(a, b))
		return true;
	if (is_address(a) || is_address(b) || !strchr(a, '.'))
		return false;
	return str_equal(owned_domain(a), owned_domain(b));
}

static bool realm_readable(const char *url, const char *realm)
{
	size_t authority = strncasecmp(realm, "https://", 8) == 0 ? 8 : 7;

	if (memchr(realm + authority, '@', strcspn(realm + authority, "/?#")))
		return false;
	if (authority == 8)
		return true;
	if (strncasecmp(url, "http://", 7) == 0) { /* of an insecure registry, its own will do */
		cleanup_free char *home = host_of(url);
		cleanup_free char *host = host_of(realm);

		if (str_equal(home, host))
			return true;
	}
	return auth_host_is_loopback(url) && auth_host_is_loopback(realm);
}

bool realm_trusted(const char *registry, const char *url, const char *realm,
		   const char *const *allow_realms)
{
	cleanup_free char *home = host_of(url);
	cleanup_free char *host = NULL;

	if (strncasecmp(realm, "https://", 8) && strncasecmp(realm, "http://", 7))
		return false;
	host = host_of(realm);
	if (!realm_readable(url, realm))
		return false;
	for (size_t i = 0; allow_realms && allow_realms[i]; i++)
		if (strcasecmp(allow_realms[i], host) == 0)
			return true;
	if (str_equal(registry, "nvcr.io"))
		return str_equal(host, "nvcr.io") || str_ends(host, ".nvidia.com");
	if (auth_host_is_loopback(url) && auth_host_is_loopback(realm))
		return true;
	return same_owner(home, host);
}

/* Without credentials any public name will do: nothing secret is sent. */
static bool realm_acceptable(const struct auth *a, const char *realm)
{
	cleanup_free char *host = NULL;

	if (realm_trusted(a->registry, a->url, realm, a->allow_realms))
		return true;
	if (a->credential.kind != CREDENTIAL_NONE || strncasecmp(realm, "https://", 8) ||
	    !realm_readable(a->url, realm))
		return false;
	host = host_of(realm);
	return !is_address(host) && !auth_host_is_loopback(host) && strchr(host, '.');
}

/* Challenges. */

static void replace(char **field, const char *value)
{
	free(*field);
	*field = value ? xstrdup(value) : NULL;
}

static void drop_token(struct auth *a, const char *sent)
{
	if (!sent || !str_starts(sent, "Bearer "))
		return;
	for (size_t i = 0; i < a->tokens.len; i++) {
		if (!str_equal(a->tokens.items[i].value, sent + strlen("Bearer ")))
			continue;
		cached_token_release(&a->tokens.items[i]);
		a->tokens.items[i--] = a->tokens.items[--a->tokens.len];
	}
}

static int take_bearer(struct auth *a, const struct challenge *c, struct error *err)
{
	const char *realm = challenge_param(c, "realm");
	const char *wrong = challenge_param(c, "error");
	cleanup_free char *shown = http_url_display(realm ? realm : "");

	if (!realm)
		return error_set(err, ERROR_NETWORK,
				 "%s: its authentication challenge names no token server",
				 a->registry);
	if (!realm_acceptable(a, realm))
		return error_set(err, ERROR_NETWORK,
				 "%s: its token server %s is not of the registry's domain over "
				 "https, and gets no credentials; if it is right, allow it "
				 "with --allow-realm",
				 a->registry, shown);
	a->mode = AUTH_BEARER;
	replace(&a->realm, realm);
	if (challenge_param(c, "service"))
		replace(&a->service, challenge_param(c, "service"));
	if (wrong && str_equal(wrong, "insufficient_scope"))
		replace(&a->extra_scope, challenge_param(c, "scope"));
	return 1;
}

static int answer_challenges(struct auth *a, const struct challenges *all, const char *sent,
			     struct error *err)
{
	const struct challenge *bearer = challenge_find(all, "bearer");

	if (a->credential.kind == CREDENTIAL_REGISTRY_TOKEN)
		return sent ? 0 : 1;
	drop_token(a, sent);
	if (bearer)
		return take_bearer(a, bearer, err);
	if (a->mode == AUTH_BEARER)
		return 1; /* Harbor asks for Basic once it saw a token: keep to its first word */
	if (challenge_find(all, "basic")) {
		a->mode = AUTH_BASIC;
		return a->credential.kind == CREDENTIAL_PASSWORD && !sent;
	}
	if (!all->len)
		return 0;
	return error_set(err, ERROR_NETWORK,
			 "%s wants authentication by \"%s\"; only Basic and Bearer are known",
			 a->registry, all->items[0].scheme);
}

int auth_challenged(struct auth *a, const struct http_response *answer, const char *sent,
		    struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_challenges struct challenges all = { 0 };
	struct slice header;
	int rc;

	for (size_t n = 0; (header = http_header_nth(answer, "www-authenticate", n)).data; n++)
		if (challenge_parse(header, &arena, &all, err) < 0)
			return error_wrap(err, "%s", a->registry);
	pthread_mutex_lock(&a->lock);
	rc = answer_challenges(a, &all, sent, err);
	pthread_mutex_unlock(&a->lock);
	return rc;
}

/* Tokens. */

void token_release(struct token *t)
{
	auth_header_free(&t->value);
}

/* exp - iat of a JWT, or 0. Nothing is verified: the token is the registry's to judge. */
static uint64_t jwt_life(const char *token)
{
	cleanup_strbuf struct strbuf body = { 0 };
	cleanup_json json_t *claims = NULL;
	struct slice rest = slice_str(token), part;
	struct error ignored = { 0 };
	uint64_t from, until;

	if (!slice_cut(&rest, '.', &part) || !slice_cut(&rest, '.', &part) ||
	    !base64_decode(part, &body) || json_parse(strbuf_slice(&body), &claims, &ignored) < 0)
		return 0;
	if (json_get_u64(claims, "", "iat", &from, &ignored) < 0 ||
	    json_get_u64(claims, "", "exp", &until, &ignored) < 0 || until <= from)
		return 0;
	return until - from;
}

static bool fits_header(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if ((uint8_t)*s <= 0x20 || (uint8_t)*s >= 0x7f)
			return false;
	return true;
}

int token_parse(struct slice text, struct token *out, struct error *err)
{
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };
	const char *token, *access;

	if (text.len > TOKEN_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "the token answer is larger than 128 KiB");
	if (json_parse(text, &root, &ignored) < 0 || !json_is_object(root))
		return error_set(err, ERROR_FORMAT, "the token answer is no JSON object");
	if (json_get_str_opt(root, "", "token", &token, err) < 0 ||
	    json_get_str_opt(root, "", "access_token", &access, err) < 0)
		return error_wrap(err, "token answer");
	if (!token || !*token)
		token = access;
	if (!token || !fits_header(token))
		return error_set(err, ERROR_FORMAT, "the token answer holds no token");
	if (json_get_u64(root, "", "expires_in", &out->life_s, &ignored) < 0)
		out->life_s = jwt_life(token);
	if (!out->life_s)
		out->life_s = TOKEN_LIFE_DEFAULT_S;
	out->life_s = MIN(out->life_s, (uint64_t)86400 * 30);
	out->value = xstrdup(token);
	return 0;
}

static void add_query(struct strbuf *url, const char *name, const char *value)
{
	strbuf_addc(url, strchr(url->data, '?') ? '&' : '?');
	strbuf_addf(url, "%s=", name);
	http_encode(url, value);
}

char *token_url(const char *realm, const char *service, const char *const *scopes)
{
	struct strbuf url = { 0 };

	strbuf_add(&url, realm, strcspn(realm, "#"));
	strbuf_adds(&url, "");
	if (service)
		add_query(&url, "service", service);
	for (size_t i = 0; scopes[i]; i++)
		add_query(&url, "scope", scopes[i]);
	return strbuf_steal(&url);
}

/* The registry's own words in an answer of the token server, if it has any. */
static void explain(const struct http_response *r, struct strbuf *out)
{
	static const char *const keys[] = { "details", "message", "error_description", "error" };
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };
	const json_t *object;

	if (json_parse(strbuf_slice(&r->body), &root, &ignored) < 0)
		return;
	object = json_array_get(json_object_get(root, "errors"), 0);
	object = object ? object : root;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *text = json_string_value(json_object_get(object, keys[i]));

		if (text && *text) {
			strbuf_adds(out, " ");
			strbuf_add_quoted(out, slice_str(text), 100);
			return;
		}
	}
}

static const char *token_advice(const struct auth *a, int status)
{
	bool ngc = str_equal(a->registry, "nvcr.io");

	if (status == 402 && ngc)
		return "; the organisation's entitlement or the image's licence is missing";
	if (status != 401 && status != 403 && status != 400)
		return "";
	if (a->credential.kind == CREDENTIAL_NONE)
		return ngc ? "; no credentials were found: set NGC_API_KEY, or log in with the "
			     "user name $oauthtoken and an NGC API key"
			   : "; no credentials were found: log in to the registry first";
	if (ngc && a->credential.username && !str_equal(a->credential.username, "$oauthtoken"))
		return "; NGC wants the literal user name $oauthtoken";
	if (ngc && status == 403)
		return "; the key lacks the service or entitlement, or the organisation's name "
		       "is wrong";
	if (ngc)
		return "; the key has expired, was revoked, or is of the wrong kind";
	return "; check the user name and the password or token, and what they may do";
}

static int token_refused(const struct auth *a, const char *url, const struct http_response *r,
			 struct error *err)
{
	cleanup_free char *shown = http_url_display(url);
	cleanup_strbuf struct strbuf detail = { 0 };

	explain(r, &detail);
	return error_set(err, ERROR_NETWORK, "%s: the token server %s answers %d%s%s%s%s",
			 a->registry, shown, r->status, strbuf_text(&detail),
			 token_advice(a, r->status), auth_origin(a) ? "; credentials of " : "",
			 auth_origin(a) ? auth_origin(a) : "");
}

/* One exchange with the token server; 429 and 5xx are tried again. */
static int ask_token_server(struct auth *a, struct http_client *http, struct http_request *request,
			    struct slice form, struct http_response *r, struct error *err)
{
	for (unsigned try = 1;; try++) {
		cleanup_stream struct stream *body = form.len ? stream_memory(form) : NULL;
		struct error failed = { 0 };
		uint64_t wait_ms = UINT64_C(500) << try;
		bool again;

		request->body = body;
		request->body_size = form.len;
		if (http_perform(http, request, r, &failed) < 0)
			again = r->failure == HTTP_FAILURE_CONNECT ||
				r->failure == HTTP_FAILURE_TRANSFER;
		else if (r->status == 200)
			return 0;
		else
			again = http_status_transient(r->status);
		if (!again || try == TOKEN_TRIES) {
			if (!failed.code)
				return token_refused(a, request->url, r, err);
			*err = failed;
			return error_wrap(err, "%s: token server", a->registry);
		}
		if (!failed.code && http_retry_after_ms(r))
			wait_ms = MIN(http_retry_after_ms(r), UINT64_C(60000));
		http_sleep_ms(wait_ms);
	}
}

/* A refresh token goes into a form, so that it stands in no address. */
static void refresh_form(const struct auth *a, const char *const *scopes, struct strbuf *form)
{
	strbuf_adds(form, "grant_type=refresh_token&client_id=gpuimg&service=");
	http_encode(form, a->service ? a->service : a->registry);
	strbuf_adds(form, "&scope=");
	for (size_t i = 0; scopes[i]; i++) {
		if (i)
			strbuf_adds(form, "%20");
		http_encode(form, scopes[i]);
	}
	strbuf_adds(form, "&refresh_token=");
	http_encode(form, a->credential.secret);
}

static int ask_by_form(struct auth *a, struct http_client *http, const char *const *scopes,
		       struct http_response *r, struct error *err)
{
	static const char *const headers[] = { "Content-Type: application/x-www-form-urlencoded",
					       NULL };
	cleanup(strbuf_wipe) struct strbuf form = { 0 };
	struct http_request request = {
		.method = "POST", .url = a->realm, .headers = headers, .body_limit = TOKEN_BYTES_MAX
	};

	refresh_form(a, scopes, &form);
	return ask_token_server(a, http, &request, strbuf_slice(&form), r, err);
}

static int ask_by_address(struct auth *a, struct http_client *http, const char *const *scopes,
			  struct http_response *r, struct error *err)
{
	cleanup_free char *url = token_url(a->realm, a->service, scopes);
	bool secret = a->credential.kind == CREDENTIAL_PASSWORD ||
		      a->credential.kind == CREDENTIAL_IDENTITY_TOKEN;
	cleanup_auth_header char *basic = secret ? credential_basic(&a->credential) : NULL;
	struct http_request request = {
		.method = "GET", .url = url, .authorization = basic, .body_limit = TOKEN_BYTES_MAX
	};

	return ask_token_server(a, http, &request, (struct slice){ 0 }, r, err);
}

/* Token servers that have no form say one of these; they take the refresh token as a password. */
static bool knows_no_form(const struct http_response *r)
{
	return r->status == 400 || r->status == 401 || r->status == 404 || r->status == 405;
}

static int fetch_token(struct auth *a, struct http_client *http, const char *const *scopes,
		       struct token *out, struct error *err)
{
	cleanup_response struct http_response r = { 0 };
	bool form = a->credential.kind == CREDENTIAL_IDENTITY_TOKEN;
	int rc = form ? ask_by_form(a, http, scopes, &r, err) : -1;

	if (rc < 0 && (!form || knows_no_form(&r))) {
		*err = (struct error){ 0 };
		rc = ask_by_address(a, http, scopes, &r, err);
	}
	if (rc < 0)
		return -1;
	rc = token_parse(strbuf_slice(&r.body), out, err);
	if (r.body.data)
		explicit_bzero(r.body.data, r.body.len);
	return rc < 0 ? error_wrap(err, "%s", a->registry) : 0;
}

static struct cached_token *cached(struct auth *a, const char *key)
{
	for (size_t i = 0; i < a->tokens.len; i++)
		if (str_equal(a->tokens.items[i].scopes, key))
			return &a->tokens.items[i];
	if (a->tokens.len == TOKENS_MAX) {
		cached_token_release(&a->tokens.items[0]);
		a->tokens.items[0] = a->tokens.items[--a->tokens.len];
	}
	return NULL;
}

/* Renewed before its end: at a fifth of its life, at most a minute. */
static uint64_t renewal(uint64_t life_s)
{
	uint64_t margin_ms = MIN(life_s * 1000 / 5, UINT64_C(60000));

	return clock_ms(CLOCK_BOOTTIME) + life_s * 1000 - margin_ms;
}

static int bearer(struct auth *a, struct http_client *http, const char *const *scopes, char **out,
		  struct error *err)
{
	cleanup_strbuf struct strbuf key = { 0 };
	VEC(const char *) all = { 0 };
	struct token fresh = { 0 };
	struct cached_token *have;
	int rc = 0;

	for (size_t i = 0; scopes[i]; i++)
		vec_push(&all, scopes[i]);
	if (a->extra_scope)
		vec_push(&all, a->extra_scope);
	for (size_t i = 0; i < all.len; i++)
		strbuf_addf(&key, "%s ", all.items[i]);
	vec_push(&all, NULL);
	have = cached(a, strbuf_text(&key));
	if (!have || have->renew_at_ms <= clock_ms(CLOCK_BOOTTIME)) {
		rc = fetch_token(a, http, all.items, &fresh, err);
		if (rc == 0 && !have) {
			have = vec_add(&a->tokens);
			have->scopes = xstrdup(strbuf_text(&key));
		}
		if (rc == 0) {
			auth_header_free(&have->value);
			have->value = steal_ptr(&fresh.value);
			have->renew_at_ms = renewal(fresh.life_s);
		}
	}
	if (rc == 0)
		*out = xasprintf("Bearer %s", have->value);
	token_release(&fresh);
	vec_release(&all);
	return rc;
}

int auth_header(struct auth *a, struct http_client *http, const char *const *scopes, char **out,
		struct error *err)
{
	int rc = 0;

	*out = NULL;
	pthread_mutex_lock(&a->lock);
	if (a->credential.kind == CREDENTIAL_REGISTRY_TOKEN)
		*out = xasprintf("Bearer %s", a->credential.secret);
	else if (a->mode == AUTH_BASIC && a->credential.kind == CREDENTIAL_PASSWORD)
		*out = credential_basic(&a->credential);
	else if (a->mode == AUTH_BEARER)
		rc = bearer(a, http, scopes, out, err);
	pthread_mutex_unlock(&a->lock);
	return rc;
}
