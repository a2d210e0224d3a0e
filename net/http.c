#include "net/http.h"

#include <strings.h>
#include <sys/socket.h>
#include <time.h>

#include <curl/curl.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "net/address.h"

enum {
	HOPS_MAX = 10,
	HEADER_BYTES_MAX = 256 * 1024,
	RETRY_AFTER_MAX_S = 60,
	CA_BYTES_MAX = 16 * 1024 * 1024,
};

struct http_client {
	CURL *curl;
	char *user_agent, *client_cert, *client_key, *ca_path;
	char *proxy;             /* NULL: the environment's; "": none */
	struct strbuf ca_bundle; /* system and extra; empty: ca_path or curl's own */
	uint64_t connect_timeout_ms, stall_timeout_ms;
	bool unverified;
	bool outside;       /* the last host of our own that was reached */
	struct error setup; /* told at the first exchange */
};

/* One exchange on the wire, the callbacks' state. */
struct exchange {
	CURL *curl;
	const struct http_request *request;
	struct http_response *out;
	struct error *err;
	uint64_t body_limit;
	uint64_t stall_ms, moved_ms; /* patience for the answer's head; when it began to count */
	bool headed;                 /* the head has come */
	bool local_failure;          /* *err is set by us */
	bool barred;                 /* an address inside was not connected to */
};

/* Text of URLs. */

char *http_url_display(const char *url)
{
	const char *host = strstr(url, "://");
	struct strbuf b = { 0 };
	size_t authority, at;

	host = host ? host + 3 : url;
	strbuf_add(&b, url, (size_t)(host - url));
	authority = strcspn(host, "/?#");
	at = authority;
	while (at && host[at - 1] != '@')
		at--;
	host += at;
	for (size_t n = strcspn(host, "?#"), i = 0; i < n; i++)
		strbuf_addc(&b, (uint8_t)host[i] > 0x20 && host[i] != 0x7f ? host[i] : '?');
	strbuf_adds(&b, "");
	return b.data ? strbuf_steal(&b) : xstrdup("");
}

void http_encode(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') || strchr("-._~", *text))
			strbuf_addc(out, *text);
		else
			strbuf_addf(out, "%%%02X", (uint8_t)*text);
	}
}

static void curlu_free_p(CURLU **u)
{
	curl_url_cleanup(*u);
}

static void curl_text_free_p(char **s)
{
	curl_free(*s);
}

static CURLU *url_parse(const char *url)
{
	CURLU *u = curl_url();

	if (!u)
		out_of_memory();
	if (curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS)) {
		curl_url_cleanup(u);
		return NULL;
	}
	return u;
}

/* "scheme://host:port" in lower case, or NULL. Heap. */
static char *url_origin(const char *url)
{
	cleanup(curlu_free_p) CURLU *u = url_parse(url);
	cleanup(curl_text_free_p) char *scheme = NULL;
	cleanup(curl_text_free_p) char *host = NULL;
	cleanup(curl_text_free_p) char *port = NULL;
	char *out;

	if (!u || curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) ||
	    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT))
		return NULL;
	out = xasprintf("%s://%s:%s", scheme, host, port);
	for (char *p = out; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return out;
}

bool http_same_origin(const char *a, const char *b)
{
	cleanup_free char *x = url_origin(a);
	cleanup_free char *y = url_origin(b);

	return x && y && str_equal(x, y);
}

/* `location` without fragment, bytes that no URL may hold percent-encoded. Heap. */
static char *location_clean(const char *location)
{
	struct strbuf b = { 0 };

	for (; *location && *location != '#'; location++) {
		uint8_t c = (uint8_t)*location;

		if (c <= 0x20 || c >= 0x7f)
			strbuf_addf(&b, "%%%02X", c);
		else
			strbuf_addc(&b, (char)c);
	}
	return b.data ? strbuf_steal(&b) : xstrdup("");
}

static bool has_scheme(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return n && s[n] == ':';
}

