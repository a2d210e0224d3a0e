#include "registry/upload.h"

#include "base/alloc.h"
#include "registry/client_request.h"
#include "registry/journal.h"

enum {
	STUCK_MAX = 8,        /* tries in a row that brought the registry no further */
	RESTARTS_MAX = 6,     /* sessions lost */
	UNAUTHORIZED_MAX = 2, /* refusals in a row for want of credentials */
	STATUS_TRIES = 4, /* questions how far it is, while answers are of the kind that passes */
	SHRINK_AFTER = 2, /* cut in a row without progress: perhaps bodies are too large */
	RESTART_WAIT_TRY = 4, /* restarts wait no longer than the try of that number */
	SKIP_BYTES = 256 * 1024,
	COMMIT_SMALL_WAIT_MS = 10 * 1000,
	COMMIT_WAIT_MS = 60 * 1000,
	COMMIT_WAIT_PER_GIB_MS = 30 * 1000,
};

#define JOURNAL_LEAST (1 * MIB) /* smaller blobs are sent again sooner than asked about */
#define COMMIT_SMALL (16 * MIB)
#define COMMON_SECRET "several registries behind one name need a common http.secret"

enum phase { PHASE_OPEN, PHASE_SEND, PHASE_COMMIT };

struct engine {
	const struct upload *u;
	struct client *c;
	struct upload_result *out;
	struct session s;
	struct journal *journal;
	struct stream *raw, *verified;
	uint64_t position; /* of `verified` */
	bool opened;       /* a session was opened before: mounts were tried */
	bool disowned; /* a request was told that there is no session, and the next that there is */
	/* The last request. */
	enum phase phase;
	enum upload_style style;
	uint64_t part;     /* its bytes */
	uint64_t furthest; /* acknowledged in this session */
	unsigned stuck, unauthorized, cuts, refused;
};

static uint64_t size_of(const struct engine *e)
{
	return e->u->desc->size;
}

static bool is_stopped(const struct engine *e)
{
	return e->u->stopped && e->u->stopped(e->u->user);
}

static void moved_to(const struct engine *e, uint64_t position, uint64_t sent)
{
	if (e->u->moved)
		e->u->moved(e->u->user, position, sent);
}

static void note(struct engine *e, const char *text)
{
	cleanup_free char *blob = client_say_blob("blob", &e->u->desc->digest);
	cleanup_free char *line = xasprintf("%s: %s", blob, text);

	client_tell(e->c, CLIENT_NOTE_EVENT, line);
}

/* The source. */

static void close_source(struct engine *e)
{
	stream_close(e->verified);
	stream_close(e->raw);
	e->verified = e->raw = NULL;
	e->position = 0;
}

/* The source stands at `offset`, all bytes before it hashed. */
static int seek_source(struct engine *e, uint64_t offset, struct error *err)
{
	cleanup_free char *buf = NULL;

	if (!e->verified || e->position > offset) {
		close_source(e);
		e->raw = e->u->open(e->u->user, err);
		if (!e->raw)
			return -1;
		e->verified = stream_verify(e->raw, &e->u->desc->digest, size_of(e));
	}
	if (e->position < offset)
		buf = xmalloc(SKIP_BYTES);
	while (e->position < offset) {
		size_t want = (size_t)MIN(offset - e->position, (uint64_t)SKIP_BYTES);

		if (is_stopped(e))
			return error_set(err, ERROR_NETWORK, "given up");
		if (stream_read_exact(e->verified, buf, want, err) < 0)
			return -1;
		e->position += want;
	}
	return 0;
}

/* The bytes of one request. */
struct part_stream {
	struct stream base;
	struct engine *e;
	uint64_t left;
};

