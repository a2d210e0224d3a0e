/*
 * Puts a registry's refusal into words: its own code and message, and what can be done about it.
 */
#ifndef REGISTRY_REFUSAL_H
#define REGISTRY_REFUSAL_H

#include "net/http.h"
#include "registry/auth.h"

struct refusal {
	const char *registry, *repository;
	const char *what;        /* "PUT manifest v1" */
	const struct auth *auth; /* NULL: none yet */
	bool push;
};

/* The registry's first error code and message, or "". */
void refusal_code(const struct http_response *r, char code[64], char message[160]);
/* Sets *err; ERROR_NOT_FOUND for 404, else ERROR_NETWORK. Returns -1. */
int refusal_set(const struct refusal *about, const struct http_response *r, struct error *err);

#endif
