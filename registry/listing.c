#include "registry/listing.h"

#include "base/alloc.h"
#include "base/vec.h"
#include "formats/json.h"
#include "registry/client_request.h"

enum { PAGE_BYTES_MAX = 8 * 1024 * 1024, PAGES_MAX = 100000 };

struct slice listing_next(struct slice link)
{
	struct slice rest = link, before, url, parameter;

	if (!slice_cut(&rest, '<', &before) || slice_trim(before).len ||
	    !slice_cut(&rest, '>', &url))
		return (struct slice){ 0 };
	while (slice_cut(&rest, ';', &parameter)) {
		parameter = slice_trim(parameter);
		if (slice_is(parameter, "rel=next") || slice_is(parameter, "rel=\"next\""))
			return url;
	}
	return (struct slice){ 0 };
}

int listing_parse(struct slice text, const char *member, struct arena *arena, struct listing *out,
		  struct error *err)
{
	cleanup_json json_t *root = NULL;
	json_t *names;

	if (json_parse(text, &root, err) < 0 ||
	    json_get_array_opt(root, "", member, &names, err) < 0)
		return -1;
	for (size_t i = 0; names && i < json_array_size(names); i++) {
		const char *name = json_string_value(json_array_get(names, i));

		if (!name)
			return error_set(err, ERROR_FORMAT, "%s[%zu] is no text", member, i);
		if (out->len == LISTING_NAMES_MAX)
			return error_set(err, ERROR_LIMIT, "more than %d names", LISTING_NAMES_MAX);
		vec_push(out, arena_strdup(arena, name));
	}
	return 0;
}

/* The address of the page after this one; NULL: it is the last. Heap. */
static int find_next(struct client *c, const struct http_response *r, char **out, struct error *err)
{
	const char *home = client_repository_url(client_repository_of(c));
	struct slice link = listing_next(http_header(r, "link"));
	cleanup_free char *text = xstrndup((const char *)link.data, link.len);
	cleanup_free char *url = NULL;

	*out = NULL;
	if (!link.len)
		return 0;
	url = http_resolve(r->url, text);
	if (!url || !http_same_origin(home, url) || str_equal(url, r->url))
		return error_set(err, ERROR_FORMAT,
				 "the registry names a next page that is none of its own");
	*out = steal_ptr(&url);
	return 0;
}

static int list(struct client *c, const char *what, char *url, const char *member,
		struct arena *arena, struct listing *out, struct error *err)
{
	cleanup_free char *at = url;

	for (size_t page = 0; at; page++) {
		cleanup_response struct http_response r = { 0 };
		struct http_request request = { .method = "GET",
						.url = at,
						.body_limit = PAGE_BYTES_MAX };
		char *next = NULL;

		if (page == PAGES_MAX)
			return error_set(err, ERROR_LIMIT, "%s: more than %d pages", what,
					 PAGES_MAX);
		if (client_request_patiently(c, what, &request, &r, err) < 0)
			return -1;
		if (r.status != 200)
			return client_refuse(c, what, &r, err);
		if (listing_parse(strbuf_slice(&r.body), member, arena, out, err) < 0 ||
		    find_next(c, &r, &next, err) < 0)
			return client_wrap(c, what, err);
		free(at);
		at = next;
	}
	return 0;
}

int listing_tags(struct client *c, struct arena *arena, struct listing *out, struct error *err)
{
	return list(c, "list of tags", client_url(c, "tags", "list?n=1000"), "tags", arena, out,
		    err);
}

int listing_repositories(struct client *c, struct arena *arena, struct listing *out,
			 struct error *err)
{
	return list(c, "list of repositories",
		    xasprintf("%s/v2/_catalog?n=1000",
			      client_repository_url(client_repository_of(c))),
		    "repositories", arena, out, err);
}

int listing_delete(struct client *c, const struct digest *digest, struct error *err)
{
	char text[DIGEST_TEXT_MAX];
	cleanup_free char *what = client_say_blob("DELETE manifest", digest);
	cleanup_free char *url = client_url(c, "manifests", digest_text(digest, text));
	struct http_request request = { .method = "DELETE", .url = url };
	cleanup_response struct http_response r = { 0 };

	if (client_request_patiently(c, what, &request, &r, err) < 0)
		return -1;
	return r.status / 100 == 2 ? 0 : client_refuse(c, what, &r, err);
}

int listing_check_login(struct client *c, struct error *err)
{
	cleanup_free char *url =
		xasprintf("%s/v2/", client_repository_url(client_repository_of(c)));
	struct http_request request = { .method = "GET", .url = url };
	cleanup_response struct http_response r = { 0 };

	if (client_request_patiently(c, "login", &request, &r, err) < 0)
		return -1;
	return r.status / 100 == 2 ? 0 : client_refuse(c, "login", &r, err);
}
