#include "registry/fetch_blob.h"

#include "base/alloc.h"
#include "registry/client_request.h"

enum { IDLE_TRIES_DEFAULT = 5, IDLE_TRIES_ELSEWHERE = 2 };

/* Where the bytes end that are wanted. */
static uint64_t end_of(const struct blob_fetch *f)
{
	return f->piece_end ? f->piece_end : f->desc->size;
}

bool fetch_parse_range(struct slice header, uint64_t *first, uint64_t *last, uint64_t *total)
{
	struct slice rest = header, unit, a, b;

	if (!slice_cut(&rest, ' ', &unit) || !slice_is(unit, "bytes"))
		return false;
	rest = slice_trim(rest);
	if (!slice_cut(&rest, '-', &a) || !slice_cut(&rest, '/', &b) || !slice_u64(a, first) ||
	    !slice_u64(b, last) || *first > *last)
		return false;
	*total = UINT64_MAX;
	return slice_is(rest, "*") || (slice_u64(rest, total) && *last < *total);
}

/* What comes of one answer: passes over what is there, and stops at the first byte too many. */
struct part {
	struct sink base;
	struct blob_fetch *fetch;
	const struct http_response *answer;
	bool begun, misread; /* the range is another than was asked for */
	uint64_t past;       /* bytes to pass over */
};

static int begin(struct part *p, struct error *err)
{
	struct slice range = http_header(p->answer, "content-range");
	struct slice encoding = http_header(p->answer, "content-encoding");
	uint64_t first, last, total, size = p->fetch->desc->size;

	p->begun = true;
	if (encoding.len && !slice_is(encoding, "identity"))
		return error_set(err, ERROR_INTEGRITY,
				 "the bytes come in an encoding that nobody asked for");
	if (!range.data && p->fetch->piece_end) {
		p->fetch->no_ranges = true;
		return error_set(err, ERROR_NETWORK, "the registry knows no ranges");
	}
	if (!range.data) {
		p->past = p->fetch->position;
		return 0;
	}
	if (fetch_parse_range(range, &first, &last, &total) && first == p->fetch->position &&
	    last < end_of(p->fetch) && (total == UINT64_MAX || total == size))
		return 0;
	p->misread = true;
	return error_set(err, ERROR_INTEGRITY, "other bytes come than were asked for");
}

static int part_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct part *p = (struct part *)base;
	struct blob_fetch *f = p->fetch;
	size_t skip;

	if (!p->begun && begin(p, err) < 0)
		return -1;
	skip = (size_t)MIN((uint64_t)len, p->past);
	p->past -= skip;
	data = (const uint8_t *)data + skip;
	len -= skip;
	if (len > end_of(f) - f->position)
		return error_set(err, ERROR_INTEGRITY, "more than %" PRIu64 " bytes come",
				 end_of(f));
	if (!len)
		return 0;
	if (sink_write(f->out, data, len, err) < 0)
		return -1;
	if (!f->piece_end)
		digest_update(&f->state, data, len);
	f->position += len;
	return 0;
}

static const struct sink_ops part_ops = { .write = part_write };

enum outcome {
	FETCHED, /* to its end */
	AGAIN,   /* after a wait */
	PLAINLY, /* at once, without a range */
	NEXT,    /* another repository may do better */
	GIVE_UP,
};

static enum outcome judge(struct client *c, const struct part *p, const struct http_response *r,
			  int rc, const struct error *err)
{
	const struct client_answer *last = client_last(c);

	if (p->fetch->no_ranges)
		return GIVE_UP;
	if (p->misread || (rc == 0 && r->status == 416))
		return p->fetch->piece_end ? NEXT : PLAINLY;
	if (rc < 0 && last->failure == HTTP_FAILURE_LOCAL)
		return err->code == ERROR_INTEGRITY && p->begun ? NEXT : GIVE_UP;
	if (rc == 0 && r->status / 100 == 2)
		return p->fetch->position == end_of(p->fetch) ? FETCHED : AGAIN;
	/* an address that storage gave for a while only; the registry gives another */
	if (rc == 0 && (r->status == 403 || r->status == 400 || r->status == 401) &&
	    !http_same_origin(client_repository_url(client_repository_of(c)), r->url))
		return AGAIN;
	return client_last_transient(c) ? AGAIN : NEXT;
}

/* What is missing; heap. */
static char *range_header(const struct blob_fetch *f)
{
	if (f->piece_end)
		return xasprintf("Range: bytes=%" PRIu64 "-%" PRIu64, f->position,
				 f->piece_end - 1);
	return xasprintf("Range: bytes=%" PRIu64 "-", f->position);
}