static ssize_t part_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct part_stream *s = (struct part_stream *)base;
	struct engine *e = s->e;
	ssize_t n;

	if (is_stopped(e))
		return error_set(err, ERROR_NETWORK, "given up, since another blob was refused");
	if (!s->left && e->position < size_of(e))
		return 0;
	n = stream_read(e->verified, buf, s->left ? (size_t)MIN((uint64_t)len, s->left) : len, err);
	if (n < 0) {
		cleanup_free char *blob = client_say_blob("blob", &e->u->desc->digest);

		return error_wrap(err, "%s of the image", blob);
	}
	s->left -= (uint64_t)n;
	e->position += (uint64_t)n;
	if (n)
		moved_to(e, e->position, (uint64_t)n);
	return n;
}

static const struct stream_ops part_ops = { .read = part_read };

/* Steps. */

/* Amazon's words for a part that is not the next one. */
bool upload_wanted_offset(const char *message, uint64_t *out)
{
	const char *at = strcasestr(message, "first byte");
	size_t digits;

	at = at ? strcasestr(at, "instead of ") : NULL;
	if (!at)
		return false;
	at += strlen("instead of ");
	digits = strspn(at, "0123456789");
	return digits && slice_u64(slice_of(at, digits), out);
}

static int look(struct engine *e, bool *out_there, struct error *err)
{
	return client_blob_exists(e->c, &e->u->desc->digest, out_there, NULL, err);
}

/* A session, or the blob from another repository. */
static int open_session(struct engine *e, bool *out_mounted, struct error *err)
{
	struct host_facts facts = upload_host_facts(e->u->host);
	const char *const *from = e->u->mount_from;
	bool mount = !e->opened && from && *from && !facts.no_mount &&
		     upload_host_persona(e->u->host)->mount;
	struct session_mount wish = { .digest = &e->u->desc->digest };

	e->phase = PHASE_OPEN;
	e->opened = true;
	for (; mount && from[1]; from++) { /* all but the last: sessions of these are given up */
		wish.from = *from;
		if (session_open(e->c, &wish, &e->s, out_mounted, err) < 0)
			return -1;
		if (*out_mounted)
			return 0;
		session_cancel(e->c, &e->s);
		session_release(&e->s);
	}
	wish.from = mount ? *from : NULL;
	if (session_open(e->c, mount ? &wish : NULL, &e->s, out_mounted, err) < 0)
		return -1;
	e->furthest = 0;
	return 0;
}

static int too_large(const struct engine *e, struct error *err)
{
	error_set(err, ERROR_LIMIT,
		  "the registry or a proxy before it takes no request as large as this blob of "
		  "%" PRIu64 " bytes needs, nor smaller parts; raise the limit there (nginx: "
		  "client_max_body_size), or make smaller layers (layers.max-size)",
		  size_of(e));
	return client_wrap(e->c, "upload", err);
}

/* The next bytes; *out_done when they were the last and the blob is committed with them. */
static int send_part(struct engine *e, bool *out_done, struct error *err)
{
	const struct persona *p = upload_host_persona(e->u->host);
	struct host_facts facts = upload_host_facts(e->u->host);
	struct upload_rules rules = upload_host_rules(e->u->host, size_of(e), e->s.chunk_min);
	uint64_t left = size_of(e) - e->s.acknowledged;
	bool single = rules.style == UPLOAD_SINGLE && e->s.acknowledged == 0;
	uint64_t n = single ? left : MIN(left, rules.chunk);
	bool commit = single || (p->last_in_put && n == left && rules.style == UPLOAD_CHUNK);
	bool resumed = e->s.acknowledged && p->chunk && !p->chunk_max && !facts.no_chunk;
	struct part_stream bytes = { .base = { &part_ops }, .e = e, .left = n };
	struct session_part part = { .bytes = &bytes.base,
				     .size = n,
				     .content_range =
					     !single && (rules.style == UPLOAD_CHUNK || resumed),
				     .fresh = rules.fresh,
				     .commit = commit ? &e->u->desc->digest : NULL };

	if (rules.impossible)
		return too_large(e, err);
	if (seek_source(e, e->s.acknowledged, err) < 0)
		return -1;
	e->phase = PHASE_SEND;
	e->style = rules.style;
	e->part = n;
	journal_write(e->journal, e->s.location, e->s.acknowledged);
	if (session_send(e->c, &e->s, &part, err) < 0)
		return -1;
	*out_done = commit;
	return 0;
}

