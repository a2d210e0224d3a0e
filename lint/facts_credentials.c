/*
 * Credentials in files that exist to hold them. The name alone is nothing: a value has to be there
 * that is no placeholder and no reference to a variable.
 */
#include "lint/facts_parts.h"

struct look {
	struct slice bytes;
	struct arena *arena;
	struct secret_facts **list;
};

static size_t line_of(const struct look *look, size_t at)
{
	size_t line = 1;

	for (size_t i = 0; i < at; i++)
		line += look->bytes.data[i] == '\n';
	return line;
}

static void add(const struct look *look, const char *kind, size_t at, size_t len)
{
	struct slice value = slice_of(look->bytes.data + at, len);

	for (const struct secret_facts *s = *look->list; s; s = s->next) {
		if (s->at < at + len && at < s->at + s->len)
			return; /* known by its form */
	}
	if (len < 6 || strchr("$<{%*", value.data[0]) || secret_is_placeholder(value))
		return;
	secret_add(kind, false, true, look->bytes, at, len, line_of(look, at), look->arena,
		   look->list);
}

/* Bytes from `at` up to one of `ends`, a blank or the end of the line. */
static size_t word_at(const struct look *look, size_t at, const char *ends)
{
	size_t n = 0;

	while (at + n < look->bytes.len && look->bytes.data[at + n] > ' ' &&
	       !strchr(ends, look->bytes.data[at + n]))
		n++;
	return n;
}

/* Where `text` stands from `at` on, or SIZE_MAX. */
static size_t find(const struct look *look, size_t at, const char *text)
{
	const uint8_t *found;

	if (at >= look->bytes.len)
		return SIZE_MAX;
	found = memmem(look->bytes.data + at, look->bytes.len - at, text, strlen(text));
	return found ? (size_t)(found - look->bytes.data) : SIZE_MAX;
}

static size_t skip(const struct look *look, size_t at, const char *characters)
{
	while (at < look->bytes.len && look->bytes.data[at] &&
	       strchr(characters, look->bytes.data[at]))
		at++;
	return at;
}

/* The value after each `key`, its quotes and the sign between them. */
static void assigned(const struct look *look, const char *key, const char *kind)
{
	for (size_t at = find(look, 0, key); at != SIZE_MAX; at = find(look, at + 1, key)) {
		size_t value = skip(look, at + strlen(key), " \t\"'=:");

		if (value > at + strlen(key))
			add(look, kind, value, word_at(look, value, "\"',;"));
	}
}

/* https://user:password@host; what is between ":" and "@". */
static void in_addresses(const struct look *look, const char *kind)
{
	for (size_t at = find(look, 0, "://"); at != SIZE_MAX; at = find(look, at + 3, "://")) {
		size_t len = word_at(look, at + 3, "\"'/<>");
		const uint8_t *start = look->bytes.data + at + 3;
		const uint8_t *sign = len ? memrchr(start, '@', len) : NULL;
		const uint8_t *colon = sign ? memchr(start, ':', (size_t)(sign - start)) : NULL;

		if (colon)
			add(look, kind, (size_t)(colon + 1 - look->bytes.data),
			    (size_t)(sign - colon - 1));
	}
}

static void netrc(const struct look *look)
{
	for (size_t at = find(look, 0, "password"); at != SIZE_MAX;
	     at = find(look, at + 1, "password")) {
		size_t value = skip(look, at + 8, " \t");

		if (value > at + 8 && find(look, 0, "machine ") < at)
			add(look, "password of a .netrc", value, word_at(look, value, ""));
	}
}

static bool ends_in(const char *path, const char *end)
{
	size_t len = strlen(path), n = strlen(end);

	return len >= n && str_equal(path + len - n, end) && (len == n || path[len - n - 1] == '/');
}

void credentials_find(const char *path, struct slice bytes, struct arena *arena,
		      struct secret_facts **list)
{
	struct look look = { bytes, arena, list };

	if (ends_in(path, ".netrc") || ends_in(path, "_netrc"))
		netrc(&look);
	else if (ends_in(path, ".npmrc") || ends_in(path, "etc/npmrc"))
		assigned(&look, "_authToken", "npm token");
	else if (ends_in(path, ".pypirc"))
		assigned(&look, "password", "password of a package index");
	else if (ends_in(path, "pip.conf") || ends_in(path, ".git/config") ||
		 ends_in(path, "uv.toml"))
		in_addresses(&look, "password in an address");
	else if (ends_in(path, ".git-credentials"))
		in_addresses(&look, "password of a Git host");
	else if (ends_in(path, ".docker/config.json") || ends_in(path, "containers/auth.json"))
		assigned(&look, "\"auth\"", "registry login");
	else if (ends_in(path, ".kube/config")) {
		assigned(&look, "client-key-data", "key of a Kubernetes client");
		assigned(&look, "token", "token of a Kubernetes client");
	}
}