static enum outcome fetch_part(struct blob_fetch *f, struct client *c, bool ranged,
			       struct error *err)
{
	char text[DIGEST_TEXT_MAX];
	cleanup_free char *what = client_say_blob("GET blob", &f->desc->digest);
	cleanup_free char *url = client_url(c, "blobs", digest_text(&f->desc->digest, text));
	cleanup_free char *range = range_header(f);
	bool wanted = ranged && (f->position || f->piece_end);
	const char *const headers[] = { wanted ? range : NULL, NULL };
	cleanup_response struct http_response r = { 0 };
	struct part part = { .base = { &part_ops }, .fetch = f, .answer = &r };
	struct http_request request = {
		.method = "GET", .url = url, .headers = headers, .out_body = &part.base
	};
	int rc = client_request(c, what, &request, &r, err);
	enum outcome outcome = judge(c, &part, &r, rc, err);

	if (rc < 0)
		error_wrap(err, "%s", what);
	else if (r.status / 100 != 2)
		client_refuse(c, what, &r, err);
	else if (outcome == AGAIN)
		client_wrap(c, what,
			    (error_set(err, ERROR_NETWORK,
				       "ends after %" PRIu64 " of %" PRIu64 " bytes", f->position,
				       end_of(f)),
			     err));
	return outcome;
}

/* From one repository, as long as bytes come; fewer tries without when there are `others`. */
static enum outcome fetch_from(struct blob_fetch *f, struct client *c, bool others,
			       struct error *err)
{
	unsigned said = client_options_of(c)->tries;
	unsigned tries = said ? said : IDLE_TRIES_DEFAULT;
	bool ranged = true;

	if (others)
		tries = MIN(tries, (unsigned)IDLE_TRIES_ELSEWHERE);
	for (unsigned idle = 0;;) {
		uint64_t before = f->position;
		enum outcome outcome;

		*err = (struct error){ 0 };
		outcome = fetch_part(f, c, ranged, err);
		if (outcome == PLAINLY && !ranged)
			outcome = NEXT;
		idle = f->position > before ? 0 : idle + 1;
		if (outcome == PLAINLY)
			ranged = false;
		else if (outcome != AGAIN)
			return outcome;
		else if (idle >= tries)
			return NEXT;
		else
			client_back_off(c, idle + 1);
	}
}

static int check_digest(struct blob_fetch *f, struct client *c, struct error *err)
{
	cleanup_free char *what = client_say_blob("GET blob", &f->desc->digest);
	struct digest got = digest_finish(&f->state);

	if (digest_equal(&got, &f->desc->digest))
		return 0;
	error_set(err, ERROR_INTEGRITY, "the bytes that came have another digest");
	return client_wrap(c, what, err);
}

static void tell_turned(struct client *c, const struct blob_fetch *f, const struct error *err)
{
	cleanup_free char *what = client_say_blob("blob", &f->desc->digest);
	cleanup_free char *text =
		xasprintf("%s: the next registry is asked, from byte %" PRIu64 " on (%s)", what,
			  f->position, err->text);

	client_tell(c, CLIENT_NOTE_EVENT, text);
}

/* From the origin with that index. */
static enum outcome fetch_at(struct blob_fetch *f, size_t index, bool others, struct error *err)
{
	struct client_repository *repository = origins_get(f->origins, index, err);
	cleanup_client struct client *c = repository ? client_new(repository) : NULL;
	enum outcome outcome;

	if (!c)
		return NEXT;
	outcome = f->position < end_of(f) ? fetch_from(f, c, others, err) : FETCHED;
	if (outcome == FETCHED && !f->piece_end) {
		f->first = (index + 1) % origins_count(f->origins);
		return check_digest(f, c, err) < 0 ? GIVE_UP : FETCHED;
	}
	if (outcome == NEXT && others) {
		if (client_last_transient(c) || err->code == ERROR_INTEGRITY)
			origins_demote(f->origins, index);
		tell_turned(c, f, err);
	}
	return outcome;
}

int fetch_blob(struct blob_fetch *f, struct error *err)
{
	struct origins_walk walk = { 0 };
	size_t index;

	while (origins_next(f->origins, &walk, f->first, &index)) {
		enum outcome outcome;

		*err = (struct error){ 0 };
		outcome = fetch_at(f, index, origins_more(f->origins, &walk), err);
		if (outcome != NEXT)
			return outcome == FETCHED ? 0 : -1;
	}
	return -1;
}
