#include <strings.h>

#include "builder/sources/apt_config.h"

#include "base/fs.h"
#include "formats/deb822.h"

enum { FILE_LIMIT = 4 * 1024 * 1024, SOURCES_LIMIT = 1000, WORDS_LIMIT = 200, QUOTE = 60 };

void apt_config_release(struct apt_config *config)
{
	if (!config)
		return;
	vec_release(&config->sources);
	vec_release(&config->pins);
	vec_release(&config->keyrings);
	vec_release(&config->auths);
	vec_release(&config->proxies);
	arena_release(&config->arena);
}

static int bad(const char *name, size_t line, const char *what, struct slice value,
	       struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	strbuf_add_quoted(&text, value, QUOTE);
	return error_set(err, ERROR_USAGE, "%s:%zu: %s: %s", name, line, what, strbuf_text(&text));
}

static bool says_yes(struct slice s)
{
	return slice_is_word(s, "yes") || slice_is_word(s, "true") || slice_is_word(s, "1") ||
	       slice_is_word(s, "on") || slice_is_word(s, "with") || slice_is_word(s, "enable");
}

static bool says_no(struct slice s)
{
	return slice_is_word(s, "no") || slice_is_word(s, "false") || slice_is_word(s, "0") ||
	       slice_is_word(s, "off") || slice_is_word(s, "without") ||
	       slice_is_word(s, "disable");
}

bool apt_cut_word(struct slice *rest, struct slice *out)
{
	size_t n = 0;

	*rest = slice_trim(*rest);
	*out = (struct slice){ 0 };
	if (!rest->len)
		return false;
	while (n < rest->len && !(rest->data[n] && strchr(" \t\r\n", rest->data[n])))
		n++;
	*out = slice_of(rest->data, n);
	*rest = slice_of(rest->data + n, rest->len - n);
	return true;
}

struct words {
	const char **items;
	size_t count;
};

/* Words separated by blanks, and by `separator` when it is one. */
static struct words split_words(struct arena *a, struct slice text, char separator)
{
	struct words w = { .items = arena_array(a, WORDS_LIMIT, sizeof(*w.items)) };
	struct slice word, part;

	while (w.count < WORDS_LIMIT && apt_cut_word(&text, &word)) {
		while (w.count < WORDS_LIMIT && slice_cut(&word, separator, &part)) {
			if (part.len)
				w.items[w.count++] = arena_slice(a, part);
		}
	}
	return w;
}

static const char *with_slash(struct arena *a, struct slice uri)
{
	bool has = uri.len && uri.data[uri.len - 1] == '/';

	return arena_printf(a, "%.*s%s", (int)uri.len, (const char *)uri.data, has ? "" : "/");
}

static int add_source(struct apt_config *out, const struct apt_source *source, const char *name,
		      size_t line, struct error *err)
{
	bool flat = str_ends(source->suite, "/");

	if (flat && source->component_count)
		return bad(name, line, "a suite that ends in \"/\" takes no components",
			   slice_str(source->suite), err);
	if (!flat && !source->component_count)
		return bad(name, line, "components are missing after the suite",
			   slice_str(source->suite), err);
	if (!strchr(source->uri, ':'))
		return bad(name, line, "not an address", slice_str(source->uri), err);
	if (out->sources.len == SOURCES_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s:%zu: more than %d sources", name, line,
				 SOURCES_LIMIT);
	vec_push(&out->sources, *source);
	return 0;
}

static void set_option(struct apt_config *out, struct slice key, struct slice value,
		       struct apt_source *source)
{
	if (slice_is_word(key, "arch")) {
		struct words w = split_words(&out->arena, value, ',');

		source->architectures = w.items;
		source->architecture_count = w.count;
	} else if (slice_is_word(key, "signed-by")) {
		source->signed_by = arena_slice(&out->arena, value);
	} else if (slice_is_word(key, "trusted")) {
		source->trusted = says_yes(value);
	} else if (slice_is_word(key, "check-valid-until")) {
		source->ignore_validity = says_no(value);
	}
}

/* "[ arch=amd64 signed-by=/x.gpg ]" off the front of the line. */
static bool cut_options(struct apt_config *out, struct slice *rest, struct apt_source *source)
{
	struct slice inner, word, key;

	*rest = slice_trim(*rest);
	if (!rest->len || rest->data[0] != '[')
		return true;
	*rest = slice_of(rest->data + 1, rest->len - 1);
	if (!slice_cut(rest, ']', &inner) || !rest->data)
		return false;
	while (apt_cut_word(&inner, &word)) {
		if (!slice_cut(&word, '=', &key) || !word.data)
			return false;
		set_option(out, key, word, source);
	}
	return true;
}

