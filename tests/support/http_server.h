/*
 * A small scripted HTTP server in a thread of the test: on 127.0.0.1, one connection after the
 * other, one answer each, in the order of the script. What was asked is kept for assertions. A
 * TLS hello is cut off, and counts as no request.
 */
#ifndef TESTS_SUPPORT_HTTP_SERVER_H
#define TESTS_SUPPORT_HTTP_SERVER_H

#include "base/strbuf.h"

struct http_server_step {
	/* "200 OK\r\nName: value\r\n\r\nbody"; Content-Length and Connection: close are added, and
	 * "$URL" stands for the server's address. NULL: close without an answer. */
	const char *answer;
	bool early;       /* answer before the body is read, and without 100 Continue */
	bool no_length;   /* leave out Content-Length */
	unsigned byte_ms; /* between the bytes of the answer's head */
	size_t body_cut;  /* close after so many bytes of the request's body, without an answer */
};

struct http_server;

/* Steps beyond the script are answered with 500. */
struct http_server *http_server_start(const struct http_server_step *steps, size_t count);
/* "http://127.0.0.1:PORT"; the address alone begins at its 7th character. */
const char *http_server_url(const struct http_server *s);
/* Requests so far; the n-th (from 0) as it came, head and body, or "" when there is none. */
size_t http_server_count(struct http_server *s);
const char *http_server_request(struct http_server *s, size_t n);
void http_server_stop(struct http_server *s);
static inline void http_server_stop_p(struct http_server **s)
{
	http_server_stop(*s);
}
#define cleanup_http_server cleanup(http_server_stop_p)

#endif