/* RFC 3986, 5.2, for what is neither absolute nor an absolute path. */
static char *resolve_relative(const char *base, const char *location)
{
	cleanup(curlu_free_p) CURLU *u = url_parse(base);
	cleanup(curl_text_free_p) char *text = NULL;

	if (!u || curl_url_set(u, CURLUPART_QUERY, NULL, 0) ||
	    curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) ||
	    curl_url_set(u, CURLUPART_URL, location, CURLU_NON_SUPPORT_SCHEME) ||
	    curl_url_get(u, CURLUPART_URL, &text, 0))
		return NULL;
	return xstrdup(text);
}

char *http_resolve(const char *base, const char *location)
{
	cleanup_free char *clean = location_clean(location);
	const char *host = strstr(base, "://");
	cleanup_free char *out = NULL;
	cleanup_free char *origin = NULL;

	if (!host || !*clean)
		return NULL;
	if (has_scheme(clean))
		out = xstrdup(clean);
	else if (str_starts(clean, "//"))
		out = xasprintf("%.*s%s", (int)(host + 1 - base), base, clean);
	else if (*clean == '/')
		out = xasprintf("%.*s%s", (int)(host + 3 - base + strcspn(host + 3, "/?#")), base,
				clean);
	else
		out = resolve_relative(base, clean);
	if (!out || (strncasecmp(out, "http://", 7) && strncasecmp(out, "https://", 8)))
		return NULL;
	if (strstr(out, "://")[3] == '/')
		return NULL; /* curl would take the path for a host */
	origin = url_origin(out);
	return origin ? steal_ptr(&out) : NULL;
}

/* Responses. */

void http_response_release(struct http_response *r)
{
	strbuf_release(&r->body);
	strbuf_release(&r->headers);
	free(r->url);
	r->url = NULL;
}

struct slice http_header_nth(const struct http_response *r, const char *name, size_t n)
{
	struct slice rest = strbuf_slice(&r->headers), line;
	size_t len = strlen(name);

	while (slice_cut(&rest, '\n', &line)) {
		if (line.len <= len || line.data[len] != ':' || !slice_starts(line, name))
			continue;
		if (n-- == 0)
			return slice_trim(slice_of(line.data + len + 1, line.len - len - 1));
	}
	return (struct slice){ 0 };
}

struct slice http_header(const struct http_response *r, const char *name)
{
	return http_header_nth(r, name, 0);
}

/* Clients. */

static char *copy_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* The file with the system's CA certificates, or NULL when curl's build knows better. */
static const char *system_ca(CURL *curl)
{
	const char *path = getenv("SSL_CERT_FILE");
	char *built = NULL;

	if (path && *path)
		return path;
	curl_easy_getinfo(curl, CURLINFO_CAINFO, &built);
	return built;
}

/* The system's certificates and those of `extra` as one bundle. */
static int load_ca(struct http_client *c, const char *extra, struct slice pem, struct error *err)
{
	const char *system = system_ca(c->curl);

	if (!extra && !pem.len) {
		c->ca_path = copy_or_null(system);
		return 0;
	}
	if (system && fs_exists(AT_FDCWD, system) &&
	    fs_read(AT_FDCWD, system, CA_BYTES_MAX, &c->ca_bundle, err) < 0)
		return error_wrap(err, "CA certificates");
	strbuf_addc(&c->ca_bundle, '\n');
	strbuf_add(&c->ca_bundle, pem.data, pem.len);
	if (extra && fs_read(AT_FDCWD, extra, CA_BYTES_MAX, &c->ca_bundle, err) < 0)
		return error_wrap(err, "CA certificates");
	return 0;
}

static void *resize(void *old, size_t bytes)
{
	return xreallocarray(old, 1, bytes);
}

