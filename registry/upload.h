/*
 * One blob to a registry, however often the line breaks: asks whether it is there, takes it over
 * from another repository, goes on with the session that an earlier process left, sends it the way
 * the registry likes (persona.h), and after every odd answer asks the registry how far it is rather
 * than trusting its own count.
 *
 * Tries end when the registry gets no further: 8 in a row without a byte more, or 6 sessions lost.
 * Some registries forget a session once a request of it was cut. The blob then starts over, in
 * smaller requests with a connection each, so that a line that is cut after so many bytes will do.
 *
 * The bytes are verified against the digest while they pass: a damaged source never becomes a blob.
 */
#ifndef REGISTRY_UPLOAD_H
#define REGISTRY_UPLOAD_H

#include "registry/persona.h"

struct upload {
	struct upload_host *host;
	const char *state_dir; /* for the journal; NULL: none */
	const struct descriptor *desc;
	const char *const *mount_from; /* repositories of the registry that may have it,
					* NULL-terminated; may be NULL */
	/* The blob's bytes from the first on, unverified; called again when they are wanted again.
	 */
	struct stream *(*open)(void *user, struct error *err);
	/* Whether to give up soon; NULL: never. */
	bool (*stopped)(void *user);
	/* `position` bytes of the blob are there or on their way; `sent` more left just now.
	 * NULL: nobody wants to know. */
	void (*moved)(void *user, uint64_t position, uint64_t sent);
	void *user;
};

enum upload_how { UPLOAD_WAS_THERE, UPLOAD_MOUNTED, UPLOAD_SENT };

struct upload_result {
	enum upload_how how;
	uint64_t resumed;  /* bytes of an earlier process's session */
	unsigned restarts; /* sessions that were lost */
	bool line_broke;   /* what went wrong last is the line, or nobody is there */
};

/*
 * Errors: ERROR_INTEGRITY the source is not what desc says, or the registry stores something else;
 * ERROR_LIMIT the registry or a proxy takes no request as large as is needed; ERROR_NETWORK; those
 * of `open`. After ERROR_NETWORK the journal knows how to go on.
 */
int upload_blob(const struct upload *u, struct client *c, struct upload_result *out,
		struct error *err) MUST_USE;

/*
 * The offset in Amazon's refusal of a part, "… first byte … is X instead of N" (the registry wants
 * N); false when `message` says no such thing.
 */
bool upload_wanted_offset(const char *message, uint64_t *out);

#endif
