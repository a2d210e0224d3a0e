#include "registry/fetch_blob.h"

#include "base/alloc.h"
#include "registry/client_request.h"

enum { IDLE_TRIES_DEFAULT = 5 };

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
	if (!range.data) {
		p->past = p->fetch->position;
		return 0;
	}
	if (fetch_parse_range(range, &first, &last, &total) && first == p->fetch->position &&
	    (total == UINT64_MAX || total == size))
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
	if (len > f->desc->size - f->position)
		return error_set(err, ERROR_INTEGRITY, "more than %" PRIu64 " bytes come",
				 f->desc->size);
	if (!len)
		return 0;
	if (sink_write(f->out, data, len, err) < 0)
		return -1;
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

	if (p->misread || (rc == 0 && r->status == 416))
		return PLAINLY;
	if (rc < 0 && last->failure == HTTP_FAILURE_LOCAL)
		return err->code == ERROR_INTEGRITY && p->begun ? NEXT : GIVE_UP;
	if (rc == 0 && r->status / 100 == 2)
		return p->fetch->position == p->fetch->desc->size ? FETCHED : AGAIN;
	return client_last_transient(c) ? AGAIN : NEXT;
}

static enum outcome fetch_part(struct blob_fetch *f, struct client *c, bool ranged,
			       struct error *err)
{
	char text[DIGEST_TEXT_MAX];
	cleanup_free char *what = client_say_blob("GET blob", &f->desc->digest);
	cleanup_free char *url = client_url(c, "blobs", digest_text(&f->desc->digest, text));
	cleanup_free char *range = xasprintf("Range: bytes=%" PRIu64 "-", f->position);
	const char *const headers[] = { ranged && f->position ? range : NULL, NULL };
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
				       f->desc->size),
			     err));
	return outcome;
}

/* From one repository, as long as bytes come. */
static enum outcome fetch_from(struct blob_fetch *f, struct client *c, struct error *err)
{
	unsigned tries =
		client_options_of(c)->tries ? client_options_of(c)->tries : IDLE_TRIES_DEFAULT;
	bool ranged = true;

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

int fetch_blob(struct blob_fetch *f, struct error *err)
{
	enum outcome outcome = NEXT;

	for (size_t i = 0; i < f->repository_count; i++) {
		size_t at = (f->first + i) % f->repository_count;
		cleanup_client struct client *c = client_new(f->repositories[at]);

		outcome = f->position < f->desc->size ? fetch_from(f, c, err) : FETCHED;
		if (outcome == FETCHED) {
			f->first = (at + 1) % f->repository_count;
			return check_digest(f, c, err);
		}
		if (outcome == GIVE_UP)
			return -1;
	}
	return -1;
}