static int commit_blob(struct engine *e, struct error *err)
{
	e->phase = PHASE_COMMIT;
	journal_write(e->journal, e->s.location, e->s.acknowledged);
	return session_commit(e->c, &e->s, &e->u->desc->digest, err);
}

/* The registry got further, or did not. */
static void take_stock(struct engine *e)
{
	if (e->s.acknowledged > e->furthest) {
		e->furthest = e->s.acknowledged;
		e->stuck = e->unauthorized = e->cuts = e->refused = 0;
	} else {
		e->stuck++;
	}
}

static int no_further(const struct engine *e, struct error *err)
{
	error_set(err, ERROR_INTEGRITY,
		  "the registry acknowledges parts but gets no further than byte %" PRIu64,
		  e->furthest);
	return client_wrap(e->c, "upload", err);
}

static int step(struct engine *e, bool *out_done, struct error *err)
{
	bool mounted = false;

	if (!e->s.location) {
		if (open_session(e, &mounted, err) < 0)
			return -1;
		if (mounted)
			e->out->how = UPLOAD_MOUNTED;
		*out_done = mounted;
		return 0;
	}
	if (size_of(e) && e->s.acknowledged < size_of(e)) {
		if (send_part(e, out_done, err) < 0)
			return -1;
		take_stock(e);
		return e->stuck > STUCK_MAX ? no_further(e, err) : 0;
	}
	if (commit_blob(e, err) < 0)
		return -1;
	*out_done = true;
	return 0;
}

/* After a failure. Each gives 0 to go on, -1 to end with what `err` says. */

/* No session any more: perhaps somebody else brought the blob meanwhile. */
static void start_over(struct engine *e, bool *out_done)
{
	struct error ignored = { 0 };
	bool there;

	session_release(&e->s);
	journal_clear(e->journal);
	close_source(e);
	e->furthest = 0;
	e->refused = 0;
	moved_to(e, 0, 0);
	*out_done = look(e, &there, &ignored) == 0 && there;
}

/* The registry lost the session. */
static int restart(struct engine *e, bool *out_done, struct error *err)
{
	start_over(e, out_done);
	if (*out_done)
		return 0;
	if (++e->out->restarts > RESTARTS_MAX) {
		error_wrap(err, "%d upload sessions were lost (" COMMON_SECRET ")",
			   RESTARTS_MAX + 1);
		return -1;
	}
	note(e, "the registry lost the session; sent again from its start");
	client_back_off(e->c, MIN(e->out->restarts, (unsigned)RESTART_WAIT_TRY));
	return 0;
}

/* A cut request killed the session: what to do otherwise next time. */
static void learn_from_death(struct engine *e, const struct client_answer *cause)
{
	if (e->phase != PHASE_SEND || cause->failure != HTTP_FAILURE_TRANSFER || !cause->body_sent)
		return;
	upload_host_resumes(e->u->host, false);
	if (cause->body_sent < e->part || e->out->restarts) /* else the answer may have been lost */
		upload_host_cut_at(e->u->host, cause->body_sent);
}

/* Whether the question how far it is may be answered better later. */
static bool ask_again(const struct engine *e, unsigned try)
{
	if (try == STATUS_TRIES || !client_last_transient(e->c))
		return false;
	return client_last(e->c)->status != 502 || try < 2; /* nginx's word for a dead session */
}

/* Ask the registry how far it is; `cause` is what went wrong before. */
static int ask(struct engine *e, const struct client_answer *cause, bool *out_done,
	       struct error *err)
{
	enum range_rule rule = upload_host_persona(e->u->host)->status_range;
	struct error failed = { 0 };

