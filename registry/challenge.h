/*
 * The challenges of a WWW-Authenticate header.
 *
 * Read leniently, since registries write them badly: unquoted values (also of "scope", whose
 * actions are separated by commas), several challenges in one header, commas and quoted pairs
 * within quotes, parameters without a value.
 * Source: RFC 9110, 11.6.1; distribution's token specification.
 */
#ifndef REGISTRY_CHALLENGE_H
#define REGISTRY_CHALLENGE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

enum { CHALLENGE_BYTES_MAX = 16 * 1024, CHALLENGE_COUNT_MAX = 16, CHALLENGE_PARAMS_MAX = 32 };

struct challenge_param {
	const char *name; /* lower case */
	const char *value;
};

struct challenge {
	const char *scheme; /* lower case: "bearer", "basic" */
	struct challenge_param params[CHALLENGE_PARAMS_MAX];
	size_t param_count;
};

struct challenges {
	struct challenge *items;
	size_t len, cap;
};

/*
 * Append the challenges of one header's value; their strings live in `arena`.
 * ERROR_FORMAT: a quote that does not end, text where a scheme or parameter should stand.
 * ERROR_LIMIT: longer, or more of them, than the limits above.
 */
int challenge_parse(struct slice header, struct arena *arena, struct challenges *out,
		    struct error *err) MUST_USE;
void challenges_release(struct challenges *c);
#define cleanup_challenges cleanup(challenges_release)
/* The first challenge of that (lower-case) scheme, or NULL. */
const struct challenge *challenge_find(const struct challenges *c, const char *scheme);
/* A parameter's value, or NULL. */
const char *challenge_param(const struct challenge *c, const char *name);

#endif
