/*
 * Measures how a registry behaves, by requests to one repository that leave nothing behind: upload
 * sessions that are given up, and a commit whose digest is wrong on purpose.
 *
 * Asked is: which ways of uploading it takes, from how many bytes on a request is refused (without
 * sending them: by Expect: 100-continue), whether a session outlives a cut request, how it counts,
 * whether a mount that finds nothing opens a session, the referrers API, whether images may be
 * removed (asked of one that is not there), and ranges of blobs when the repository holds an image.
 */
#ifndef REGISTRY_DOCTOR_H
#define REGISTRY_DOCTOR_H

#include "registry/persona.h"

enum { DOCTOR_FINDINGS_MAX = 16 };

struct doctor_finding {
	const char *name; /* "parts" */
	enum answer answer;
	char text[200]; /* for people */
};

struct doctor_report {
	struct doctor_finding findings[DOCTOR_FINDINGS_MAX]; /* in the order of the measurements */
	size_t count;
	struct host_facts facts; /* what pushes are to know */
	const struct persona *persona;
	uint64_t answer_ms; /* of the request that opens a session */
};

/*
 * Measure with `c`, a client of a repository opened for CLIENT_PUSH. Errors: ERROR_NETWORK,
 * ERROR_NOT_FOUND when not even a session can be opened.
 */
int doctor_measure(struct client *c, struct doctor_report *out, struct error *err) MUST_USE;
/* The kind of registry that behaves so, where its name does not tell. */
const struct persona *doctor_persona(const struct persona *by_name, const struct host_facts *facts,
				     bool counts, bool parts_have_a_least_size);

#endif
