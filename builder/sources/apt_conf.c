/* apt.conf, preferences and auth.conf: the parts of the configuration that are no sources. */
#include <strings.h>

#include "builder/sources/apt_config.h"

#include "formats/deb822.h"

enum { NESTING_LIMIT = 32, KEY_LIMIT = 1024, PINS_LIMIT = 10000 };

/* Words and marks of apt.conf: "word", "\"string\"", "{", "}", ";"; comments are skipped. */
struct lexer {
	struct slice rest;
	size_t line;
	bool quoted;
};

static void advance(struct lexer *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		l->line += l->rest.data[i] == '\n';
	l->rest = slice_of(l->rest.data + n, l->rest.len - n);
}

static size_t until(struct slice s, const char *end)
{
	const uint8_t *at = s.len ? memmem(s.data, s.len, end, strlen(end)) : NULL;

	return at ? (size_t)(at - s.data) + strlen(end) : s.len;
}

static void skip_blanks(struct lexer *l)
{
	for (;;) {
		struct slice s = l->rest;

		if (s.len && s.data[0] && strchr(" \t\r\n", s.data[0]))
			advance(l, 1);
		else if (slice_starts(s, "//") || slice_starts(s, "#"))
			advance(l, until(s, "\n"));
		else if (slice_starts(s, "/*"))
			advance(l, until(s, "*/"));
		else
			return;
	}
}

static bool next_token(struct lexer *l, struct slice *out)
{
	size_t n = 0;

	skip_blanks(l);
	l->quoted = false;
	if (!l->rest.len)
		return false;
	if (l->rest.data[0] == '"') {
		const uint8_t *end = memchr(l->rest.data + 1, '"', l->rest.len - 1);

		n = end ? (size_t)(end - l->rest.data) : l->rest.len;
		*out = slice_of(l->rest.data + 1, n - 1);
		advance(l, MIN(n + 1, l->rest.len));
		l->quoted = true;
		return true;
	}
	if (strchr("{};", l->rest.data[0]) && l->rest.data[0])
		n = 1;
	while (n < l->rest.len && !(n == 1 && strchr("{};", l->rest.data[0])) &&
	       !(l->rest.data[n] && strchr(" \t\r\n{};\"", l->rest.data[n])))
		n++;
	*out = slice_of(l->rest.data, n);
	advance(l, n);
	return true;
}

static bool key_is(const struct strbuf *key, const char *name)
{
	return strcasecmp(strbuf_text(key), name) == 0;
}

/* "Acquire::http::Proxy", "Acquire::https::Proxy::mirror.example.org" */
static bool take_proxy(struct apt_config *out, const struct strbuf *key, struct slice value)
{
	static const char *const starts[] = { "Acquire::http::Proxy", "Acquire::https::Proxy" };

	for (size_t i = 0; i < ARRAY_LEN(starts); i++) {
		size_t n = strlen(starts[i]);
		const char *rest = strbuf_text(key) + MIN(n, key->len);
		struct apt_proxy p = { .https = i == 1 };

		if (strncasecmp(strbuf_text(key), starts[i], n) != 0 ||
		    (*rest && !str_starts(rest, "::")))
			continue;
		if (*rest)
			p.host = arena_strdup(&out->arena, rest + strlen("::"));
		p.value = arena_slice(&out->arena, value);
		if (!p.host || *p.host)
			vec_push(&out->proxies, p);
		return true;
	}
	return false;
}

static void take_value(struct apt_config *out, const struct strbuf *key, struct slice value)
{
	if (key_is(key, "Acquire::Check-Valid-Until"))
		out->ignore_validity =
			slice_is(value, "false") || slice_is(value, "no") || slice_is(value, "0");
	else if (take_proxy(out, key, value) || apt_config_set_place(out, strbuf_text(key), value))
		return;
	else if (key_is(key, "APT::Default-Release"))
		out->default_release = arena_slice(&out->arena, value);
}

static void add_part(struct strbuf *key, struct slice part)
{
	if (key->len)
		strbuf_adds(key, "::");
	strbuf_add(key, part.data, part.len);
}

