#include "registry/doctor.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/vec.h"
#include "formats/json.h"
#include "registry/client_request.h"
#include "registry/listing.h"

enum {
	PART_BYTES = 64 * 1024,
	CUT_BYTES = 2 * 1024 * 1024, /* announced, of which half is sent */
	CUT_LOOKS = 6,
	CUT_LOOK_WAIT_MS = 300,
};

#define LIMIT_FIRST (16 * GIB)
#define LIMIT_LEAST (1 * MIB)

struct doctor {
	struct client *c;
	struct doctor_report *out;
	bool counts, least; /* status answers count; small parts are refused */
};

static void find(struct doctor *d, const char *name, enum answer answer, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

static void find(struct doctor *d, const char *name, enum answer answer, const char *fmt, ...)
{
	struct doctor_finding *f = &d->out->findings[d->out->count++];
	va_list args;

	assert(d->out->count <= DOCTOR_FINDINGS_MAX);
	f->name = name;
	f->answer = answer;
	va_start(args, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, args);
	va_end(args);
}

/* What the last request ended with, for texts. */
static const char *last_words(const struct doctor *d, char buf[96])
{
	const struct client_answer *a = client_last(d->c);

	if (!a->status)
		return "the connection broke";
	snprintf(buf, 96, "answers %d%s%.60s", a->status, *a->code ? " " : "", a->code);
	return buf;
}

/* Bytes that end early on purpose. */
struct probe_stream {
	struct stream base;
	uint64_t left;
	bool cut; /* the end is an error */
};

static ssize_t probe_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct probe_stream *s = (struct probe_stream *)base;
	size_t n = (size_t)MIN((uint64_t)len, s->left);

	if (!n && s->cut)
		return error_set(err, ERROR_NETWORK, "cut on purpose");
	memset(buf, 'g', n);
	s->left -= n;
	return (ssize_t)n;
}

static const struct stream_ops probe_ops = { .read = probe_read };

/* One request of a session: `size` bytes announced, `sent` of them given. */
static int send(struct doctor *d, struct session *s, uint64_t size, uint64_t sent, bool ranged,
		const struct digest *commit)
{
	struct probe_stream bytes = { .base = { &probe_ops }, .left = sent, .cut = sent < size };
	struct session_part part = { .bytes = &bytes.base,
				     .size = size,
				     .content_range = ranged,
				     .fresh = sent < size,
				     .commit = commit };
	struct error ignored = { 0 };

	return session_send(d->c, s, &part, &ignored);
}

static int open_session(struct doctor *d, struct session *s, struct error *err)
{
	bool mounted;

	return session_open(d->c, NULL, s, &mounted, err);
}

static void give_up(struct doctor *d, struct session *s)
{
	session_cancel(d->c, s);
	session_release(s);
}

/* Parts, and how status answers count. */
static int measure_parts(struct doctor *d, struct error *err)
{
	cleanup_session struct session s = { 0 };
	uint64_t start = clock_ms(CLOCK_BOOTTIME);
	struct error ignored = { 0 };
	char words[96];

	if (open_session(d, &s, err) < 0)
		return -1;
	d->out->answer_ms = clock_ms(CLOCK_BOOTTIME) - start;
	find(d, "session", ANSWER_YES, "an upload can be opened (%" PRIu64 " ms)",
	     d->out->answer_ms);
	if (s.chunk_min)
		find(d, "least-part", ANSWER_YES, "it wants parts of %" PRIu64 " bytes and more",
		     s.chunk_min);
	if (send(d, &s, PART_BYTES, PART_BYTES, true, NULL) < 0) {
		d->least = strcasestr(client_last(d->c)->code, "SMALL") ||
			   strcasestr(client_last(d->c)->message, "small");
		d->out->facts.no_chunk = !d->least;
		find(d, "parts", d->least ? ANSWER_YES : ANSWER_NO,
		     d->least ? "parts are taken when they are large enough (%s to 64 KiB)"
			      : "parts are not taken (%s)",
		     last_words(d, words));
		give_up(d, &s);
		return 0;
	}
	find(d, "parts", ANSWER_YES, "parts with Content-Range are taken");
	if (session_status(d->c, &s, RANGE_LAST, &ignored) < 0)
		find(d, "status", ANSWER_NO, "a session does not tell how far it is (%s)",
		     last_words(d, words));
	else if (s.acknowledged == PART_BYTES + 1)
		find(d, "status", ANSWER_YES, "a session tells how many bytes it has");
	else
		find(d, "status", s.acknowledged == PART_BYTES ? ANSWER_YES : ANSWER_NO,
		     "a session tells its last byte (%" PRIu64 " of %d bytes)", s.acknowledged,
		     PART_BYTES);
	d->counts = s.acknowledged == PART_BYTES + 1;
	give_up(d, &s);
	return 0;
}