static int read_line(struct slice line, const char *name, size_t number, struct apt_config *out,
		     struct error *err)
{
	const uint8_t *hash = line.len ? memchr(line.data, '#', line.len) : NULL;
	struct apt_source source = { 0 };
	struct slice rest = hash ? slice_of(line.data, (size_t)(hash - line.data)) : line;
	struct slice type, uri, suite;
	struct words components;

	if (!apt_cut_word(&rest, &type) || slice_is(type, "deb-src"))
		return 0;
	if (!slice_is(type, "deb"))
		return bad(name, number, "neither \"deb\" nor \"deb-src\"", type, err);
	if (!cut_options(out, &rest, &source) || !apt_cut_word(&rest, &uri) ||
	    !apt_cut_word(&rest, &suite))
		return bad(name, number, "not \"deb [options] URI SUITE COMPONENT…\"", line, err);
	components = split_words(&out->arena, rest, ' ');
	source.uri = with_slash(&out->arena, uri);
	source.suite = arena_slice(&out->arena, suite);
	source.components = components.items;
	source.component_count = components.count;
	source.place = arena_printf(&out->arena, "%s:%zu", name, number);
	return add_source(out, &source, name, number, err);
}

int apt_refuse_nul(struct slice text, const char *name, struct error *err)
{
	const uint8_t *nul = text.len ? memchr(text.data, 0, text.len) : NULL;
	size_t line = 1;

	for (const uint8_t *c = text.data; nul && c < nul; c++)
		line += *c == '\n';
	return nul ? error_set(err, ERROR_USAGE,
			       "%s:%zu: holds a NUL byte, which no configuration of apt has; "
			       "remove it",
			       name, line)
		   : 0;
}

int apt_sources_list(struct slice text, const char *name, struct apt_config *out, struct error *err)
{
	struct slice line;

	if (apt_refuse_nul(text, name, err) < 0)
		return -1;
	for (size_t number = 1; slice_cut(&text, '\n', &line); number++) {
		if (read_line(line, name, number, out, err) < 0)
			return -1;
	}
	return 0;
}

/* An embedded key: the lines of the field, "." for empty ones. */
static const char *key_text(struct arena *a, struct slice value)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice line;

	while (slice_cut(&value, '\n', &line)) {
		line = slice_trim(line);
		if (!slice_is(line, "."))
			strbuf_add(&text, line.data, line.len);
		strbuf_addc(&text, '\n');
	}
	return arena_strdup(a, strbuf_text(&text));
}

static void read_stanza_options(struct apt_config *out, const struct deb822 *stanza,
				struct apt_source *source)
{
	struct slice value = deb822_get(stanza, "signed-by");
	struct words archs = split_words(&out->arena, deb822_get(stanza, "architectures"), ',');

	source->architectures = archs.items;
	source->architecture_count = archs.count;
	source->trusted = says_yes(deb822_get(stanza, "trusted"));
	source->ignore_validity = says_no(deb822_get(stanza, "check-valid-until"));
	if (value.len && memmem(value.data, value.len, "-----BEGIN", 10))
		source->key_text = key_text(&out->arena, value);
	else if (value.len)
		source->signed_by = arena_slice(&out->arena, value);
}

static bool has_type_deb(struct slice types)
{
	struct slice word;

	while (apt_cut_word(&types, &word)) {
		if (slice_is(word, "deb"))
			return true;
	}
	return false;
}

static int read_stanza(const struct deb822 *stanza, const char *name, size_t line,
		       struct apt_config *out, struct error *err)
{
	struct slice uris = deb822_get(stanza, "uris"), uri, suite;
	struct slice types = deb822_get(stanza, "types");
	struct words components = split_words(&out->arena, deb822_get(stanza, "components"), ' ');
	struct apt_source source = { .components = components.items,
				     .component_count = components.count };

	if (says_no(deb822_get(stanza, "enabled")))
		return 0;
	if (!types.len || !uris.len || !deb822_get(stanza, "suites").len)
		return error_set(err, ERROR_USAGE,
				 "%s:%zu: the stanza before it lacks Types, URIs or Suites", name,
				 line);
	if (!has_type_deb(types))
		return 0;
	read_stanza_options(out, stanza, &source);
	source.place = arena_printf(&out->arena, "%s:%zu", name, line);
	while (apt_cut_word(&uris, &uri)) {
		struct slice suites = deb822_get(stanza, "suites");

		source.uri = with_slash(&out->arena, uri);
		while (apt_cut_word(&suites, &suite)) {
			source.suite = arena_slice(&out->arena, suite);
			if (add_source(out, &source, name, line, err) < 0)
				return -1;
		}
	}
	return 0;
}

int apt_sources_deb822(struct slice text, const char *name, struct apt_config *out,
		       struct error *err)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	size_t line = 1;
	int rc;

	while ((rc = deb822_next(&text, name, &line, &stanza, err)) > 0) {
		if (read_stanza(&stanza, name, line, out, err) < 0)
			return -1;
	}
	return rc;
}

