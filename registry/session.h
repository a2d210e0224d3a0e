/*
 * The requests of one upload session, each sent once: open, ask how far it is, send a part, commit,
 * give up. What to do after a refusal is upload.h's to decide, from client_last().
 *
 * The address of the next request is the one that the last answer named, used as it came. It is a
 * secret: it may carry the session's state.
 * Source: OCI distribution specification 1.1, "Pushing blobs".
 */
#ifndef REGISTRY_SESSION_H
#define REGISTRY_SESSION_H

#include "registry/client.h"

struct session {
	char *location;        /* of the next request; NULL: no session */
	uint64_t acknowledged; /* bytes the registry has */
	uint64_t chunk_min;    /* OCI-Chunk-Min-Length; 0: not said */
};

void session_release(struct session *s);
#define cleanup_session cleanup(session_release)

/* What the answers' Range means. */
enum range_rule {
	RANGE_LAST, /* the last byte that is there, as the specification says */
	RANGE_COUNT /* of status answers: how many bytes are there */
};

struct session_mount {
	const struct digest *digest;
	const char *from; /* repository of the same registry; NULL: any */
};

/*
 * POST; tried again while that may help. With `mount` (may be NULL) the registry may already have
 * the blob: then *out_mounted is true and there is no session. An answer that is neither a mount
 * nor a session costs one more POST, without it. ERROR_NETWORK.
 */
int session_open(struct client *c, const struct session_mount *mount, struct session *out,
		 bool *out_mounted, struct error *err) MUST_USE;
/*
 * GET: sets s->acknowledged, and the address when a new one is named. -1 with client_last():
 * 404 and the like when the session is gone. ERROR_NETWORK.
 */
int session_status(struct client *c, struct session *s, enum range_rule rule,
		   struct error *err) MUST_USE;

struct session_part {
	struct stream *bytes; /* exactly `size` of them, from s->acknowledged on */
	uint64_t size;
	bool content_range;          /* say which bytes these are */
	bool fresh;                  /* over a connection of its own */
	const struct digest *commit; /* not NULL: the last ones; PUT with this digest */
};
/*
 * PATCH or PUT. A refusal for want of a newer token, or because of the size, is answered before a
 * byte is lost (Expect: 100-continue). On 0 s->acknowledged is what the registry counts, perhaps
 * less than was sent (more is -1, ERROR_INTEGRITY); after a commit the blob is there.
 */
int session_send(struct client *c, struct session *s, const struct session_part *part,
		 struct error *err) MUST_USE;
/* PUT without a body: commit what is there. ERROR_NETWORK; ERROR_INTEGRITY another digest. */
int session_commit(struct client *c, struct session *s, const struct digest *digest,
		   struct error *err) MUST_USE;
/*
 * Look for the blob again and again after the answer to a commit was lost: registries finish what
 * they were told. Changes client_last().
 */
bool session_poll(struct client *c, const struct digest *digest, uint64_t limit_ms);
/* Tell the registry that the session is given up; what it answers changes nothing. */
void session_cancel(struct client *c, struct session *s);

/*
 * Where an upload goes on: `location` as answered to a request to `request_url`, for the registry
 * at `registry_url`. An http address of an https registry's own host becomes https (proxies that
 * do not tell their backend); other falls from TLS, or from plain http to elsewhere than loopback
 * or the registry itself, are refused: NULL. Heap.
 */
char *client_location(const char *registry_url, const char *request_url, const char *location);
/* `location` with the digest appended to its query; heap. */
char *client_location_digest(const char *location, const struct digest *digest);

#endif