struct http_client *http_client_new(const struct http_options *options)
{
	static const struct http_options none = { 0 };
	const struct http_options *o = options ? options : &none;
	struct http_client *c = xcalloc(1, sizeof(*c));

	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, xmalloc, free, resize, xstrdup, xcalloc) ||
	    !(c->curl = curl_easy_init()))
		abort(); /* the library is not usable at all */
	c->user_agent = xstrdup(o->user_agent ? o->user_agent : "gpuimg/1");
	c->client_cert = copy_or_null(o->client_cert);
	c->client_key = copy_or_null(o->client_key);
	c->unverified = o->unverified;
	c->connect_timeout_ms = o->connect_timeout_ms ? o->connect_timeout_ms : 30000;
	c->stall_timeout_ms = o->stall_timeout_ms ? o->stall_timeout_ms : 60000;
	ignore_result(load_ca(c, o->ca_file, o->ca_pem, &c->setup)); /* each exchange reports it */
	return c;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	strbuf_release(&c->ca_bundle);
	free(c->ca_path);
	free(c->proxy);
	free(c->user_agent);
	free(c->client_cert);
	free(c->client_key);
	free(c);
}

/* Callbacks. */

static size_t on_header(char *data, size_t size, size_t count, void *user)
{
	struct exchange *x = user;
	struct slice line = slice_of(data, size * count);
	struct strbuf *h = &x->out->headers;
	struct slice value = slice_trim(line), name = { 0 };
	bool colon = memchr(line.data, ':', line.len);

	if (slice_starts(line, "HTTP/")) {
		strbuf_truncate(h, 0); /* of an interim answer or a proxy's */
		x->headed = false;
		return line.len;
	}
	if (!value.len) {
		x->headed = true;
		x->moved_ms = clock_ms(CLOCK_BOOTTIME);
	}
	if (!colon || h->len + line.len > HEADER_BYTES_MAX || memchr(line.data, 0, line.len))
		return line.len;
	slice_cut(&value, ':', &name);
	for (size_t i = 0; i < name.len; i++) {
		char c = (char)name.data[i];

		strbuf_addc(h, c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c);
	}
	value = slice_trim(value);
	strbuf_adds(h, ": ");
	strbuf_add(h, value.data, value.len);
	strbuf_addc(h, '\n');
	return line.len;
}

static int take_body(struct exchange *x, struct slice data, int status)
{
	bool good = status >= 200 && status < 300;
	struct strbuf *body = &x->out->body;
	size_t room = (size_t)x->body_limit - MIN((size_t)x->body_limit, body->len);

	if (good && x->request->out_body)
		return sink_write(x->request->out_body, data.data, data.len, x->err);
	if (good && data.len > room)
		return error_set(x->err, ERROR_LIMIT, "the answer has more than %" PRIu64 " bytes",
				 x->body_limit);
	strbuf_add(body, data.data, MIN(data.len, room)); /* of a refusal the head will do */
	return 0;
}

static size_t on_body(char *data, size_t size, size_t count, void *user)
{
	struct exchange *x = user;
	long status = 0;

	if (x->local_failure)
		return 0;
	curl_easy_getinfo(x->curl, CURLINFO_RESPONSE_CODE, &status);
	if (take_body(x, slice_of(data, size * count), (int)status) < 0) {
		x->local_failure = true;
		return 0;
	}
	return size * count;
}

/* The body may not be longer than was announced; its stream may only know at its end. */
static int check_body_end(struct exchange *x)
{
	char more;
	ssize_t n = stream_read(x->request->body, &more, 1, x->err);

	if (n > 0)
		return error_set(x->err, ERROR_INTEGRITY,
				 "the request body is longer than %" PRIu64 " bytes",
				 x->request->body_size);
	return n < 0 ? -1 : 0;
}