/* A file of the configuration by the parser for it. */
typedef int parse_fn(struct slice text, const char *name, struct apt_config *out,
		     struct error *err);

static int parse_auth(struct slice text, const char *name, struct apt_config *out,
		      struct error *err)
{
	if (apt_refuse_nul(text, name, err) < 0)
		return -1;
	apt_auth_conf(text, out);
	return 0;
}

/* Where each part lies unless Dir:: of apt.conf says otherwise; the item's name below Dir::Etc. */
static const struct {
	const char *item, *name;
} places[] = {
	[APT_PLACE_MAIN] = { "main", "apt.conf" },
	[APT_PLACE_PARTS] = { "parts", "apt.conf.d" },
	[APT_PLACE_SOURCE_LIST] = { "sourcelist", "sources.list" },
	[APT_PLACE_SOURCE_PARTS] = { "sourceparts", "sources.list.d" },
	[APT_PLACE_PREFERENCES] = { "preferences", "preferences" },
	[APT_PLACE_PREFERENCE_PARTS] = { "preferencesparts", "preferences.d" },
	[APT_PLACE_NETRC] = { "netrc", "auth.conf" },
	[APT_PLACE_NETRC_PARTS] = { "netrcparts", "auth.conf.d" },
	[APT_PLACE_TRUSTED] = { "trusted", "trusted.gpg" },
	[APT_PLACE_TRUSTED_PARTS] = { "trustedparts", "trusted.gpg.d" },
};

bool apt_config_set_place(struct apt_config *out, const char *key, struct slice value)
{
	static const char etc[] = "Dir::Etc::";

	if (strcasecmp(key, "Dir") == 0)
		out->dir = arena_slice(&out->arena, value);
	else if (strcasecmp(key, "Dir::Etc") == 0)
		out->dir_etc = arena_slice(&out->arena, value);
	else if (strncasecmp(key, etc, strlen(etc)) == 0)
		for (size_t i = 0; i < ARRAY_LEN(places); i++) {
			if (strcasecmp(key + strlen(etc), places[i].item) == 0)
				out->places[i] = arena_slice(&out->arena, value);
		}
	else
		return false;
	return true;
}

/* apt prefixes the outer folder until the path is absolute, or says where it starts. */
static bool stands_alone(const char *path)
{
	return path[0] == '/' || str_starts(path, "./") || str_starts(path, "../") ||
	       str_starts(path, "~/");
}

/* The path of a part as apt finds it, heap; NULL: it is switched off. */
static char *find_place(const struct apt_config *c, enum apt_place place)
{
	const char *own = c->places[place] ? c->places[place] : places[place].name;
	const char *outer[] = { c->dir_etc ? c->dir_etc : "etc/apt", c->dir ? c->dir : "/" };
	char *path = *own ? xstrdup(own) : NULL;

	for (size_t i = 0; path && i < ARRAY_LEN(outer) && !stands_alone(path); i++) {
		char *longer = *outer[i] ? fs_join(outer[i], path) : xstrdup(path);

		free(path);
		path = longer;
	}
	if (path && str_starts(path, "/dev/null")) {
		free(path);
		path = NULL;
	}
	return path;
}

/* `path` of the configuration in the file system: what is absolute lies below the root. */
static char *below_root(const char *root, const char *path)
{
	while (path[0] == '/' && path[1] == '/')
		path++;
	return path[0] == '/' ? fs_join(root, path + 1) : xstrdup(path);
}

static int read_file(const char *root, const char *path, parse_fn *parse, struct apt_config *out,
		     struct error *err)
{
	cleanup_free char *full = below_root(root, path);
	cleanup_strbuf struct strbuf text = { 0 };
	struct error local = { 0 };

	if (fs_read(AT_FDCWD, full, FILE_LIMIT, &text, &local) < 0) {
		/* auth.conf is often for root's eyes only: apt goes on without it, too. */
		if (local.code == ERROR_NOT_FOUND ||
		    (parse == parse_auth && local.sys_errno == EACCES))
			return 0;
		*err = local;
		return -1;
	}
	return parse(strbuf_slice(&text), path, out, err);
}

/* apt's rule: letters, digits, "-_.", and one of the endings (NULL: none at all). */
static bool name_counts(const char *name, const char *ending, bool or_none)
{
	const char *dot = strrchr(name, '.');

	for (const char *c = name; *c; c++) {
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || strchr("-_.", *c)))
			return false;
	}
	return (or_none && !dot) || (dot && str_equal(dot, ending));
}

