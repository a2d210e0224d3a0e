/*
 * What is known of registries: how each wants its uploads, as a table, and what was learned of one
 * host while pushing to it, kept for 30 days in <state directory>/hosts/<host>.json.
 *
 * No single way to upload works everywhere. Some registries refuse parts, some refuse large single
 * requests, some forget a session once a request was cut, and proxies limit the size of a body.
 * A learned fact only takes away what was seen to fail (smaller bodies, another way), so that a
 * wrong one costs speed and never correctness. Sources stand with the table.
 */
#ifndef REGISTRY_PERSONA_H
#define REGISTRY_PERSONA_H

#include "registry/session.h"

enum upload_style {
	UPLOAD_SINGLE, /* POST, then one PUT with all bytes */
	UPLOAD_STREAM, /* POST, one PATCH with all bytes, empty PUT */
	UPLOAD_CHUNK,  /* POST, many PATCHes that say which bytes they bring, PUT */
};

struct persona {
	const char *name;
	const char *hosts; /* patterns with "*", separated by blanks; "": found by its shape */
	enum upload_style style; /* of bodies above single_max */
	uint64_t single_max;     /* bytes up to which one PUT does */
	uint64_t chunk;          /* bytes of a part; 0: parts are refused */
	uint64_t chunk_min;      /* of all parts but the last */
	uint64_t chunk_max;      /* 0: no limit */
	uint64_t layer_max;      /* 0: no limit known */
	enum range_rule status_range;
	bool last_in_put; /* the last part goes with the PUT */
	bool mount;       /* takes blobs over from another repository */
};

extern const struct persona personas[];
extern const size_t persona_count;

/* By name; NULL when there is none. */
const struct persona *persona_named(const char *name);
/* For a registry's host ("host:port"), else by the service its challenge names (may be NULL). */
const struct persona *persona_for(const char *host, const char *service);

#define BODY_LEAST (1 * MIB)     /* no request is made smaller than this by what is learned */
#define CUT_PART_LEAST (4 * MIB) /* nor after a cut, unless such parts are cut too */

enum answer { ANSWER_UNKNOWN = 0, ANSWER_YES, ANSWER_NO };

/* What was learned. Zeroed: nothing. */
struct host_facts {
	enum answer resume; /* a session outlives a cut request, with what had arrived */
	uint64_t body_max;  /* largest body that may pass; 0: no limit seen */
	uint64_t cut_bytes; /* connections were cut after so many bytes; 0: never */
	bool no_single, no_chunk, no_mount; /* was refused */
	enum answer referrers;              /* lists what refers to an image */
	const struct persona *persona;      /* that was measured; NULL: the name tells */
};

/* How the next request to a host is to be made. */
struct upload_rules {
	enum upload_style style;
	uint64_t chunk;  /* bytes per request; UINT64_MAX: all */
	bool fresh;      /* a connection of its own for each request */
	bool impossible; /* the limits leave no way */
};

/* For a blob of `size` bytes; chunk_min as the session's registry said, or 0. */
struct upload_rules upload_rules(const struct persona *persona, const struct host_facts *facts,
				 uint64_t size, uint64_t chunk_min);

/*
 * A record as text: parse gives false, and facts of nothing, for what is not ours, too old or
 * damaged. `now_s` is seconds since 1970.
 */
bool host_facts_parse(struct slice text, uint64_t now_s, struct host_facts *out);
void host_facts_print(const struct host_facts *facts, uint64_t now_s, struct strbuf *out);

/* What all threads that push to one host share. */
struct upload_host;

/*
 * Persona and facts of a host. `state_dir` NULL: nothing is remembered. `persona` NULL: found by
 * host and service. Never NULL; a record that cannot be read counts as none.
 */
struct upload_host *upload_host_open(const char *state_dir, const char *host, const char *service,
				     const struct persona *persona);
/* Writes what was learned, if that can be done. */
void upload_host_close(struct upload_host *h);
const struct persona *upload_host_persona(const struct upload_host *h);
struct host_facts upload_host_facts(struct upload_host *h);
struct upload_rules upload_host_rules(struct upload_host *h, uint64_t size, uint64_t chunk_min);

/* Lessons. A body or a cut only counts when it is smaller than those before. */
void upload_host_resumes(struct upload_host *h, bool yes);
void upload_host_body_max(struct upload_host *h, uint64_t bytes);
void upload_host_cut_at(struct upload_host *h, uint64_t bytes);
void upload_host_refuses(struct upload_host *h, enum upload_style style);
/* True the first time: what is said of it is said once. */
bool upload_host_lacks_journal(struct upload_host *h);
/* All that is known was measured just now; older lessons are forgotten. */
void upload_host_measured(struct upload_host *h, const struct host_facts *facts);

/* $XDG_STATE_HOME/gpuimg, else ~/.local/state/gpuimg; NULL when neither is known. Heap. */
char *upload_state_dir(void);

#endif