	for (unsigned try = 1; session_status(e->c, &e->s, rule, &failed) < 0; try++) {
		if (is_stopped(e))
			return -1;
		if (ask_again(e, try)) {
			client_back_off(e->c, try);
			continue;
		}
		if (!client_last(e->c)->status && client_last_transient(e->c))
			return -1; /* nobody is there any more */
		learn_from_death(e, cause);
		return restart(e, out_done, err);
	}
	if (e->s.acknowledged > size_of(e))
		return restart(e, out_done, err);
	if (e->phase == PHASE_SEND && !cause->status && cause->body_sent)
		upload_host_resumes(e->u->host, true);
	moved_to(e, e->s.acknowledged, 0);
	take_stock(e);
	return e->stuck > STUCK_MAX ? -1 : 0;
}

/* Smaller requests from now on; -1 when they are as small as they can be. */
static int shrink(struct engine *e)
{
	const struct persona *p = upload_host_persona(e->u->host);

	if (e->part <= BODY_LEAST || !p->chunk || upload_host_facts(e->u->host).no_chunk)
		return -1;
	upload_host_body_max(e->u->host, MAX(e->part / 4, BODY_LEAST));
	return 0;
}

/* Another way of uploading, since this one was refused outright. */
static int change_style(struct engine *e, bool *out_done)
{
	if (e->style == UPLOAD_STREAM)
		return -1;
	upload_host_refuses(e->u->host, e->style);
	note(e, e->style == UPLOAD_SINGLE ? "the registry wants no single PUT"
					  : "the registry wants no parts");
	session_cancel(e->c, &e->s);
	start_over(e, out_done);
	return 0;
}

/* How long a blob may take to appear after its commit. */
static uint64_t commit_wait_ms(const struct engine *e)
{
	uint64_t given = client_options_of(e->c)->commit_wait_ms;

	if (given)
		return given;
	return size_of(e) <= COMMIT_SMALL
		       ? COMMIT_SMALL_WAIT_MS
		       : COMMIT_WAIT_MS + size_of(e) / GIB * COMMIT_WAIT_PER_GIB_MS;
}

/* The answer to a commit was lost or odd: the blob may appear, or the session be as it was. */
static int after_lost_commit(struct engine *e, const struct client_answer *a, bool *out_done,
			     struct error *err)
{
	enum range_rule rule = upload_host_persona(e->u->host)->status_range;
	uint64_t whole = commit_wait_ms(e);
	bool said =
		a->status == 500 || a->status == 503 || a->status == 429; /* it gave up itself */
	struct error ignored = { 0 };

	*out_done = session_poll(e->c, &e->u->desc->digest, said ? whole / 60 : whole / 8);
	if (*out_done)
		return 0;
	if (session_status(e->c, &e->s, rule, &ignored) == 0 && e->s.acknowledged <= size_of(e)) {
		client_back_off(e->c, MAX(e->stuck, 1u));
		moved_to(e, e->s.acknowledged, 0);
		return ++e->stuck > STUCK_MAX ? -1 : 0;
	}
	*out_done = session_poll(e->c, &e->u->desc->digest, whole * 7 / 8);
	return *out_done ? 0 : restart(e, out_done, err);
}

/* A commit, with all bytes there. */
static int after_commit(struct engine *e, const struct client_answer *a, bool *out_done,
			struct error *err)
{
	struct error ignored = { 0 };
	bool there = false;

	if (client_last_transient(e->c))
		return after_lost_commit(e, a, out_done, err);
	if (a->status != 404 && a->status != 409 && a->status != 416 && a->status != 400)
		return -1;
	if (e->stuck || a->status == 409) /* it may be a commit before this one that did it */
		there = session_poll(e->c, &e->u->desc->digest, commit_wait_ms(e) / 8);
	else if (look(e, &there, &ignored) < 0)
		there = false;
	*out_done = there;
	return there ? 0 : restart(e, out_done, err);
}

/* Whether a refusal is about the session. */
static bool session_named(const struct client_answer *a)
{
	return str_starts(a->code, "BLOB_UPLOAD");
}

/* A session that the registry says it does not have: perhaps another server of its name has it. */
static int ask_others(struct engine *e, const struct client_answer *a, bool *out_done,
		      struct error *err)
{
	int rc = ask(e, a, out_done, err);

