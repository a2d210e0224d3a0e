#include "net/http.h"

#include <strings.h>

#include <curl/curl.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "net/http_exchange.h"

enum {
	HOPS_MAX = 10,
	CA_BYTES_MAX = 16 * 1024 * 1024,
};

/* Responses. */

void http_response_release(struct http_response *r)
{
	strbuf_release(&r->body);
	strbuf_release(&r->headers);
	free(r->url);
	r->url = NULL;
}

struct slice http_header_nth(const struct http_response *r, const char *name, size_t n)
{
	struct slice rest = strbuf_slice(&r->headers), line;
	size_t len = strlen(name);

	while (slice_cut(&rest, '\n', &line)) {
		if (line.len <= len || line.data[len] != ':' || !slice_starts(line, name))
			continue;
		if (n-- == 0)
			return slice_trim(slice_of(line.data + len + 1, line.len - len - 1));
	}
	return (struct slice){ 0 };
}

struct slice http_header(const struct http_response *r, const char *name)
{
	return http_header_nth(r, name, 0);
}

/* Clients. */

static char *copy_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* The file with the system's CA certificates, or NULL when curl's build knows better. */
static const char *system_ca(CURL *curl)
{
	const char *path = getenv("SSL_CERT_FILE");
	char *built = NULL;

	if (path && *path)
		return path;
	curl_easy_getinfo(curl, CURLINFO_CAINFO, &built);
	return built;
}

/* The system's certificates and those of `extra` as one bundle. */
static int load_ca(struct http_client *c, const char *extra, struct slice pem, struct error *err)
{
	const char *system = system_ca(c->curl);

	if (!extra && !pem.len) {
		c->ca_path = copy_or_null(system);
		return 0;
	}
	if (system && fs_exists(AT_FDCWD, system) &&
	    fs_read(AT_FDCWD, system, CA_BYTES_MAX, &c->ca_bundle, err) < 0)
		return error_wrap(err, "CA certificates");
	strbuf_addc(&c->ca_bundle, '\n');
	strbuf_add(&c->ca_bundle, pem.data, pem.len);
	if (extra && fs_read(AT_FDCWD, extra, CA_BYTES_MAX, &c->ca_bundle, err) < 0)
		return error_wrap(err, "CA certificates");
	return 0;
}

static void *resize(void *old, size_t bytes)
{
	return xreallocarray(old, 1, bytes);
}

struct http_client *http_client_new(const struct http_options *options)
{
	static const struct http_options none = { 0 };
	const struct http_options *o = options ? options : &none;
	struct http_client *c = xcalloc(1, sizeof(*c));

	if (curl_global_init_mem(CURL_GLOBAL_DEFAULT, xmalloc, free, resize, xstrdup, xcalloc) ||
	    !(c->curl = curl_easy_init()))
		abort(); /* the library is not usable at all */
	c->user_agent = xstrdup(o->user_agent ? o->user_agent : "gpuimg/1");
	c->client_cert = copy_or_null(o->client_cert);
	c->client_key = copy_or_null(o->client_key);
	c->unverified = o->unverified;
	c->connect_timeout_ms = o->connect_timeout_ms ? o->connect_timeout_ms : 30000;
	c->stall_timeout_ms = o->stall_timeout_ms ? o->stall_timeout_ms : 60000;
	ignore_result(load_ca(c, o->ca_file, o->ca_pem, &c->setup)); /* each exchange reports it */
	return c;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	strbuf_release(&c->ca_bundle);
	free(c->ca_path);
	free(c->proxy);
	free(c->user_agent);
	free(c->client_cert);
	free(c->client_key);
	free(c);
}

void http_client_proxy(struct http_client *c, const char *proxy)
{
	free(c->proxy);
	c->proxy = proxy ? xstrdup(proxy) : NULL;
}

/* Redirects. */

static bool is_redirect(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static int refuse_redirect(struct exchange *x, const char *url, const char *why)
{
	cleanup_free char *shown = http_url_display(url);

	x->out->failure = HTTP_FAILURE_REDIRECT;
	return error_set(x->err, ERROR_NETWORK, "%s %s: %s", x->request->method, shown, why);
}

/* The next address in *url (replaced), or -1. */
static int follow(struct exchange *x, char **url)
{
	struct slice location = http_header(x->out, "location");
	cleanup_free char *text = xstrndup((const char *)location.data, location.len);
	cleanup_free char *next = http_resolve(*url, text);

	if (!next)
		return refuse_redirect(x, *url, "redirected to something that is no http address");
	if (strncasecmp(*url, "https://", 8) == 0 && strncasecmp(next, "https://", 8) != 0)
		return refuse_redirect(x, *url,
				       "redirected from https to plain http; not followed");
	if (x->out->body_sent)
		return refuse_redirect(x, *url, "redirected after the body had been sent");
	free(*url);
	*url = steal_ptr(&next);
	return 0;
}

static const char *redirected_method(const char *method, int status)
{
	if (status == 303 && !str_equal(method, "HEAD"))
		return "GET";
	return method;
}

int http_perform(struct http_client *c, const struct http_request *request,
		 struct http_response *out, struct error *err)
{
	cleanup_exchange struct exchange x = { .request = request, .out = out, .err = err };
	cleanup_free char *url = xstrdup(request->url);
	const char *method = request->method;
	bool expect = request->expect_continue && request->body;

	x.body_limit = request->body_limit ? request->body_limit : 4 * MIB;
	out->status = 0;
	out->failure = HTTP_FAILURE_NONE;
	out->body_sent = 0;
	if (c->setup.code) {
		*err = c->setup;
		out->failure = HTTP_FAILURE_LOCAL;
		return -1;
	}
	for (unsigned hop = 0; hop <= HOPS_MAX; hop++) {
		bool home = !request->foreign && (hop == 0 || http_same_origin(request->url, url));

		if (http_exchange(c, &x, method, url, home, expect) < 0)
			return -1;
		if (out->status == 417 && expect && out->body_sent == 0) {
			expect = false;
			continue;
		}
		if (request->no_redirect || !is_redirect(out->status) ||
		    !http_header(out, "location").data) {
			free(out->url);
			out->url = steal_ptr(&url);
			return 0;
		}
		method = redirected_method(method, out->status);
		if (follow(&x, &url) < 0)
			return -1;
	}
	return refuse_redirect(&x, request->url, "redirected more than 10 times");
}