static size_t on_read(char *buf, size_t size, size_t count, void *user)
{
	struct exchange *x = user;
	uint64_t left = x->request->body_size - x->out->body_sent;
	size_t want = (size_t)MIN((uint64_t)(size * count), left);
	size_t got = 0;

	while (got < want) {
		ssize_t n = stream_read(x->request->body, buf + got, want - got, x->err);

		if (n == 0)
			error_set(x->err, ERROR_INTEGRITY,
				  "the request body ends after %" PRIu64 " of %" PRIu64 " bytes",
				  x->out->body_sent + got, x->request->body_size);
		if (n <= 0)
			goto abort_transfer;
		got += (size_t)n;
	}
	if (want && want == left && check_body_end(x) < 0)
		goto abort_transfer;
	x->out->body_sent += want;
	x->moved_ms = clock_ms(CLOCK_BOOTTIME);
	x->headed = false;
	return want;
abort_transfer:
	x->local_failure = true;
	return CURL_READFUNC_ABORT;
}

/* A body that was begun cannot be rewound: the caller starts over with a new stream. */
static int on_seek(void *user, curl_off_t offset, int origin)
{
	struct exchange *x = user;

	if (origin == SEEK_SET && offset == 0 && x->out->body_sent == 0)
		return CURL_SEEKFUNC_OK;
	return CURL_SEEKFUNC_FAIL;
}

/* A head that comes byte by byte is never slow enough for curl's own limit. */
static int on_progress(void *user, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
		       curl_off_t up)
{
	const struct exchange *x = user;

	(void)down_total, (void)down, (void)up_total, (void)up;
	return !x->headed && clock_ms(CLOCK_BOOTTIME) - x->moved_ms > x->stall_ms;
}

/* Sockets of hosts that somebody outside has named. */
static curl_socket_t open_outside(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct exchange *x = user;

	(void)purpose;
	if (!address_is_internal(&address->addr))
		return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	x->barred = true;
	return CURL_SOCKET_BAD;
}

/* One exchange. */

static void slist_free_p(struct curl_slist **l)
{
	curl_slist_free_all(*l);
}

static void slist_add(struct curl_slist **list, const char *text)
{
	struct curl_slist *grown = curl_slist_append(*list, text);

	if (!grown)
		out_of_memory();
	*list = grown;
}

static bool is_credential(const char *header)
{
	static const char *const names[] = { "authorization:", "cookie:", "proxy-authorization:" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncasecmp(header, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static struct curl_slist *make_headers(const struct http_request *r, bool home, bool expect)
{
	struct curl_slist *list = NULL;

	for (size_t i = 0; r->headers && r->headers[i]; i++)
		if (home || !is_credential(r->headers[i]))
			slist_add(&list, r->headers[i]);
	if (home && r->authorization) {
		cleanup_free char *line = xasprintf("Authorization: %s", r->authorization);

		slist_add(&list, line);
		explicit_bzero(line, strlen(line));
	}
	slist_add(&list, expect ? "Expect: 100-continue" : "Expect:");
	return list;
}

static void set_method(CURL *curl, const struct exchange *x, const char *method)
{
	bool read_only = str_equal(method, "GET") || str_equal(method, "HEAD");

	if (read_only) {
		curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
		curl_easy_setopt(curl, CURLOPT_NOBODY, str_equal(method, "HEAD") ? 1L : 0L);
		return;
	}
	if (x->request->body || !str_equal(method, "DELETE")) {
		curl_off_t size = x->request->body ? (curl_off_t)x->request->body_size : 0;

		curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
		curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, size);
		curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, 1024L * 1024);
	}
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

static void set_tls(const struct http_client *c, bool home)
{
	CURL *curl = c->curl;

	if (c->ca_bundle.len) {
		struct curl_blob blob = { .data = c->ca_bundle.data, .len = c->ca_bundle.len };

		curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &blob);
	} else if (c->ca_path) {
		curl_easy_setopt(curl, CURLOPT_CAINFO, c->ca_path);
	}
	if (home && c->unverified) {
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	if (home && c->client_cert)
		curl_easy_setopt(curl, CURLOPT_SSLCERT, c->client_cert);
	if (home && c->client_key)
		curl_easy_setopt(curl, CURLOPT_SSLKEY, c->client_key);
}

static void set_limits(const struct http_client *c, struct exchange *x)
{
	uint64_t said_ms = x->request->stall_timeout_ms;
	uint64_t stall_ms = said_ms ? said_ms : c->stall_timeout_ms;

	x->stall_ms = stall_ms + c->connect_timeout_ms;
	x->moved_ms = clock_ms(CLOCK_BOOTTIME);
	x->headed = false;
	curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_timeout_ms);
	curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(c->curl, CURLOPT_LOW_SPEED_TIME, (long)((stall_ms + 999) / 1000));
	curl_easy_setopt(c->curl, CURLOPT_BUFFERSIZE, 512L * 1024);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(c->curl, CURLOPT_TCP_KEEPIDLE, 30L);
	curl_easy_setopt(c->curl, CURLOPT_TCP_KEEPINTVL, 15L);
}

static void set_callbacks(CURL *curl, struct exchange *x)
{
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, x);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, x);
	curl_easy_setopt(curl, CURLOPT_READFUNCTION, on_read);
	curl_easy_setopt(curl, CURLOPT_READDATA, x);
	curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
	curl_easy_setopt(curl, CURLOPT_SEEKDATA, x);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, x);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
}