static int read_folder(const char *root, const char *path, const char *ending, bool or_none,
		       parse_fn *parse, struct apt_config *out, struct error *err)
{
	cleanup_free char *full = below_root(root, path);
	struct fs_names names = { 0 };
	struct error local = { 0 };
	int rc = 0;

	if (fs_list(AT_FDCWD, full, &names, &local) < 0) {
		if (local.code == ERROR_NOT_FOUND || local.sys_errno == ENOENT ||
		    local.sys_errno == ENOTDIR ||
		    (parse == parse_auth && local.sys_errno == EACCES))
			return 0;
		*err = local;
		return -1;
	}
	for (size_t i = 0; i < names.len && !rc; i++) {
		cleanup_free char *file = fs_join(path, names.items[i]);

		if (parse && name_counts(names.items[i], ending, or_none))
			rc = read_file(root, file, parse, out, err);
		/* The sources, of two kinds in one folder. */
		if (!parse && name_counts(names.items[i], ".list", false))
			rc = read_file(root, file, apt_sources_list, out, err);
		if (!parse && name_counts(names.items[i], ".sources", false))
			rc = read_file(root, file, apt_sources_deb822, out, err);
	}
	fs_names_release(&names);
	return rc;
}

/* A file and a folder for one kind of thing. `ending` and `or_none`: of names in the folder. */
struct pair {
	enum apt_place file, folder;
	parse_fn *parse, *parse_parts; /* NULL: as the names say */
	const char *ending;
};

static int read_pair(const char *root, const struct pair *pair, struct apt_config *out,
		     struct error *err)
{
	cleanup_free char *file = find_place(out, pair->file);
	cleanup_free char *folder = find_place(out, pair->folder);

	if (file && read_file(root, file, pair->parse, out, err) < 0)
		return -1;
	return folder ? read_folder(root, folder, pair->ending, true, pair->parse_parts, out, err)
		      : 0;
}

/* apt.conf, which says where the rest lies: the folder comes before the file. */
static int read_conf(const char *root, const char *first, struct apt_config *out, struct error *err)
{
	cleanup_free char *folder = NULL, *file = NULL, *full = NULL;

	if (first && *first) {
		full = below_root(root, first);
		if (access(full, R_OK) < 0)
			return error_set(err, ERROR_USAGE,
					 "APT_CONFIG names %s, which cannot be read", first);
		if (read_file(root, first, apt_conf, out, err) < 0)
			return -1;
	}
	folder = find_place(out, APT_PLACE_PARTS);
	if (folder && read_folder(root, folder, ".conf", true, apt_conf, out, err) < 0)
		return -1;
	file = find_place(out, APT_PLACE_MAIN);
	return file ? read_file(root, file, apt_conf, out, err) : 0;
}

static int find_keyrings(const char *root, struct apt_config *out, struct error *err)
{
	cleanup_free char *file = find_place(out, APT_PLACE_TRUSTED);
	cleanup_free char *parts = find_place(out, APT_PLACE_TRUSTED_PARTS);
	cleanup_free char *single = file ? below_root(root, file) : NULL;
	cleanup_free char *folder = parts ? below_root(root, parts) : NULL;
	struct fs_names names = { 0 };
	struct error local = { 0 };

	if (single && fs_exists(AT_FDCWD, single))
		vec_push(&out->keyrings, arena_strdup(&out->arena, single));
	if (!folder)
		return 0;
	if (fs_list(AT_FDCWD, folder, &names, &local) < 0) {
		if (local.code == ERROR_NOT_FOUND || local.sys_errno == ENOENT)
			return 0;
		*err = local;
		return -1;
	}
	for (size_t i = 0; i < names.len; i++) {
		if (name_counts(names.items[i], ".gpg", false) ||
		    name_counts(names.items[i], ".asc", false))
			vec_push(&out->keyrings,
				 arena_printf(&out->arena, "%s/%s", folder, names.items[i]));
	}
	fs_names_release(&names);
	return 0;
}

int apt_config_read(const char *root, const char *conf, struct apt_config *out, struct error *err)
{
	static const struct pair pairs[] = {
		{ APT_PLACE_SOURCE_LIST, APT_PLACE_SOURCE_PARTS, apt_sources_list, NULL, NULL },
		{ APT_PLACE_PREFERENCES, APT_PLACE_PREFERENCE_PARTS, apt_preferences,
		  apt_preferences, ".pref" },
		{ APT_PLACE_NETRC, APT_PLACE_NETRC_PARTS, parse_auth, parse_auth, ".conf" },
	};

	if (read_conf(root, conf, out, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		if (read_pair(root, &pairs[i], out, err) < 0)
			return -1;
	}
	return find_keyrings(root, out, err);
}

bool apt_source_has_arch(const struct apt_source *source, const char *arch)
{
	for (size_t i = 0; i < source->architecture_count; i++) {
		if (str_equal(source->architectures[i], arch))
			return true;
	}
	return source->architecture_count == 0;
}
