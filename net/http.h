/*
 * HTTP requests with limits, retries and TLS; the only file that sees libcurl.
 *
 * A client is one thread's. Redirects are followed here, not by libcurl: credentials and cookies
 * never go to another host (scheme, name and port), at most 10 hops, https never falls to http.
 * TLS verification is on and has no switch. HTTP/1.1 for all. Proxies come from the environment
 * as curl reads them. Only http, https and (http_download) file URLs.
 * Nothing secret stands in an error text: URLs are shown without user info and query.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/error.h"
#include "base/sink.h"
#include "base/stream.h"

struct http_client;

struct http_options {
	const char *user_agent;      /* NULL: "gpuimg/VERSION" */
	const char *ca_file;         /* extra CA bundle; NULL: the system's */
	const char *client_cert, *client_key; /* NULL: none */
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

struct http_request {
	const char *method; /* "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE" */
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated; NULL: none */
	const char *authorization;  /* value of the header, sent to this URL's host only; or NULL */
	struct stream *body;        /* streamed request body; NULL: none */
	uint64_t body_size;         /* bytes of body */
	bool expect_continue;       /* Expect: 100-continue, wait up to 5 s */
	bool no_redirect;           /* give the 3xx answer back */
	struct sink *out_body;      /* where a 2xx body goes; NULL: into response.body */
	uint64_t body_limit;        /* most bytes kept in response.body; 0: 4 MiB */
};

struct http_response {
	int status;            /* HTTP status */
	struct strbuf body;    /* of any status, when out_body is NULL or status is not 2xx */
	struct strbuf headers; /* "name: value\n" lines of the final answer, names in lower case */
	char *url;             /* that answered, after redirects */
};

void http_response_release(struct http_response *r);
#define cleanup_response cleanup(http_response_release)
/* The first header of that (lower-case) name, or an empty slice with data NULL. */
struct slice http_header(const struct http_response *r, const char *name);
/* The n-th (from 0) header of that name; data NULL when there are fewer. */
struct slice http_header_nth(const struct http_response *r, const char *name, size_t n);

/* One exchange, any status. ERROR_NETWORK when there was none; ERROR_LIMIT. */
int http_perform(struct http_client *c, const struct http_request *request,
		 struct http_response *out, struct error *err) MUST_USE;
/*
 * GET `url` into `out`, with up to `tries` tries at connect errors, 5xx, 408 and 429 (waiting 1 s,
 * 2 s, 4 s… or Retry-After up to 60 s) as long as nothing was written. file:// is read too.
 * Statuses other than 200 are ERROR_NETWORK (404, 410: ERROR_NOT_FOUND) with the URL.
 */
int http_download(struct http_client *c, const char *url, const char *authorization,
		  unsigned tries, struct sink *out, struct error *err) MUST_USE;
/* `url` without user info and query, for texts. Heap. */
char *http_url_display(const char *url);
/* Percent-encode all but unreserved characters; appended. */
void http_encode(struct strbuf *out, const char *text);
/* Resolve `location` (absolute, absolute path, relative) against `base`. Heap; NULL if bad. */
char *http_resolve(const char *base, const char *location);

#endif
