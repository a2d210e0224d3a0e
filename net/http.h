/*
 * HTTP requests with limits, retries and TLS; only the files of net/http see libcurl: http.c
 * clients and redirects, http_exchange.c what goes over the wire, http_url.c addresses,
 * http_download.c downloads with retries.
 *
 * A client is one thread's. Redirects are followed here, not by libcurl: credentials and cookies
 * never go to another host (scheme, name and port), at most 10 hops, https never falls to http.
 * TLS is verified unless the options say otherwise. Who was reached outside (address.h) sends
 * nobody to an address inside, by a redirect or otherwise (`foreign`). HTTP/1.1 for all. Proxies
 * come from the environment as curl reads them, unless http_client_proxy says another. CA
 * certificates: SSL_CERT_FILE, else the system's. Only http, https and (http_download) file URLs.
 * Nothing secret stands in an error text: URLs are shown without user info and query.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/error.h"
#include "base/sink.h"
#include "base/stream.h"

struct http_client;

struct http_options {
	const char *user_agent; /* NULL: "gpuimg/VERSION" */
	const char *ca_file;    /* CA bundle trusted besides the system's; NULL: none */
	struct slice ca_pem;    /* more such, as text; empty: none */
	const char *client_cert, *client_key; /* shown to the hosts of the requests, not to those
					       * they redirect to; NULL: none */
	bool unverified; /* TLS to the hosts of the requests is not verified; others' is */
	uint64_t connect_timeout_ms; /* 0: 30 s */
	uint64_t stall_timeout_ms;   /* no byte for that long ends a transfer; 0: 60 s */
};

struct http_client *http_client_new(const struct http_options *options);
void http_client_free(struct http_client *c);
static inline void http_client_free_p(struct http_client **c)
{
	http_client_free(*c);
}
#define cleanup_http cleanup(http_client_free_p)

/*
 * The proxy of the requests that follow, "http://proxy.example:3128/"; "": none; NULL, as at first:
 * what the environment says. no_proxy of the environment counts in any case.
 */
void http_client_proxy(struct http_client *c, const char *proxy);

struct http_request {
	const char *method; /* "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
	const char *authorization;  /* value of the header, sent to this URL's host only; or NULL */
	struct stream *body;        /* streamed request body; NULL: none */
	uint64_t body_size;         /* bytes of body */
	bool expect_continue;       /* Expect: 100-continue, wait up to 1 s; 417 repeats without */
	bool no_redirect;           /* give the 3xx answer back */
	bool own_connection;        /* a new one, closed afterwards */
	bool foreign;               /* to a host that ours named: without our certificate */
	struct sink *out_body;      /* where a 2xx body goes; NULL: into response.body */
	uint64_t body_limit;        /* most bytes kept in response.body; 0: 4 MiB */
	uint64_t stall_timeout_ms;  /* instead of the client's, for slow answers; 0: the client's */
};

/* Why there was no answer, for those who decide about another try. */
enum http_failure {
	HTTP_FAILURE_NONE = 0,
	HTTP_FAILURE_RESOLVE,     /* the name of the host (or proxy) has no address */
	HTTP_FAILURE_CONNECT,     /* nobody listens, or not in time */
	HTTP_FAILURE_HANDSHAKE,   /* the peer speaks no TLS that we speak */
	HTTP_FAILURE_CERTIFICATE, /* the peer's certificate is not trusted */
	HTTP_FAILURE_TRANSFER,    /* cut or stalled after the connection stood */
	HTTP_FAILURE_REDIRECT,    /* a redirect that is not followed */
	HTTP_FAILURE_LOCAL,       /* the request itself, its body stream or its sink */
};

struct http_response {
	int status;            /* HTTP status */
	struct strbuf body;    /* of any status, when out_body is NULL or status is not 2xx */
	struct strbuf headers; /* "name: value\n" lines of the final answer, names in lower case */
	char *url;             /* that answered, after redirects */
	enum http_failure failure; /* set when http_perform gives -1 */
	uint64_t body_sent; /* bytes of the request body that were handed to the connection */
};

void http_response_release(struct http_response *r);
#define cleanup_response cleanup(http_response_release)
/* The first header of that (lower-case) name, or an empty slice with data NULL. */
struct slice http_header(const struct http_response *r, const char *name);
/* The n-th (from 0) header of that name; data NULL when there are fewer. */
struct slice http_header_nth(const struct http_response *r, const char *name, size_t n);

/*
 * One exchange, any status. ERROR_NETWORK when there was none; ERROR_LIMIT; what the body stream
 * or the sink gave. `out` is zeroed or released before, and is to be released in any case.
 * The body must end after exactly body_size bytes: it is read to its end before its last bytes
 * are sent, so that a stream that proves itself (stream_verify) stops a wrong body in time.
 * A request with a body is not repeated at a redirect once bytes of it were sent.
 */
int http_perform(struct http_client *c, const struct http_request *request,
		 struct http_response *out, struct error *err) MUST_USE;
/*
 * GET `url` into `out`, with up to `tries` tries at connect errors, 5xx, 408 and 429 (waiting 1 s,
 * 2 s, 4 s… or Retry-After up to 60 s) as long as nothing was written. file:// is read too.
 * Statuses other than 200 are ERROR_NETWORK (404, 410: ERROR_NOT_FOUND) with the URL.
 */
int http_download(struct http_client *c, const char *url, const char *authorization, unsigned tries,
		  struct sink *out, struct error *err) MUST_USE;
/* `url` without user info and query, for texts. Heap. */
char *http_url_display(const char *url);
/* Percent-encode all but unreserved characters; appended. */
void http_encode(struct strbuf *out, const char *text);
/* Same scheme, host and port. */
bool http_same_origin(const char *a, const char *b);
/* Retry-After of an answer, seconds or date, at most a day; 0: none, or in the past. */
uint64_t http_retry_after_ms(const struct http_response *r);
/* Statuses after which the same request may go better later: 408, 429, most of 5xx. */
bool http_status_transient(int status);
/* Sleep, through signals. */
void http_sleep_ms(uint64_t ms);
/*
 * Resolve `location` (absolute, absolute path, relative) against `base`. The fragment is dropped,
 * and the rest stays as it came: signatures may depend on it. Heap; NULL if bad, or not http(s).
 */
char *http_resolve(const char *base, const char *location);

#endif