/* One request with all bytes, without saying which. */
static void measure_stream(struct doctor *d)
{
	cleanup_session struct session s = { 0 };
	struct error ignored = { 0 };
	char words[96];

	if (open_session(d, &s, &ignored) < 0)
		return;
	if (send(d, &s, PART_BYTES, PART_BYTES, false, NULL) == 0)
		find(d, "stream", ANSWER_YES, "one PATCH without Content-Range is taken");
	else
		find(d, "stream", ANSWER_NO, "one PATCH without Content-Range is not taken (%s)",
		     last_words(d, words));
	give_up(d, &s);
}

/* A PUT with all bytes, whose digest is wrong: it is read when the digest is what is refused. */
static void measure_single(struct doctor *d)
{
	cleanup_session struct session s = { 0 };
	struct digest wrong = digest_of(slice_str("gpuimg doctor"));
	struct error ignored = { 0 };
	const struct client_answer *a = client_last(d->c);
	char words[96];

	if (open_session(d, &s, &ignored) < 0)
		return;
	ignore_result(send(d, &s, PART_BYTES, PART_BYTES, false, &wrong) < 0);
	if (strstr(a->code, "DIGEST") || (a->status == 400 && !str_equal(a->code, "UNSUPPORTED"))) {
		find(d, "single", ANSWER_YES, "one PUT with all bytes is read");
	} else {
		find(d, "single", ANSWER_NO, "one PUT with all bytes is not taken (%s)",
		     last_words(d, words));
		d->out->facts.no_single = true;
	}
	give_up(d, &s);
}

/* Whether the session lives; a cut request may still be read. */
static bool look_at_cut(struct doctor *d, struct session *s, uint64_t *out_bytes)
{
	enum range_rule rule = d->counts ? RANGE_COUNT : RANGE_LAST;

	*out_bytes = 0;
	for (unsigned i = 0; i < CUT_LOOKS; i++) {
		struct error ignored = { 0 };

		http_sleep_ms(CUT_LOOK_WAIT_MS);
		if (session_status(d->c, s, rule, &ignored) < 0 && !client_last_transient(d->c))
			return false;
		if (client_last(d->c)->status / 100 != 2)
			continue;
		*out_bytes = s->acknowledged;
		if (*out_bytes)
			return true;
	}
	return client_last(d->c)->status / 100 == 2;
}

static void measure_cut(struct doctor *d)
{
	cleanup_session struct session s = { 0 };
	struct error ignored = { 0 };
	uint64_t bytes;
	char words[96];

	if (open_session(d, &s, &ignored) < 0)
		return;
	ignore_result(send(d, &s, CUT_BYTES, CUT_BYTES / 2, false, NULL) < 0);
	if (look_at_cut(d, &s, &bytes)) {
		d->out->facts.resume = ANSWER_YES;
		find(d, "resume", ANSWER_YES,
		     bytes ? "a session outlives a cut request, with %" PRIu64 " of %d bytes"
			   : "a session outlives a cut request, with none of its bytes (%" PRIu64
			     " of %d)",
		     bytes, CUT_BYTES / 2);
	} else {
		d->out->facts.resume = ANSWER_NO;
		find(d, "resume", ANSWER_NO, "a cut request ends its session (%s)",
		     last_words(d, words));
	}
	give_up(d, &s);
}

