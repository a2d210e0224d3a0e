#include <strings.h>

#include <curl/curl.h>

#include "base/alloc.h"
#include "net/http.h"

char *http_url_display(const char *url)
{
	const char *host = strstr(url, "://");
	struct strbuf b = { 0 };
	size_t authority, at;

	host = host ? host + 3 : url;
	strbuf_add(&b, url, (size_t)(host - url));
	authority = strcspn(host, "/?#");
	at = authority;
	while (at && host[at - 1] != '@')
		at--;
	host += at;
	for (size_t n = strcspn(host, "?#"), i = 0; i < n; i++)
		strbuf_addc(&b, (uint8_t)host[i] > 0x20 && host[i] != 0x7f ? host[i] : '?');
	strbuf_adds(&b, "");
	return b.data ? strbuf_steal(&b) : xstrdup("");
}

void http_encode(struct strbuf *out, const char *text)
{
	for (; *text; text++) {
		if ((*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
		    (*text >= '0' && *text <= '9') || strchr("-._~", *text))
			strbuf_addc(out, *text);
		else
			strbuf_addf(out, "%%%02X", (uint8_t)*text);
	}
}

static void curlu_free_p(CURLU **u)
{
	curl_url_cleanup(*u);
}

static void curl_text_free_p(char **s)
{
	curl_free(*s);
}

static CURLU *url_parse(const char *url)
{
	CURLU *u = curl_url();

	if (!u)
		out_of_memory();
	if (curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME | CURLU_PATH_AS_IS)) {
		curl_url_cleanup(u);
		return NULL;
	}
	return u;
}

/* "scheme://host:port" in lower case, or NULL. Heap. */
static char *url_origin(const char *url)
{
	cleanup(curlu_free_p) CURLU *u = url_parse(url);
	cleanup(curl_text_free_p) char *scheme = NULL;
	cleanup(curl_text_free_p) char *host = NULL;
	cleanup(curl_text_free_p) char *port = NULL;
	char *out;

	if (!u || curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) ||
	    curl_url_get(u, CURLUPART_HOST, &host, 0) ||
	    curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT))
		return NULL;
	out = xasprintf("%s://%s:%s", scheme, host, port);
	for (char *p = out; *p; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return out;
}

bool http_same_origin(const char *a, const char *b)
{
	cleanup_free char *x = url_origin(a);
	cleanup_free char *y = url_origin(b);

	return x && y && str_equal(x, y);
}

/* `location` without fragment, bytes that no URL may hold percent-encoded. Heap. */
static char *location_clean(const char *location)
{
	struct strbuf b = { 0 };

	for (; *location && *location != '#'; location++) {
		uint8_t c = (uint8_t)*location;

		if (c <= 0x20 || c >= 0x7f)
			strbuf_addf(&b, "%%%02X", c);
		else
			strbuf_addc(&b, (char)c);
	}
	return b.data ? strbuf_steal(&b) : xstrdup("");
}

static bool has_scheme(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

	return n && s[n] == ':';
}

/* RFC 3986, 5.2, for what is neither absolute nor an absolute path. */
static char *resolve_relative(const char *base, const char *location)
{
	cleanup(curlu_free_p) CURLU *u = url_parse(base);
	cleanup(curl_text_free_p) char *text = NULL;

	if (!u || curl_url_set(u, CURLUPART_QUERY, NULL, 0) ||
	    curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0) ||
	    curl_url_set(u, CURLUPART_URL, location, CURLU_NON_SUPPORT_SCHEME) ||
	    curl_url_get(u, CURLUPART_URL, &text, 0))
		return NULL;
	return xstrdup(text);
}

char *http_resolve(const char *base, const char *location)
{
	cleanup_free char *clean = location_clean(location);
	const char *host = strstr(base, "://");
	cleanup_free char *out = NULL;
	cleanup_free char *origin = NULL;

	if (!host || !*clean)
		return NULL;
	if (has_scheme(clean))
		out = xstrdup(clean);
	else if (str_starts(clean, "//"))
		out = xasprintf("%.*s%s", (int)(host + 1 - base), base, clean);
	else if (*clean == '/')
		out = xasprintf("%.*s%s", (int)(host + 3 - base + strcspn(host + 3, "/?#")), base,
				clean);
	else
		out = resolve_relative(base, clean);
	if (!out || (strncasecmp(out, "http://", 7) && strncasecmp(out, "https://", 8)))
		return NULL;
	if (strstr(out, "://")[3] == '/')
		return NULL; /* curl would take the path for a host */
	origin = url_origin(out);
	return origin ? steal_ptr(&out) : NULL;
}
