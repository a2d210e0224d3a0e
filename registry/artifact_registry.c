#include "registry/artifact.h"

#include "oci/mediatype.h"
#include "registry/client_request.h"
#include "registry/listing.h"
#include "registry/upload.h"

enum { GET_TRIES = 5, PAGES_MAX = 100, PAGE_BYTES_MAX = 8 * 1024 * 1024 };

struct registry_place {
	struct artifact_place base;
	struct client_repository *repository;
	struct client *client;
	struct upload_host *host; /* NULL until something is sent */
};

static int get_manifest(struct artifact_place *base, const char *name, struct arena *arena,
			struct strbuf *out, struct descriptor *desc, struct error *err)
{
	struct registry_place *p = (struct registry_place *)base;

	return client_manifest_get(p->client, name, arena, out, desc, err);
}

static int put_manifest(struct artifact_place *base, const char *name,
			const struct descriptor *desc, struct slice text, bool *out_listed,
			struct error *err)
{
	struct registry_place *p = (struct registry_place *)base;

	if (client_manifest_put(p->client, name, desc->media_type, text, err) < 0)
		return -1;
	*out_listed = client_last(p->client)->lists_subject;
	return 0;
}

/* Small as they are, what came of one is no place to go on from. */
static int get_blob(struct artifact_place *base, const struct descriptor *desc, struct strbuf *out,
		    struct error *err)
{
	struct registry_place *p = (struct registry_place *)base;
	size_t before = out->len;

	if (desc->size > ARTIFACT_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "a blob of %" PRIu64 " bytes; %d are read",
				 desc->size, ARTIFACT_BYTES_MAX);
	for (unsigned try = 1;; try++) {
		cleanup_sink struct sink *sink = sink_memory(out);
		struct error failed = { 0 };

		if (client_blob_get(p->client, desc, sink, &failed) == 0)
			return 0;
		strbuf_truncate(out, before);
		if (try == GET_TRIES || !client_last_transient(p->client)) {
			*err = failed;
			return -1;
		}
		client_back_off(p->client, try);
	}
}

static struct stream *open_bytes(void *user, struct error *err)
{
	(void)err;
	return stream_memory(*(struct slice *)user);
}

static int put_blob(struct artifact_place *base, const struct descriptor *desc, struct slice bytes,
		    struct error *err)
{
	struct registry_place *p = (struct registry_place *)base;
	const char *state_dir = client_options_of(p->client)->state_dir;
	struct upload upload = {
		.state_dir = state_dir, .desc = desc, .open = open_bytes, .user = &bytes
	};
	struct upload_result ignored;

	if (!p->host)
		p->host = upload_host_open(state_dir, client_repository_registry(p->repository),
					   client_repository_realm_service(p->repository), NULL);
	upload.host = p->host;
	return upload_blob(&upload, p->client, &ignored, err);
}

/* Referrers. */

/* One page; *out_next is the address of the one after it, heap, or NULL. */
static int read_page(struct registry_place *p, const struct http_response *r, struct arena *arena,
		     struct artifact_list *out, char **out_next, struct error *err)
{
	struct slice link = listing_next(http_header(r, "link"));
	cleanup_free char *text = link.len ? xstrndup((const char *)link.data, link.len) : NULL;
	cleanup_index struct index index = { 0 };
	char *next = NULL;

	if (index_parse(strbuf_slice(&r->body), arena, &index, err) < 0)
		return -1;
	for (size_t i = 0; i < index.manifest_count; i++) {
		struct descriptor d = index.manifests[i];

		d.annotations = NULL; /* they die with the page */
		if (out->len == ARTIFACTS_MAX)
			return error_set(err, ERROR_LIMIT, "lists more than %d", ARTIFACTS_MAX);
		vec_push(out, d);
	}
	if (link.len && !(next = http_resolve(r->url, text)))
		return error_set(err, ERROR_FORMAT, "the next page has no address");
	if (next && (str_equal(next, r->url) ||
		     !http_same_origin(client_repository_url(p->repository), next))) {
		free(next);
		return error_set(err, ERROR_FORMAT,
				 "the registry names a next page that is none of its own");
	}
	*out_next = next;
	return 0;
}

/* 404, 405 and the like are how registries say that they have no such API. */
static bool is_absent(int status)
{
	return status == 404 || status == 405 || status == 400 || status == 501 || status == 406;
}

static int list(struct artifact_place *base, const struct digest *subject, struct arena *arena,
		struct artifact_list *out, bool *out_there, struct error *err)
{
	static const char *const headers[] = { "Accept: " MEDIATYPE_OCI_INDEX, NULL };
	static const char what[] = "list of referrers";
	struct registry_place *p = (struct registry_place *)base;
	char digest[DIGEST_TEXT_MAX];
	cleanup_free char *at = client_url(p->client, "referrers", digest_text(subject, digest));

	*out_there = false;
	for (unsigned page = 0; at; page++) {
		cleanup_response struct http_response r = { 0 };
		struct http_request request = {
			.method = "GET", .url = at, .headers = headers, .body_limit = PAGE_BYTES_MAX
		};
		char *next = NULL;

		if (page == PAGES_MAX)
			return error_set(err, ERROR_LIMIT, "%s: more than %d pages", what,
					 PAGES_MAX);
		if (client_request_patiently(p->client, what, &request, &r, err) < 0)
			return -1;
		if (page == 0 && is_absent(r.status))
			return 0;
		if (r.status != 200)
			return client_refuse(p->client, what, &r, err);
		if (read_page(p, &r, arena, out, &next, err) < 0)
			return client_wrap(p->client, what, err);
		free(at);
		at = next;
	}
	*out_there = true;
	return 0;
}

static void close_place(struct artifact_place *base)
{
	struct registry_place *p = (struct registry_place *)base;

	if (p->host)
		upload_host_close(p->host);
	client_free(p->client);
	client_repository_close(p->repository);
	free(p);
}

struct artifact_place *artifact_registry(struct client_repository *r)
{
	static const struct artifact_place_ops ops = { .get_manifest = get_manifest,
						       .put_manifest = put_manifest,
						       .get_blob = get_blob,
						       .put_blob = put_blob,
						       .list = list,
						       .close = close_place };
	struct registry_place *p;

	if (!r)
		return NULL;
	p = xcalloc(1, sizeof(*p));
	p->base.ops = &ops;
	p->repository = r;
	p->client = client_new(r);
	return &p->base;
}