/* The largest request that is let in; no byte of it is sent. */
static void measure_limit(struct doctor *d)
{
	for (uint64_t size = LIMIT_FIRST; size >= LIMIT_LEAST; size /= 4) {
		cleanup_session struct session s = { 0 };
		struct error ignored = { 0 };
		bool refused;

		if (open_session(d, &s, &ignored) < 0)
			return;
		ignore_result(send(d, &s, size, 0, false, NULL) < 0);
		refused = client_last(d->c)->status == 413;
		give_up(d, &s);
		if (refused)
			continue;
		if (size == LIMIT_FIRST) {
			find(d, "limit", ANSWER_NO, "requests of 16 GiB are let in");
			return;
		}
		d->out->facts.body_max = size;
		find(d, "limit", ANSWER_YES,
		     "requests of %" PRIu64 " MiB are let in, of %" PRIu64 " MiB not (413)",
		     size / MIB, size * 4 / MIB);
		return;
	}
	d->out->facts.body_max = LIMIT_LEAST;
	find(d, "limit", ANSWER_YES, "requests of 1 MiB are not let in (413)");
}

/* A mount that finds nothing opens a session, where mounts are known. */
static void measure_mount(struct doctor *d)
{
	struct digest nothing = digest_of(slice_str("gpuimg doctor, no such blob"));
	char text[DIGEST_TEXT_MAX], words[96];
	const char *name = client_repository_name(client_repository_of(d->c));
	cleanup_free char *base = client_url(d->c, "blobs/uploads", "");
	cleanup_free char *url =
		xasprintf("%s?mount=%s&from=%s", base, digest_text(&nothing, text), name);
	struct http_request request = { .method = "POST", .url = url };
	cleanup_response struct http_response r = { 0 };
	cleanup_session struct session s = { 0 };
	struct error ignored = { 0 };

	if (client_request(d->c, "POST mount", &request, &r, &ignored) < 0)
		return;
	if (r.status == 202 || r.status == 201) {
		struct slice location = http_header(&r, "location");
		cleanup_free char *at = xstrndup((const char *)location.data, location.len);

		find(d, "mount", ANSWER_YES, "a mount that finds nothing opens a session");
		s.location =
			client_location(client_repository_url(client_repository_of(d->c)), url, at);
		give_up(d, &s);
		return;
	}
	d->out->facts.no_mount = true;
	find(d, "mount", ANSWER_NO, "a mount that finds nothing is refused (%s)",
	     last_words(d, words));
}

static void measure_referrers(struct doctor *d)
{
	struct digest nothing = digest_of(slice_str("gpuimg doctor, no such manifest"));
	char text[DIGEST_TEXT_MAX], words[96];
	cleanup_free char *url = client_url(d->c, "referrers", digest_text(&nothing, text));
	struct http_request request = { .method = "GET", .url = url };
	cleanup_response struct http_response r = { 0 };
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };
	bool index;

	if (client_request(d->c, "GET referrers", &request, &r, &ignored) < 0)
		return;
	index = r.status == 200 && json_parse(strbuf_slice(&r.body), &root, &ignored) == 0 &&
		json_is_array(json_object_get(root, "manifests"));
	d->out->facts.referrers = index ? ANSWER_YES : ANSWER_NO;
	if (index)
		find(d, "referrers", ANSWER_YES, "it lists what refers to an image");
	else
		find(d, "referrers", ANSWER_NO,
		     "it does not list what refers to an image (%s); a tag will",
		     last_words(d, words));
}

