#include "builder/index_credentials.h"

#include <stdlib.h>

#include "base/fs.h"
#include "builder/sources/apt_config.h"
#include "builder/sources/apt_release.h"
#include "builder/sources/apt_repository.h"
#include "net/http.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static void add_file(struct strbuf *out, const char *path)
{
	struct error ignored = { 0 };
	size_t before = out->len;

	if (fs_read(AT_FDCWD, path, FILE_BYTES_MAX, out, &ignored) < 0)
		strbuf_truncate(out, before);
	else
		strbuf_addc(out, '\n');
}

static void add_below(struct strbuf *out, const char *folder, const char *name)
{
	cleanup_free char *path = folder && *folder ? xasprintf("%s/%s", folder, name) : NULL;

	if (path)
		add_file(out, path);
}

static void add_variable(struct strbuf *out, const char *name)
{
	const char *value = getenv(name);

	if (value)
		strbuf_addf(out, "%s\n", value);
}

/* Those of the system, of the user, of a virtual environment, and the one that is named. */
static void add_configuration(struct strbuf *out)
{
	const char *named = getenv("PIP_CONFIG_FILE"), *home = getenv("HOME");
	const char *config = getenv("XDG_CONFIG_HOME"), *folders = getenv("XDG_CONFIG_DIRS");
	struct slice rest = slice_str(folders && *folders ? folders : "/etc/xdg"), folder;

	if (named && *named) {
		add_file(out, named);
		if (str_equal(named, "/dev/null"))
			return;
	}
	while (slice_cut(&rest, ':', &folder)) {
		cleanup_free char *text =
			xasprintf("%.*s", (int)folder.len, (const char *)folder.data);

		add_below(out, text, "pip/pip.conf");
	}
	add_file(out, "/etc/pip.conf");
	add_below(out, home, ".pip/pip.conf");
	if (config && *config)
		add_below(out, config, "pip/pip.conf");
	else
		add_below(out, home, ".config/pip/pip.conf");
	add_below(out, getenv("VIRTUAL_ENV"), "pip.conf");
}

void index_credentials_load(struct index_credentials *out)
{
	const char *netrc = getenv("NETRC");

	add_variable(&out->addresses, "PIP_INDEX_URL");
	add_variable(&out->addresses, "PIP_EXTRA_INDEX_URL");
	add_variable(&out->addresses, "PIP_FIND_LINKS");
	add_configuration(&out->addresses);
	if (netrc && *netrc)
		add_file(&out->netrc, netrc);
	else
		add_below(&out->netrc, getenv("HOME"), ".netrc");
}

void index_credentials_add(struct index_credentials *c, const char *address)
{
	struct strbuf text = { 0 };

	if (!address)
		return;
	strbuf_addf(&text, "%s\n", address); /* before what the machine says */
	strbuf_add(&text, c->addresses.data, c->addresses.len);
	if (c->addresses.data)
		explicit_bzero(c->addresses.data, c->addresses.len);
	strbuf_release(&c->addresses);
	c->addresses = text;
}

/* The next word of a text; quotes around it are not part of it. */
static bool next_word(struct slice *rest, struct slice *out)
{
	size_t n = 0;

	while (rest->len && strchr(" \t\r\n'\"=,", rest->data[0]) && rest->data[0])
		*rest = slice_of(rest->data + 1, rest->len - 1);
	while (n < rest->len && !(rest->data[n] && strchr(" \t\r\n'\"", rest->data[n])))
		n++;
	*out = slice_of(rest->data, n);
	*rest = slice_of(rest->data + n, rest->len - n);
	return n > 0;
}

/* "index-url=https://…" has an address behind the sign. */
static struct slice address_in(struct slice word)
{
	const uint8_t *mark = word.len ? memmem(word.data, word.len, "://", 3) : NULL,
		      *start = mark;

	if (!mark)
		return (struct slice){ 0 };
	while (start > word.data && (start[-1] | 0x20) >= 'a' && (start[-1] | 0x20) <= 'z')
		start--;
	return slice_of(start, word.len - (size_t)(start - word.data));
}

static char *of_addresses(struct slice text, const char *url)
{
	struct slice word;

	while (next_word(&text, &word)) {
		struct slice address = address_in(word);
		cleanup_free char *whole = NULL, *plain = NULL;
		char *authorization = NULL;

		if (!address.len || !memchr(address.data, '@', address.len))
			continue;
		whole = xasprintf("%.*s", (int)address.len, (const char *)address.data);
		plain = apt_cut_credentials(whole, &authorization);
		explicit_bzero(whole, strlen(whole));
		if (authorization && http_same_origin(plain, url))
			return authorization;
		authorization_free(&authorization);
	}
	return NULL;
}

/* The host of an address, or "". */
static struct slice host_of(const char *url)
{
	const char *mark = strstr(url, "://"), *start = mark ? mark + 3 : url, *at;
	size_t n = strcspn(start, "/?#");

	at = n ? memrchr(start, '@', n) : NULL;
	if (at) {
		n -= (size_t)(at + 1 - start);
		start = at + 1;
	}
	if (n && start[0] == '[')
		return slice_of(start, MIN(n, strcspn(start, "]") + 1));
	return slice_of(start, MIN(n, strcspn(start, ":")));
}

struct login {
	struct slice name, password;
	bool has_name;
};

static char *basic(const struct login *l)
{
	cleanup_free char *name = xasprintf("%.*s", (int)l->name.len, (const char *)l->name.data);
	cleanup_free char *password =
		xasprintf("%.*s", (int)l->password.len, (const char *)l->password.data);
	char *value = apt_basic(name, password);

	explicit_bzero(password, strlen(password));
	return value;
}

/* "machine HOST login NAME password SECRET"; "default" for all others. */
static char *of_netrc(struct slice text, const char *url)
{
	struct slice host = host_of(url), word, value;
	struct login found = { 0 };
	bool mine = false;

	while (apt_cut_word(&text, &word)) {
		if (slice_is(word, "machine") || slice_is(word, "default")) {
			if (mine && found.has_name)
				break;
			found = (struct login){ 0 };
			mine = slice_is(word, "default") ||
			       (apt_cut_word(&text, &value) && slice_equal(value, host));
		} else if (slice_is(word, "macdef")) {
			break; /* commands of ftp follow */
		} else if (mine && slice_is(word, "login")) {
			found.has_name = apt_cut_word(&text, &found.name);
		} else if (mine && slice_is(word, "password")) {
			apt_cut_word(&text, &found.password);
		} else if (slice_is(word, "login") || slice_is(word, "password") ||
			   slice_is(word, "account")) {
			apt_cut_word(&text, &value);
		}
	}
	return mine && found.has_name ? basic(&found) : NULL;
}

char *index_credentials_for(const struct index_credentials *c, const char *url)
{
	char *value = NULL, *plain;

	if (!str_starts(url, "http://") && !str_starts(url, "https://"))
		return NULL;
	plain = apt_cut_credentials(url, &value); /* the address's own come first */
	free(plain);
	if (!value)
		value = of_addresses(strbuf_slice(&c->addresses), url);
	return value ? value : of_netrc(strbuf_slice(&c->netrc), url);
}

void index_credentials_release(struct index_credentials *c)
{
	strbuf_wipe(&c->addresses);
	strbuf_wipe(&c->netrc);
}

void authorization_free(char **value)
{
	if (*value)
		explicit_bzero(*value, strlen(*value));
	free(*value);
	*value = NULL;
}
