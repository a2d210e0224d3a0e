#include "registry/refusal.h"

#include "formats/json.h"

/* The first of {"errors":[{"code","message","detail"}]}, borrowed from *root; or NULL. */
static const json_t *first_error(const struct http_response *r, json_t **root)
{
	struct error ignored = { 0 };

	if (!r->body.len || json_parse(strbuf_slice(&r->body), root, &ignored) < 0)
		return NULL;
	return json_array_get(json_object_get(*root, "errors"), 0);
}

static const char *member(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));

	return s ? s : "";
}

void refusal_code(const struct http_response *r, char code[64], char message[160])
{
	cleanup_json json_t *root = NULL;
	const json_t *first = first_error(r, &root);

	snprintf(code, 64, "%s", member(first, "code"));
	snprintf(message, 160, "%s", member(first, "message"));
}

static const char *advice_401(const struct refusal *about)
{
	bool ngc = str_equal(about->registry, "nvcr.io");
	const char *user = about->auth ? auth_username(about->auth) : NULL;

	if (!about->auth || auth_kind(about->auth) == CREDENTIAL_NONE)
		return ngc ? "set NGC_API_KEY, or log in with the user name $oauthtoken and an NGC "
			     "API key"
			   : "no credentials were found; log in to the registry first";
	if (ngc && user && !str_equal(user, "$oauthtoken"))
		return "NGC wants the literal user name $oauthtoken";
	if (ngc)
		return "the NGC key has expired, was revoked, or is of the wrong kind";
	return "check the user name and the password or token";
}

/* nvcr.io has ORGANISATION/IMAGE and ORGANISATION/TEAM/IMAGE, and no way to make other names. */
static bool ngc_knows_no_such_name(const struct refusal *about)
{
	size_t parts = 1;

	for (const char *s = about->repository; *s; s++)
		parts += *s == '/';
	return str_equal(about->registry, "nvcr.io") && (parts < 2 || parts > 3);
}

static const char *advice(const struct refusal *about, int status)
{
	bool ngc = str_equal(about->registry, "nvcr.io");

	if ((status == 403 || status == 404) && ngc_knows_no_such_name(about))
		return "a name on nvcr.io has two or three parts, ORGANISATION/IMAGE or "
		       "ORGANISATION/TEAM/IMAGE";
	switch (status) {
	case 401:
		return advice_401(about);
	case 402:
		return ngc ? "the organisation's entitlement or the image's licence is missing"
			   : "the registry wants a paid plan";
	case 403:
		return about->push ? "these credentials may not push there"
				   : "these credentials may not read it";
	case 404:
		if (about->push)
			return "the repository may have to be created first, or the credentials do "
			       "not show it";
		return "check the name and the tag";
	case 405:
		return "this registry does not allow it; its administrator may turn it on";
	case 413:
		return "the registry or a proxy before it limits the size of a request; smaller "
		       "layers, or a higher limit there, would pass";
	case 429:
		return "the registry limits the rate of requests; wait, or log in";
	case 507:
		return "the registry's storage or quota is full";
	}
	if (status >= 500)
		return "the registry is in trouble; what was uploaded is kept, so try again later";
	return "";
}

int refusal_set(const struct refusal *about, const struct http_response *r, struct error *err)
{
	cleanup_json json_t *root = NULL;
	const json_t *first = first_error(r, &root);
	cleanup_strbuf struct strbuf words = { 0 };
	const char *hint = advice(about, r->status);

	if (*member(first, "code"))
		strbuf_addf(&words, " %.60s", member(first, "code"));
	if (*member(first, "message")) {
		strbuf_addc(&words, ' ');
		strbuf_add_quoted(&words, slice_str(member(first, "message")), 120);
	}
	if (*hint)
		strbuf_addf(&words, "; %s", hint);
	if (r->status == 401 && about->auth && auth_origin(about->auth))
		strbuf_addf(&words, " (from %.100s)", auth_origin(about->auth));
	return error_set(err, r->status == 404 ? ERROR_NOT_FOUND : ERROR_NETWORK,
			 "%s/%s: %s: the registry answers %d%s", about->registry, about->repository,
			 about->what, r->status, strbuf_text(&words));
}