/* Whether images may be removed: asked of one that is not there. */
static void measure_delete(struct doctor *d)
{
	struct digest nothing = digest_of(slice_str("gpuimg doctor, no such manifest"));
	char text[DIGEST_TEXT_MAX], words[96];
	const char *name = client_repository_name(client_repository_of(d->c));
	cleanup_free char *url = client_url(d->c, "manifests", digest_text(&nothing, text));
	cleanup_free char *scope = xasprintf("repository:%s:delete", name);
	struct http_request request = { .method = "DELETE", .url = url };
	cleanup_response struct http_response r = { 0 };
	struct error ignored = { 0 };
	int rc;

	client_also_scope(d->c, scope);
	rc = client_request(d->c, "DELETE manifest", &request, &r, &ignored);
	client_also_scope(d->c, NULL);
	if (rc == 0 && (r.status == 404 || r.status / 100 == 2))
		find(d, "delete", ANSWER_YES, "images may be removed by their digest");
	else if (r.status == 401 || r.status == 403)
		find(d, "delete", ANSWER_NO, "these credentials may not remove images (%s)",
		     last_words(d, words));
	else if (r.status == 400 || r.status == 405 || r.status == 501)
		find(d, "delete", ANSWER_NO, "images cannot be removed (%s)", last_words(d, words));
	else
		find(d, "delete", ANSWER_UNKNOWN, "whether images may be removed is open (%s)",
		     rc < 0 ? "no answer, or no token for it" : last_words(d, words));
}

/* The digest of some blob of the repository: the configuration of its first tag. */
static bool some_blob(struct doctor *d, char digest[DIGEST_TEXT_MAX])
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *root = NULL;
	struct listing tags = { 0 };
	struct error ignored = { 0 };
	struct descriptor desc;
	const char *found = NULL;

	if (listing_tags(d->c, &arena, &tags, &ignored) == 0 && tags.len &&
	    client_manifest_get(d->c, tags.items[0], &arena, &text, &desc, &ignored) == 0 &&
	    json_parse(strbuf_slice(&text), &root, &ignored) == 0)
		found = json_string_value(
			json_object_get(json_object_get(root, "config"), "digest"));
	if (found)
		snprintf(digest, DIGEST_TEXT_MAX, "%s", found);
	vec_release(&tags);
	return found;
}

static void measure_ranges(struct doctor *d)
{
	static const char *const headers[] = { "Range: bytes=1-1", NULL };
	cleanup_response struct http_response r = { 0 };
	char digest[DIGEST_TEXT_MAX], words[96];
	cleanup_free char *url = NULL;
	struct http_request request = { .method = "GET", .headers = headers };
	struct error ignored = { 0 };

	if (!some_blob(d, digest)) {
		find(d, "ranges", ANSWER_UNKNOWN,
		     "ranges of blobs were not measured: the repository holds no image");
		return;
	}
	request.url = url = client_url(d->c, "blobs", digest);
	if (client_request(d->c, "GET blob", &request, &r, &ignored) < 0)
		return;
	if (r.status == 206 && r.body.len == 1)
		find(d, "ranges", ANSWER_YES, "ranges of blobs are sent%s",
		     http_same_origin(client_repository_url(client_repository_of(d->c)), r.url)
			     ? ""
			     : ", by another host");
	else
		find(d, "ranges", ANSWER_NO, "ranges of blobs are not sent (%s)",
		     last_words(d, words));
}

const struct persona *doctor_persona(const struct persona *by_name, const struct host_facts *facts,
				     bool counts, bool parts_have_a_least_size)
{
	if (by_name != &personas[0])
		return by_name;
	if (counts)
		return persona_named("quay");
	if (parts_have_a_least_size)
		return persona_named("ecr");
	if (facts->no_chunk)
		return persona_named("google");
	if (facts->no_single)
		return persona_named("artifactory");
	return facts->resume == ANSWER_YES ? persona_named("distribution-3") : by_name;
}

int doctor_measure(struct client *c, struct doctor_report *out, struct error *err)
{
	struct doctor d = { .c = c, .out = out };
	const struct client_repository *r = client_repository_of(c);
	const struct persona *by_name =
		persona_for(client_repository_registry(r), client_repository_realm_service(r));

	*out = (struct doctor_report){ 0 };
	if (measure_parts(&d, err) < 0)
		return -1;
	measure_stream(&d);
	measure_single(&d);
	measure_cut(&d);
	measure_limit(&d);
	measure_mount(&d);
	measure_referrers(&d);
	measure_delete(&d);
	measure_ranges(&d);
	out->persona = doctor_persona(by_name, &out->facts, d.counts, d.least);
	out->facts.persona = out->persona;
	return 0;
}
