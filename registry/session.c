#include "registry/session.h"

#include <strings.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "registry/auth.h"
#include "registry/client_request.h"

enum {
	COMMIT_STALL_MS = 15 * 60 * 1000,
	EXPECT_MIN = 1024 * 1024, /* bodies below are sent without asking first */
	POLL_FIRST_MS = 500,
	POLL_LAST_MS = 8000,
};

void session_release(struct session *s)
{
	if (s->location)
		explicit_bzero(s->location, strlen(s->location));
	free(s->location);
	*s = (struct session){ 0 };
}

/* Addresses. */

/* "host:port" of an address, with its length. */
static const char *authority_of(const char *url, size_t *len)
{
	const char *at = strstr(url, "://");

	at = at ? at + 3 : url;
	*len = strcspn(at, "/?#");
	return at;
}

static bool same_authority(const char *a, const char *b)
{
	size_t n, m;
	const char *x = authority_of(a, &n), *y = authority_of(b, &m);

	return n == m && strncasecmp(x, y, n) == 0;
}

char *client_location(const char *registry_url, const char *request_url, const char *location)
{
	cleanup_free char *url = http_resolve(request_url, location);

	if (!url)
		return NULL;
	if (strncasecmp(url, "https://", 8) == 0)
		return steal_ptr(&url);
	if (str_starts(registry_url, "https://"))
		return same_authority(url, registry_url) ? xasprintf("https://%s", url + 7) : NULL;
	return auth_host_is_loopback(url) || same_authority(url, registry_url) ? steal_ptr(&url)
									       : NULL;
}

char *client_location_digest(const char *location, const struct digest *digest)
{
	char text[DIGEST_TEXT_MAX];
	struct strbuf url = { 0 };

	strbuf_adds(&url, location);
	strbuf_addf(&url, "%cdigest=", strchr(location, '?') ? '&' : '?');
	http_encode(&url, digest_text(digest, text));
	return strbuf_steal(&url);
}

/* The next address of the session, from an answer's Location; the old one stays without. */
static int take_location(struct client *c, const char *what, const struct http_response *r,
			 struct session *s, struct error *err)
{
	struct slice header = http_header(r, "location");
	cleanup_free char *text =
		header.data ? xstrndup((const char *)header.data, header.len) : xstrdup("");
	cleanup_free char *shown = http_url_display(text);
	char *next;

	if (!header.data && s->location)
		return 0;
	next = client_location(client_repository_url(client_repository_of(c)), r->url, text);
	if (!next) {
		error_set(err, ERROR_NETWORK,
			  "the registry names \"%s\" as the place to upload to, which is not used",
			  shown);
		return client_wrap(c, what, err);
	}
	if (s->location)
		explicit_bzero(s->location, strlen(s->location));
	free(s->location);
	s->location = next;
	return 0;
}

/* Opening. */

static char *mount_url(struct client *c, const struct session_mount *mount)
{
	cleanup_free char *url = client_url(c, "blobs/uploads", "");
	struct strbuf out = { 0 };
	char text[DIGEST_TEXT_MAX];

	strbuf_addf(&out, "%s?mount=", url);
	http_encode(&out, digest_text(mount->digest, text));
	if (mount->from) {
		strbuf_adds(&out, "&from=");
		http_encode(&out, mount->from);
	}
	return strbuf_steal(&out);
}

/* 1 mounted, 0 a session was opened instead, -1 neither. */
static int try_mount(struct client *c, const struct session_mount *mount, struct session *out)
{
	cleanup_free char *url = mount_url(c, mount);
	cleanup_free char *scope =
		mount->from ? xasprintf("repository:%s:pull", mount->from) : NULL;
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "POST", .url = url };
	struct error ignored = { 0 };
	int rc;

	client_also_scope(c, scope);
	rc = client_request(c, "POST mount", &request, &r, &ignored);
	client_also_scope(c, NULL);
	if (rc < 0)
		return -1;
	if (r.status == 201)
		return 1;
	if (r.status != 202 || take_location(c, "POST mount", &r, out, &ignored) < 0)
		return -1;
	if (!slice_u64(http_header(&r, "oci-chunk-min-length"), &out->chunk_min))
		out->chunk_min = 0;
	return 0;
}

int session_open(struct client *c, const struct session_mount *mount, struct session *out,
		 bool *out_mounted, struct error *err)
{
	static const char what[] = "POST blobs/uploads";
	cleanup_free char *url = client_url(c, "blobs/uploads", "");
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "POST", .url = url };
	int rc = mount ? try_mount(c, mount, out) : -1;

	*out_mounted = rc == 1;
	if (rc >= 0)
		return 0;
	session_release(out);
	if (client_request_patiently(c, what, &request, &r, err) < 0)
		return -1;
	if (r.status != 202)
		return client_refuse(c, what, &r, err);
	if (!slice_u64(http_header(&r, "oci-chunk-min-length"), &out->chunk_min))
		out->chunk_min = 0;
	return take_location(c, what, &r, out, err);
}

/* How far it is. */