	if (rc == 0 && e->s.location && session_named(a) && a->status == 404)
		e->disowned = true;
	return rc;
}

/* A part was refused. */
static int after_refusal(struct engine *e, const struct client_answer *a, bool *out_done,
			 struct error *err)
{
	uint64_t wanted;

	switch (a->status) {
	case 401:
		return ++e->unauthorized > UNAUTHORIZED_MAX ? -1 : ask(e, a, out_done, err);
	case 413:
		return shrink(e) < 0 ? -1 : ask(e, a, out_done, err);
	case 416:
		if (upload_wanted_offset(a->message, &wanted) && wanted <= size_of(e)) {
			e->s.acknowledged = wanted;
			take_stock(e);
			return e->stuck > STUCK_MAX ? -1 : 0;
		}
		if (++e->refused > 1)
			return change_style(e, out_done);
		return ask(e, a, out_done, err);
	case 404:
	case 400:
		/* a session that is lost, or a way of uploading that is not known? */
		if (str_equal(a->code, "UNSUPPORTED"))
			return change_style(e, out_done);
		if (e->style == UPLOAD_SINGLE && !session_named(a))
			return change_style(e, out_done);
		if (e->refused++ > 0) { /* others know it, or it is known to others only */
			if (session_named(a) && (e->style != UPLOAD_CHUNK || a->status == 404))
				return restart(e, out_done, err);
			return change_style(e, out_done);
		}
		return ask_others(e, a, out_done, err);
	case 405:
	case 411:
	case 415:
	case 501:
		return change_style(e, out_done);
	}
	return -1;
}

/* The connection was cut, or the registry or a proxy is in trouble. */
static int after_trouble(struct engine *e, const struct client_answer *a, bool *out_done,
			 struct error *err)
{
	bool line = upload_host_facts(e->u->host).cut_bytes && e->part > CUT_PART_LEAST;

	if (a->body_sent && ++e->cuts >= SHRINK_AFTER && !line)
		ignore_result(shrink(e));
	client_back_off(e->c, MAX(e->stuck, 1u));
	return ask(e, a, out_done, err);
}

/* DIGEST_INVALID although the source was verified: once more, then it is the registry's fault. */
static int after_digest(struct engine *e, bool *out_done, struct error *err)
{
	if (e->out->restarts) {
		err->code = ERROR_INTEGRITY;
		return error_wrap(err, "what was sent was verified and refused twice");
	}
	return restart(e, out_done, err);
}

static int recover(struct engine *e, bool *out_done, struct error *err)
{
	struct client_answer a = *client_last(e->c);
	bool local = a.failure == HTTP_FAILURE_LOCAL;

	e->out->line_broke = !a.status && client_last_transient(e->c);
	if (is_stopped(e) || e->phase == PHASE_OPEN || err->code == ERROR_LIMIT)
		return -1;
	if (local && err->code != ERROR_NETWORK) {
		session_cancel(e->c, &e->s);
		journal_clear(e->journal);
		return -1;
	}
	if (local) { /* the source is another registry */
		close_source(e);
		return after_trouble(e, &a, out_done, err);
	}
	if (str_equal(a.code, "DIGEST_INVALID"))
		return after_digest(e, out_done, err);
	if (err->code == ERROR_INTEGRITY && (e->phase == PHASE_COMMIT || e->style == UPLOAD_SINGLE))
		return -1; /* it says that it stored something else */
	if (err->code == ERROR_INTEGRITY)
		return e->stuck > STUCK_MAX ? -1 : restart(e, out_done, err);
	if (a.status == 401)
		return after_refusal(e, &a, out_done, err);
	if (e->phase == PHASE_COMMIT ||
	    (client_last_transient(e->c) && e->style == UPLOAD_SINGLE && a.body_sent == size_of(e)))
		return after_commit(e, &a, out_done, err);
	if (client_last_transient(e->c))
		return after_trouble(e, &a, out_done, err);
	return after_refusal(e, &a, out_done, err);
}

/* The whole. */