static enum http_failure classify(CURLcode rc)
{
	switch (rc) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return HTTP_FAILURE_RESOLVE;
	case CURLE_COULDNT_CONNECT:
		return HTTP_FAILURE_CONNECT;
	case CURLE_SSL_CONNECT_ERROR:
		return HTTP_FAILURE_HANDSHAKE;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
		return HTTP_FAILURE_CERTIFICATE;
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_OUT_OF_MEMORY:
		return HTTP_FAILURE_LOCAL;
	default:
		return HTTP_FAILURE_TRANSFER;
	}
}

static int report_failure(struct exchange *x, const char *url, const char *method, CURLcode rc,
			  const char *detail)
{
	cleanup_free char *shown = http_url_display(url);
	double connected = 0;

	if (x->local_failure) {
		x->out->failure = HTTP_FAILURE_LOCAL;
		return error_wrap(x->err, "%s %s", method, shown);
	}
	if (x->barred) {
		x->out->failure = HTTP_FAILURE_REDIRECT;
		return error_set(x->err, ERROR_NETWORK,
				 "%s %s: a server outside names an address inside this network; "
				 "not connected to",
				 method, shown);
	}
	x->out->failure = classify(rc);
	curl_easy_getinfo(x->curl, CURLINFO_CONNECT_TIME, &connected);
	if (rc == CURLE_OPERATION_TIMEDOUT && connected <= 0)
		x->out->failure = HTTP_FAILURE_CONNECT;
	if (rc == CURLE_ABORTED_BY_CALLBACK)
		detail = "the answer did not come in time";
	if (!*detail)
		detail = curl_easy_strerror(rc);
	if (x->out->failure == HTTP_FAILURE_CERTIFICATE)
		return error_set(x->err, ERROR_NETWORK,
				 "%s %s: the server's certificate is not trusted (%s); if it is to "
				 "be, add its CA to the system's or name it in SSL_CERT_FILE",
				 method, shown, detail);
	return error_set(x->err, ERROR_NETWORK, "%s %s: %s%s", method, shown,
			 str_starts(detail, "CONNECT tunnel") ? "by way of the proxy: " : "",
			 detail);
}

void http_client_proxy(struct http_client *c, const char *proxy)
{
	free(c->proxy);
	c->proxy = proxy ? xstrdup(proxy) : NULL;
}

