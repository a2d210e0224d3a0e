/*
 * What the files that speak to a registry share: one request to a repository, with credentials
 * where they belong, and the refusal put into words. For registry/ only; others use client.h.
 */
#ifndef REGISTRY_CLIENT_REQUEST_H
#define REGISTRY_CLIENT_REQUEST_H

#include "registry/client.h"

/*
 * One exchange, with one more try when the credentials were too old, as long as no byte of the body
 * was sent. Any status is 0. `what` is for error texts.
 */
int client_request(struct client *c, const char *what, struct http_request *request,
		   struct http_response *r, struct error *err) MUST_USE;
/* The same, again while the answer is of the kind that passes. For requests without a body. */
int client_request_patiently(struct client *c, const char *what, struct http_request *request,
			     struct http_response *r, struct error *err) MUST_USE;
/* Sets *err to what the registry answered. Returns -1. */
int client_refuse(const struct client *c, const char *what, const struct http_response *r,
		  struct error *err);
/* Prepends "registry/name: what". Returns -1. */
int client_wrap(const struct client *c, const char *what, struct error *err);
/* "https://host/v2/NAME/KIND/WHICH"; heap. */
char *client_url(const struct client *c, const char *kind, const char *which);
/* One more scope of the requests that follow ("repository:OTHER:pull"), borrowed; NULL: none. */
void client_also_scope(struct client *c, const char *scope);
/* HEAD of a blob; r->status is 200 or 404 when this is 0. */
int client_blob_look(struct client *c, const struct digest *digest, bool patiently,
		     struct http_response *r, struct error *err) MUST_USE;
/* "HEAD blob sha256:0123456789ab"; heap. */
char *client_say_blob(const char *verb, const struct digest *digest);
/* Through the options' `note`, after the repository's name. */
void client_tell(struct client *c, enum client_note kind, const char *text);
const struct client_options *client_options_of(const struct client *c);
const struct client_repository *client_repository_of(const struct client *c);

#endif