int apt_conf(struct slice text, const char *name, struct apt_config *out, struct error *err)
{
	struct lexer l = { .rest = text, .line = 1 };
	cleanup_strbuf struct strbuf key = { 0 };
	size_t outer[NESTING_LIMIT], depth = 0, base = 0;
	struct slice token;

	if (apt_refuse_nul(text, name, err) < 0)
		return -1;
	while (next_token(&l, &token)) {
		if (!l.quoted && slice_is(token, "{")) {
			if (depth == NESTING_LIMIT)
				return error_set(err, ERROR_LIMIT,
						 "%s:%zu: nested more than %d deep", name, l.line,
						 NESTING_LIMIT);
			outer[depth++] = base;
			base = key.len;
		} else if (!l.quoted && slice_is(token, "}")) {
			if (!depth)
				return error_set(err, ERROR_USAGE, "%s:%zu: \"}\" without \"{\"",
						 name, l.line);
			strbuf_truncate(&key, base);
			base = outer[--depth];
		} else if (!l.quoted && slice_is(token, ";")) {
			strbuf_truncate(&key, base);
		} else if (l.quoted || key.len > base) {
			take_value(out, &key, token);
		} else if (key.len + token.len < KEY_LIMIT) {
			add_part(&key, token);
		}
	}
	return 0;
}

static int bad_pin(const char *name, size_t line, const char *what, struct slice value,
		   struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	strbuf_add_quoted(&text, value, 60);
	return error_set(err, ERROR_USAGE, "%s: record before line %zu: %s: %s", name, line, what,
			 strbuf_text(&text));
}

static bool parse_priority(struct slice s, int *out)
{
	bool negative = s.len && s.data[0] == '-';
	uint64_t v;

	if (negative || (s.len && s.data[0] == '+'))
		s = slice_of(s.data + 1, s.len - 1);
	if (!slice_u64(s, &v) || v > 32767)
		return false;
	*out = negative ? -(int)v : (int)v;
	return true;
}

static bool parse_pin(struct slice pin, struct deb_pin *out)
{
	static const struct {
		const char *word;
		enum deb_pin_kind kind;
	} kinds[] = { { "release ", DEB_PIN_RELEASE },
		      { "origin ", DEB_PIN_ORIGIN },
		      { "version ", DEB_PIN_VERSION } };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t n = strlen(kinds[i].word);

		if (pin.len > n && strncasecmp((const char *)pin.data, kinds[i].word, n) == 0) {
			out->kind = kinds[i].kind;
			out->value = slice_trim(slice_of(pin.data + n, pin.len - n));
			return true;
		}
	}
	return false;
}

static int read_record(const struct deb822 *stanza, const char *name, size_t line,
		       struct apt_config *out, struct error *err)
{
	struct slice packages = deb822_get(stanza, "package");
	struct slice pin = deb822_get(stanza, "pin"), number = deb822_get(stanza, "pin-priority");
	struct deb_pin record = { 0 };

	if (!packages.len && !pin.len && !number.len)
		return 0; /* only Explanation */
	if (!packages.len || memchr(packages.data, '/', packages.len))
		return bad_pin(name, line, "this form of Package is not supported", packages, err);
	if (!parse_pin(pin, &record))
		return bad_pin(name, line, "this form of Pin is not supported", pin, err);
	if (!parse_priority(number, &record.priority))
		return bad_pin(name, line, "Pin-Priority is no number", number, err);
	if (out->pins.len == PINS_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s: more than %d records", name, PINS_LIMIT);
	record.packages = slice_str(arena_slice(&out->arena, packages));
	record.value = slice_str(arena_slice(&out->arena, record.value));
	vec_push(&out->pins, record);
	return 0;
}

int apt_preferences(struct slice text, const char *name, struct apt_config *out, struct error *err)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	size_t line = 1;
	int rc;