static int exchange_once(struct http_client *c, struct exchange *x, const char *method,
			 const char *url, bool home, bool expect)
{
	cleanup(slist_free_p) struct curl_slist *headers = make_headers(x->request, home, expect);
	char detail[CURL_ERROR_SIZE] = "";
	CURL *curl = c->curl;
	char *reached = NULL;
	long status = 0;
	CURLcode rc;

	x->curl = curl;
	strbuf_truncate(&x->out->headers, 0);
	strbuf_truncate(&x->out->body, 0);
	curl_easy_reset(curl); /* connections stay */
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, c->user_agent);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1000L);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
	set_method(curl, x, method);
	if (c->proxy)
		curl_easy_setopt(curl, CURLOPT_PROXY, c->proxy);
	curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, x->request->own_connection ? 1L : 0L);
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, x->request->own_connection ? 1L : 0L);
	set_tls(c, home);
	set_limits(c, x);
	set_callbacks(curl, x);
	x->barred = false;
	if (!home && c->outside) {
		curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_outside);
		curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, x);
	}
	rc = curl_easy_perform(curl);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, NULL);
	if (rc || x->local_failure)
		return report_failure(x, url, method, rc, detail);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	x->out->status = (int)status;
	if (home && curl_easy_getinfo(curl, CURLINFO_PRIMARY_IP, &reached) == CURLE_OK && reached)
		c->outside = *reached && !address_text_is_internal(reached);
	return 0;
}

/* Redirects. */

static bool is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static int refuse_redirect(struct exchange *x, const char *url, const char *why)
{
	cleanup_free char *shown = http_url_display(url);

	x->out->failure = HTTP_FAILURE_REDIRECT;
	return error_set(x->err, ERROR_NETWORK, "%s %s: %s", x->request->method, shown, why);
}

/* The next address in *url (replaced), or -1. */
static int follow(struct exchange *x, char **url)
{
	struct slice location = http_header(x->out, "location");
	cleanup_free char *text = xstrndup((const char *)location.data, location.len);
	cleanup_free char *next = http_resolve(*url, text);

	if (!next)
		return refuse_redirect(x, *url, "redirected to something that is no http address");
	if (strncasecmp(*url, "https://", 8) == 0 && strncasecmp(next, "https://", 8) != 0)
		return refuse_redirect(x, *url,
				       "redirected from https to plain http; not followed");
	if (x->out->body_sent)
		return refuse_redirect(x, *url, "redirected after the body had been sent");
	free(*url);
	*url = steal_ptr(&next);
	return 0;
}

static const char *redirected_method(const char *method, int status)
{
	if (status == 303 && !str_equal(method, "HEAD"))
		return "GET";
	return method;
}

int http_perform(struct http_client *c, const struct http_request *request,
		 struct http_response *out, struct error *err)
{
	struct exchange x = { .request = request, .out = out, .err = err };
	cleanup_free char *url = xstrdup(request->url);
	const char *method = request->method;
	bool expect = request->expect_continue && request->body;

	x.body_limit = request->body_limit ? request->body_limit : 4 * MIB;
	out->status = 0;
	out->failure = HTTP_FAILURE_NONE;
	out->body_sent = 0;
	if (c->setup.code) {
		*err = c->setup;
		out->failure = HTTP_FAILURE_LOCAL;
		return -1;
	}
	for (unsigned hop = 0; hop <= HOPS_MAX; hop++) {
		bool home = !request->foreign && (hop == 0 || http_same_origin(request->url, url));

		if (exchange_once(c, &x, method, url, home, expect) < 0)
			return -1;
		if (out->status == 417 && expect && out->body_sent == 0) {
			expect = false;
			continue;
		}
		if (request->no_redirect || !is_redirect(out->status) ||
		    !http_header(out, "location").data) {
			free(out->url);
			out->url = steal_ptr(&url);
			return 0;
		}
		method = redirected_method(method, out->status);
		if (follow(&x, &url) < 0)
			return -1;
	}
	return refuse_redirect(&x, request->url, "redirected more than 10 times");
}

/* Downloads. */