/* Go on where an earlier process stopped, if its session is still there. */
static void resume(struct engine *e)
{
	enum range_rule rule = upload_host_persona(e->u->host)->status_range;
	cleanup_journal_entry struct journal_entry entry = { 0 };
	struct error ignored = { 0 };

	if (!journal_read(e->journal, &entry))
		return;
	e->opened = true;
	e->s.location = steal_ptr(&entry.location);
	for (unsigned try = 1; session_status(e->c, &e->s, rule, &ignored) < 0; try++) {
		if (ask_again(e, try) && !is_stopped(e)) {
			client_back_off(e->c, try);
			continue;
		}
		if (client_last(e->c)->status) {
			note(e, "the registry lost the session of an earlier run");
			journal_clear(e->journal);
		}
		session_release(&e->s);
		e->opened = false;
		return;
	}
	if (e->s.acknowledged > size_of(e)) {
		session_release(&e->s);
		return;
	}
	e->furthest = e->out->resumed = e->s.acknowledged;
	if (e->s.acknowledged)
		upload_host_resumes(e->u->host, true);
	moved_to(e, e->s.acknowledged, 0);
}

static int check_size(const struct engine *e, struct error *err)
{
	const struct persona *p = upload_host_persona(e->u->host);

	if (!p->layer_max || size_of(e) <= p->layer_max)
		return 0;
	error_set(err, ERROR_LIMIT,
		  "a blob of %" PRIu64 " bytes, where this kind of registry (%s) takes %" PRIu64
		  "; make smaller layers (layers.max-size)",
		  size_of(e), p->name, p->layer_max);
	return client_wrap(e->c, "upload", err);
}

static int run(struct engine *e, struct error *err)
{
	for (bool done = false; !done;) {
		struct error failed = { 0 };

		if (step(e, &done, &failed) == 0)
			continue;
		if (recover(e, &done, &failed) < 0) {
			*err = failed;
			if (e->disowned && e->out->restarts <= RESTARTS_MAX &&
			    (err->code == ERROR_NETWORK || err->code == ERROR_NOT_FOUND))
				error_wrap(err,
					   "the upload's session is known by turns (" COMMON_SECRET
					   ")");
			return -1;
		}
	}
	journal_clear(e->journal);
	return 0;
}

/* Said once a push: a home that cannot be written is a matter of all blobs. */
static void tell_of_no_journal(struct engine *e, const struct error *why)
{
	cleanup_free char *text =
		xasprintf("no journal of the upload, so a push that is broken off sends the blobs "
			  "that were under way from their beginning: %s",
			  why->text);

	if (upload_host_lacks_journal(e->u->host))
		client_tell(e->c, CLIENT_NOTE_EVENT, text);
}

int upload_blob(const struct upload *u, struct client *c, struct upload_result *out,
		struct error *err)
{
	struct engine e = { .u = u, .c = c, .out = out };
	const struct client_repository *to = client_repository_of(c);
	struct journal_key key = { .registry = client_repository_registry(to),
				   .repository = client_repository_name(to),
				   .digest = &u->desc->digest,
				   .size = u->desc->size };
	struct error no_journal = { 0 };
	bool there;
	int rc = 0;

	*out = (struct upload_result){ .how = UPLOAD_WAS_THERE };
	if (look(&e, &there, err) < 0) {
		out->line_broke = !client_last(c)->status && client_last_transient(c);
		return -1;
	}
	if (u->desc->size >= JOURNAL_LEAST)
		rc = journal_open(u->state_dir, &key, &e.journal, &no_journal);
	if (there) {
		journal_clear(e.journal); /* of a process that was killed while it committed */
		journal_close(e.journal);
		return 0;
	}
	out->how = UPLOAD_SENT;
	if (check_size(&e, err) < 0) {
		journal_close(e.journal);
		return -1;
	}
	if (rc < 0)
		tell_of_no_journal(&e, &no_journal);
	resume(&e);
	rc = run(&e, err);
	close_source(&e);
	session_release(&e.s);
	journal_close(e.journal);
	return rc;
}