	while ((rc = deb822_next(&text, name, &line, &stanza, err)) > 0) {
		if (read_record(&stanza, name, line, out, err) < 0)
			return -1;
	}
	return rc;
}

void apt_auth_conf(struct slice text, struct apt_config *out)
{
	struct apt_auth *current = NULL;
	struct slice word, value;

	while (apt_cut_word(&text, &word)) {
		if (word.data[0] == '#') {
			struct slice line;

			ignore_result(slice_cut(&text, '\n', &line)); /* a comment is dropped */
			continue;
		}
		if (!apt_cut_word(&text, &value))
			return;
		if (slice_is(word, "machine")) {
			const uint8_t *mark = memmem(value.data, value.len, "://", 3);

			current = vec_add(&out->auths);
			if (mark) {
				size_t n = (size_t)(mark - value.data);

				current->scheme = arena_slice(&out->arena, slice_of(value.data, n));
				value = slice_of(mark + 3, value.len - n - 3);
			}
			current->prefix = arena_slice(&out->arena, value);
		} else if (current && slice_is(word, "login")) {
			current->login = arena_slice(&out->arena, value);
		} else if (current && slice_is(word, "password")) {
			current->password = arena_slice(&out->arena, value);
		}
	}
}

char *apt_basic(const char *login, const char *password)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	cleanup_free char *plain = xasprintf("%s:%s", login, password);
	struct strbuf out = { 0 };
	size_t len = strlen(plain);

	strbuf_adds(&out, "Basic ");
	for (size_t i = 0; i < len; i += 3) {
		uint32_t v = 0;

		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (i + k < len ? (uint8_t)plain[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			strbuf_addc(&out, i + k > len ? '=' : letters[v >> (18 - 6 * k) & 63]);
	}
	explicit_bzero(plain, len);
	return strbuf_steal(&out);
}

/* apt sends credentials of auth.conf over https only, unless the entry says http:// itself. */
char *apt_config_authorization(const struct apt_config *config, const char *url)
{
	const char *mark = strstr(url, "://");
	const char *rest = mark ? mark + 3 : url;
	size_t scheme = mark ? (size_t)(mark - url) : 0;

	for (size_t i = 0; i < config->auths.len; i++) {
		const struct apt_auth *a = &config->auths.items[i];
		size_t n = strlen(a->prefix);
		const char *want = a->scheme ? a->scheme : "https";

		if (strlen(want) == scheme && strncmp(want, url, scheme) == 0 && a->login &&
		    strncmp(rest, a->prefix, n) == 0 &&
		    (rest[n] == 0 || strchr("/:", rest[n]) || (n && a->prefix[n - 1] == '/')))
			return apt_basic(a->login, a->password ? a->password : "");
	}
	return NULL;
}

/* The last that is said of a scheme and a host (NULL: of all hosts), or NULL. */
static const char *last_proxy(const struct apt_config *config, bool https, const char *host)
{
	const char *found = NULL;

	for (size_t i = 0; i < config->proxies.len; i++) {
		const struct apt_proxy *p = &config->proxies.items[i];

		if (p->https == https &&
		    (host ? p->host && strcasecmp(p->host, host) == 0 : !p->host))
			found = p->value;
	}
	return found;
}

const char *apt_config_proxy(const struct apt_config *config, const char *url)
{
	const char *mark = strstr(url, "://"), *value = NULL;
	bool https = str_starts(url, "https://");
	cleanup_free char *authority =
		xstrndup(mark ? mark + 3 : url, strcspn(mark ? mark + 3 : url, "/?#"));
	char *at = strrchr(authority, '@'), *host = at ? at + 1 : authority;

	if (*host != '[')
		host[strcspn(host, ":")] = 0;
	for (int own = 1; own >= 0 && !value; own--) {
		if (https)
			value = last_proxy(config, true, own ? host : NULL);
		if (!value)
			value = last_proxy(config, false, own ? host : NULL);
	}
	if (!value || !*value)
		return NULL;
	return strcasecmp(value, "DIRECT") == 0 || strcasecmp(value, "false") == 0 ? "" : value;
}