static int download_file(const char *url, struct sink *out, struct error *err)
{
	const char *rest = url + strlen("file://");
	const char *slash = strchr(rest, '/');
	cleanup(curl_text_free_p) char *path = NULL;
	cleanup_stream struct stream *src = NULL;
	int fd, len = 0;

	if (!slash || (slash != rest && strncmp(rest, "localhost/", 10)))
		return error_set(err, ERROR_USAGE, "\"%s\" names a file of another host", url);
	path = curl_easy_unescape(NULL, slash, 0, &len);
	if (!path || strlen(path) != (size_t)len)
		return error_set(err, ERROR_USAGE, "\"%s\" is no file address", url);
	fd = fs_open(AT_FDCWD, path, err);
	if (fd < 0)
		return -1;
	src = stream_fd(fd, path);
	return sink_copy(out, src, NULL, err);
}

uint64_t http_retry_after_ms(const struct http_response *r)
{
	struct slice value = http_header(r, "retry-after");
	cleanup_free char *text = NULL;
	uint64_t seconds;
	time_t when;

	if (!value.data)
		return 0;
	if (slice_u64(value, &seconds))
		return seconds > 86400 ? 86400000 : seconds * 1000;
	text = xstrndup((const char *)value.data, value.len);
	when = curl_getdate(text, NULL);
	if (when < 0 || when <= time(NULL))
		return 0;
	seconds = (uint64_t)(when - time(NULL));
	return seconds > 86400 ? 86400000 : seconds * 1000;
}

bool http_status_transient(int status)
{
	return status == 408 || status == 429 || status == 499 || status == 522 ||
	       (status >= 500 && status != 501 && status != 505 && status != 507);
}

/* Whether another try of a download makes sense after this one. */
static bool download_retry(const struct http_response *r, int rc)
{
	if (rc == 0)
		return http_status_transient(r->status);
	return r->failure == HTTP_FAILURE_RESOLVE || r->failure == HTTP_FAILURE_CONNECT ||
	       r->failure == HTTP_FAILURE_TRANSFER;
}

void http_sleep_ms(uint64_t ms)
{
	struct timespec left = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

static int download_status(const char *url, const struct http_response *r, struct error *err)
{
	cleanup_free char *shown = http_url_display(url);
	bool missing = r->status == 404 || r->status == 410;

	return error_set(err, missing ? ERROR_NOT_FOUND : ERROR_NETWORK,
			 "GET %s: the server answers %d%s", shown, r->status,
			 r->status == 401 || r->status == 403 ? " (credentials are wanted)" : "");
}

/* Passes on, and remembers that something was written. */
struct noting_sink {
	struct sink base;
	struct sink *inner;
	bool wrote;
};

static int noting_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct noting_sink *s = (struct noting_sink *)base;

	s->wrote = s->wrote || len;
	return sink_write(s->inner, data, len, err);
}

static const struct sink_ops noting_ops = { .write = noting_write };

int http_download(struct http_client *c, const char *url, const char *authorization, unsigned tries,
		  struct sink *out, struct error *err)
{
	struct noting_sink noting = { .base = { &noting_ops }, .inner = out };
	struct http_request request = { .method = "GET",
					.url = url,
					.authorization = authorization,
					.out_body = &noting.base };

	if (strncasecmp(url, "file://", 7) == 0)
		return download_file(url, out, err);
	for (unsigned try = 1;; try++) {
		cleanup_response struct http_response r = { 0 };
		struct error failed = { 0 };
		int rc = http_perform(c, &request, &r, &failed);
		uint64_t wait_ms = UINT64_C(1000) << MIN(try - 1, 5u);

		if (rc == 0 && r.status == 200)
			return 0;
		if (try >= tries || noting.wrote || !download_retry(&r, rc)) {
			if (rc == 0)
				return download_status(url, &r, err);
			*err = failed;
			return -1;
		}
		if (rc == 0 && http_retry_after_ms(&r))
			wait_ms = http_retry_after_ms(&r);
		http_sleep_ms(MIN(wait_ms, UINT64_C(1000) * RETRY_AFTER_MAX_S));
	}
}
