/*
 * One exchange on the wire, without redirects: what http.c performs and libcurl does. For the files
 * of net/http only.
 */
#ifndef NET_HTTP_EXCHANGE_H
#define NET_HTTP_EXCHANGE_H

#include "net/http.h"

struct http_client {
	void *curl; /* a CURL */
	char *user_agent, *client_cert, *client_key, *ca_path;
	char *proxy;             /* NULL: the environment's; "": none */
	struct strbuf ca_bundle; /* system and extra; empty: ca_path or curl's own */
	uint64_t connect_timeout_ms, stall_timeout_ms;
	bool unverified;
	bool outside;       /* the last host of our own that was reached */
	struct error setup; /* told at the first exchange */
};

/* The state of one exchange, and of its callbacks. */
struct exchange {
	void *curl; /* the client's */
	const struct http_request *request;
	struct http_response *out;
	struct error *err;
	uint64_t body_limit;
	uint64_t stall_ms, moved_ms; /* patience for the answer's head; when it began to count */
	bool headed;                 /* the head has come */
	struct strbuf held;          /* bytes for out_body, until there are enough to pass on */
	uint64_t passed_ms;          /* when some were passed on last */
	bool local_failure;          /* *err is set by us */
	bool barred;                 /* an address inside was not connected to */
};

/*
 * Send the request to `url`, and take the answer whatever its status; *out is emptied before.
 * `home`: that is one of the request's own host, who gets credentials and our certificate.
 * `expect`: with Expect: 100-continue. As http_perform.
 */
int http_exchange(struct http_client *c, struct exchange *x, const char *method, const char *url,
		  bool home, bool expect) MUST_USE;
void exchange_release(struct exchange *x);
#define cleanup_exchange cleanup(exchange_release)

#endif