/* How many bytes an answer's Range says are there; false when it says nothing we can read. */
static bool range_bytes(const struct http_response *r, enum range_rule rule, uint64_t *out)
{
	struct slice range = http_header(r, "range"), from;
	uint64_t first, last;

	if (slice_starts(range, "bytes="))
		slice_sub(range, 6, range.len - 6, &range);
	if (!range.data || !slice_cut(&range, '-', &from) || !slice_u64(from, &first) || first)
		return false;
	if (slice_equal(range, slice_str("-1"))) {
		*out = 0; /* "0--1": nothing yet, of those who write the end plainly */
		return true;
	}
	if (!slice_u64(range, &last) || last == UINT64_MAX)
		return false;
	/* "0-0" is what several give for nothing, too; nobody sends parts of one byte */
	*out = last && rule == RANGE_LAST ? last + 1 : last;
	return true;
}

int session_status(struct client *c, struct session *s, enum range_rule rule, struct error *err)
{
	static const char what[] = "GET upload";
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "GET", .url = s->location };
	uint64_t bytes;

	if (client_request(c, what, &request, &r, err) < 0)
		return -1;
	if (r.status != 204 && r.status != 200 && r.status != 202)
		return client_refuse(c, what, &r, err);
	if (!range_bytes(&r, rule, &bytes)) {
		error_set(err, ERROR_NETWORK, "the registry does not say how far the upload is");
		return client_wrap(c, what, err);
	}
	s->acknowledged = bytes;
	return take_location(c, what, &r, s, err);
}

/* Sending. */

static int check_committed(struct client *c, const char *what, const struct http_response *r,
			   const struct digest *want, struct error *err)
{
	struct slice header = http_header(r, "docker-content-digest");
	struct error ignored = { 0 };
	struct digest got;

	if (!header.data || digest_parse(header, &got, &ignored) < 0 ||
	    got.algorithm != want->algorithm || digest_equal(&got, want))
		return 0;
	error_set(err, ERROR_INTEGRITY, "the registry says that it stored %.*s",
		  (int)MIN(header.len, (size_t)80), header.data);
	return client_wrap(c, what, err);
}

/* Counts what an answer to a PATCH says is there. */
static int take_count(struct client *c, const struct http_response *r, struct session *s,
		      uint64_t size, struct error *err)
{
	uint64_t bytes, most = s->acknowledged + size;

	if (!range_bytes(r, RANGE_LAST, &bytes) || (bytes == 0 && size == 1))
		bytes = most;
	if (bytes > most) {
		error_set(err, ERROR_INTEGRITY,
			  "the registry counts %" PRIu64 " bytes where %" PRIu64 " were sent",
			  bytes, most);
		return client_wrap(c, "PATCH upload", err);
	}
	s->acknowledged = bytes;
	return take_location(c, "PATCH upload", r, s, err);
}

int session_send(struct client *c, struct session *s, const struct session_part *part,
		 struct error *err)
{
	uint64_t first = s->acknowledged;
	cleanup_free char *range = xasprintf("Content-Range: %" PRIu64 "-%" PRIu64, first,
					     first + MAX(part->size, UINT64_C(1)) - 1);
	const char *const headers[] = { "Content-Type: application/octet-stream",
					part->content_range ? range : NULL, NULL };
	cleanup_free char *url = part->commit ? client_location_digest(s->location, part->commit)
					      : xstrdup(s->location);
	cleanup_free char *what = part->commit ? client_say_blob("PUT upload of", part->commit)
					       : xstrdup("PATCH upload");
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = part->commit ? "PUT" : "PATCH",
					.url = url,
					.headers = headers,
					.body = part->bytes,
					.body_size = part->size,
					.expect_continue = part->size >= EXPECT_MIN,
					.own_connection = part->fresh,
					.stall_timeout_ms = part->commit ? COMMIT_STALL_MS : 0 };

	if (client_request(c, what, &request, &r, err) < 0)
		return -1;
	if (part->commit && (r.status == 201 || r.status == 204 || r.status == 200)) {
		s->acknowledged += part->size;
		return check_committed(c, what, &r, part->commit, err);
	}
	if (part->commit || (r.status != 202 && r.status != 201 && r.status != 204))
		return client_refuse(c, what, &r, err);
	return take_count(c, &r, s, part->size, err);
}

int session_commit(struct client *c, struct session *s, const struct digest *digest,
		   struct error *err)
{
	struct session_part nothing = { .commit = digest };

	return session_send(c, s, &nothing, err);
}

bool session_poll(struct client *c, const struct digest *digest, uint64_t limit_ms)
{
	uint64_t start = clock_ms(CLOCK_BOOTTIME);
	uint64_t wait = MIN(limit_ms / 8 + 1, (uint64_t)POLL_FIRST_MS);

	for (;;) {
		cleanup_response struct http_response r = { 0 };
		struct error ignored = { 0 };

		if (client_blob_look(c, digest, false, &r, &ignored) == 0 && r.status == 200)
			return true;
		if (clock_ms(CLOCK_BOOTTIME) - start >= limit_ms)
			return false;
		http_sleep_ms(wait);
		wait = MIN(wait + wait / 2, (uint64_t)POLL_LAST_MS);
	}
}

void session_cancel(struct client *c, struct session *s)
{
	cleanup_response struct http_response r = { 0 };
	struct http_request request = { .method = "DELETE", .url = s->location };
	struct error ignored = { 0 };

	if (s->location)
		ignore_result(client_request(c, "DELETE upload", &request, &r, &ignored) < 0);
}
