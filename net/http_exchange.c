#include "net/http_exchange.h"

#include <strings.h>
#include <sys/socket.h>

#include <curl/curl.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "net/address.h"

/* libcurl hands over 16 KiB at a time; files like more, at round offsets. */
enum { HEADER_BYTES_MAX = 256 * 1024, HELD_BYTES = 256 * 1024, HELD_MS = 200 };

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

static int pass_on(struct exchange *x)
{
	struct slice held = strbuf_slice(&x->held);
	int rc = held.len ? sink_write(x->request->out_body, held.data, held.len, x->err) : 0;

	strbuf_truncate(&x->held, 0);
	x->passed_ms = clock_ms(CLOCK_MONOTONIC);
	return rc;
}

/* On a slow line nobody waits for more. */
static int hold(struct exchange *x, struct slice data)
{
	if (!x->held.cap)
		strbuf_reserve(&x->held, HELD_BYTES);
	while (data.len) {
		size_t n = MIN(data.len, HELD_BYTES - x->held.len);

		strbuf_add(&x->held, data.data, n);
		data = slice_of(data.data + n, data.len - n);
		if (x->held.len == HELD_BYTES && pass_on(x) < 0)
			return -1;
	}
	return clock_ms(CLOCK_MONOTONIC) - x->passed_ms < HELD_MS ? 0 : pass_on(x);
}

static int take_body(struct exchange *x, struct slice data, int status)
{
	bool good = status >= 200 && status < 300;
	struct strbuf *body = &x->out->body;
	size_t room = (size_t)x->body_limit - MIN((size_t)x->body_limit, body->len);

	if (good && x->request->out_body)
		return hold(x, data);
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

/* Whether curl speaks of a proxy: of its refusal, or of a host that is not the address's. */
static bool speaks_of_proxy(const char *shown, const char *detail)
{
	static const char connect[] = "Failed to connect to ";
	const char *host = strstr(shown, "://");
	size_t len;

	if (str_starts(detail, "CONNECT tunnel"))
		return true;
	if (!host || !str_starts(detail, connect))
		return false;
	detail += strlen(connect);
	len = strcspn(detail, " ");
	host += strlen("://");
	host += *host == '[';
	return strncasecmp(host, detail, len) != 0 || !strchr(":/]", host[len]);
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
			 speaks_of_proxy(shown, detail) ? "by way of the proxy: " : "", detail);
}

/* Before a transfer: connections stay from the last one, settings do not. */
static void set_request(struct http_client *c, struct exchange *x, const char *method,
			const char *url, bool home)
{
	CURL *curl = c->curl;
	long own = x->request->own_connection;

	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(curl, CURLOPT_USERAGENT, c->user_agent);
	curl_easy_setopt(curl, CURLOPT_EXPECT_100_TIMEOUT_MS, 1000L);
	set_method(curl, x, method);
	if (c->proxy)
		curl_easy_setopt(curl, CURLOPT_PROXY, c->proxy);
	curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, own);
	curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, own);
	set_tls(c, home);
	set_limits(c, x);
	set_callbacks(curl, x);
	if (!home && c->outside) {
		curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_outside);
		curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, x);
	}
}

int http_exchange(struct http_client *c, struct exchange *x, const char *method, const char *url,
		  bool home, bool expect)
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
	strbuf_truncate(&x->held, 0);
	x->passed_ms = clock_ms(CLOCK_MONOTONIC);
	x->barred = false;
	set_request(c, x, method, url, home);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, detail);
	rc = curl_easy_perform(curl);
	if (!x->local_failure && pass_on(x) < 0) /* also what came before a line broke */
		x->local_failure = true;
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

void exchange_release(struct exchange *x)
{
	strbuf_release(&x->held);
}
