#include "oci/reference.h"

#include <sys/stat.h>

#include "base/alloc.h"

enum { NAME_BYTES_MAX = 255 };

static bool is_lower_alnum(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(uint8_t c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool reference_same_repository(const struct reference *a, const struct reference *b)
{
	return str_equal(a->registry, b->registry) && str_equal(a->repository, b->repository);
}

bool reference_tag_valid(const char *tag)
{
	size_t len = strlen(tag);

	if (!len || len > 128 || tag[0] == '.' || tag[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_alnum((uint8_t)tag[i]) && !strchr("_.-", tag[i]))
			return false;
	}
	return true;
}

bool reference_tag_attached(const char *tag)
{
	return (str_starts(tag, "sha256-") || str_starts(tag, "sha512-")) &&
	       strspn(tag + 7, "0123456789abcdef") == 64 && (!tag[71] || tag[71] == '.');
}

/* One "/"-separated part of a repository: lower-case words joined by ".", "_", "__" or dashes. */
static bool component_valid(struct slice s)
{
	size_t i = 0;

	for (;;) {
		size_t start = i, dashes;

		while (i < s.len && is_lower_alnum(s.data[i]))
			i++;
		if (i == start)
			return false;
		if (i == s.len)
			return true;
		for (dashes = 0; i < s.len && s.data[i] == '-'; i++)
			dashes++;
		if (dashes)
			continue;
		if (s.data[i] == '.')
			i++;
		else if (s.data[i] == '_')
			i += i + 1 < s.len && s.data[i + 1] == '_' ? 2 : 1;
		else
			return false;
	}
}

static bool repository_valid(struct slice s)
{
	struct slice part;

	if (!s.len)
		return false;
	while (slice_cut(&s, '/', &part)) {
		if (!component_valid(part))
			return false;
	}
	return true;
}

static bool port_valid(struct slice s)
{
	uint64_t port = 0;

	return s.len <= 5 && slice_u64(s, &port) && port > 0 && port <= 65535;
}

static bool label_valid(struct slice s)
{
	if (!s.len || s.data[0] == '-' || s.data[s.len - 1] == '-')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_alnum(s.data[i]) && s.data[i] != '-')
			return false;
	}
	return true;
}

static bool ipv6_valid(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!strchr("0123456789abcdefABCDEF:.", s.data[i]) || !s.data[i])
			return false;
	}
	return s.len > 1;
}

/* host, host:port, [v6], [v6]:port */
static bool registry_valid(struct slice s)
{
	struct slice host = s, label;
	const uint8_t *at;

	if (s.len && s.data[0] == '[') {
		at = memchr(s.data, ']', s.len);
		if (!at || !ipv6_valid(slice_of(s.data + 1, (size_t)(at - s.data - 1))))
			return false;
		s = slice_of(at + 1, (size_t)(s.data + s.len - at - 1));
		return !s.len || (s.data[0] == ':' && port_valid(slice_of(s.data + 1, s.len - 1)));
	}
	at = s.len ? memchr(s.data, ':', s.len) : NULL;
	if (at) {
		host.len = (size_t)(at - s.data);
		if (!port_valid(slice_of(at + 1, s.len - host.len - 1)))
			return false;
	}
	if (!host.len)
		return false;
	while (slice_cut(&host, '.', &label)) {
		if (!label_valid(label))
			return false;
	}
	return true;
}

/* Whether the part before the first "/" is a host rather than the start of a repository. */
static bool looks_like_registry(struct slice s)
{
	if (slice_is(s, "localhost"))
		return true;
	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] == '.' || s.data[i] == ':' || (s.data[i] >= 'A' && s.data[i] <= 'Z'))
			return true;
	}
	return false;
}

static int refuse(const char *text, struct error *err, const char *what, struct slice part)
{
	return error_set(err, ERROR_USAGE, "'%.200s' is no image reference: %s '%.*s' is not valid",
			 text, what, (int)MIN(part.len, (size_t)150),
			 part.len ? (const char *)part.data : "");
}

static struct slice slice_between(const char *from, const char *to)
{
	return slice_of(from, (size_t)(to - from));
}

static bool hex_64(const char *s)
{
	return strlen(s) == 64 && strspn(s, "0123456789abcdef") == 64;
}

/* registry and repository out of the name without tag and digest. */
static int parse_name(const char *text, struct slice name, struct arena *arena,
		      struct reference *out, struct error *err)
{
	const uint8_t *slash = name.len ? memchr(name.data, '/', name.len) : NULL;
	struct slice host = { 0 }, path = name;

	if (slash) {
		host = slice_of(name.data, (size_t)(slash - name.data));
		if (looks_like_registry(host))
			path = slice_of(slash + 1, name.len - host.len - 1);
		else
			host = (struct slice){ 0 };
	}
	if (host.len && !registry_valid(host))
		return refuse(text, err, "the registry", host);
	if (!repository_valid(path))
		return refuse(text, err, "the repository", path);
	if (name.len > NAME_BYTES_MAX)
		return error_set(err, ERROR_USAGE,
				 "'%.200s…' is no image reference: the name is %zu characters "
				 "long, %d are allowed",
				 text, name.len, NAME_BYTES_MAX);
	if (!host.len || slice_is(host, "index.docker.io") ||
	    slice_is(host, "registry-1.docker.io"))
		host = slice_str("docker.io");
	out->registry = arena_slice(arena, host);
	out->repository = arena_slice(arena, path);
	if (str_equal(out->registry, "docker.io") && !strchr(out->repository, '/'))
		out->repository = arena_printf(arena, "library/%s", out->repository);
	return 0;
}

int reference_parse(const char *text, struct arena *arena, struct reference *out, struct error *err)
{
	const char *end = text + strlen(text), *at = strchr(text, '@'), *name_end = at ? at : end;
	const char *tag = NULL;
	struct reference r = { 0 };

	if (!*text)
		return error_set(err, ERROR_USAGE, "an image reference is empty");
	for (const char *p = name_end; p > text && p[-1] != '/'; p--) {
		if (p[-1] == ':')
			tag = p;
	}
	/* "[::1]" alone is no tag: the last colon counts, and only after a bracket has closed. */
	if (tag && memchr(tag, ']', (size_t)(name_end - tag)))
		tag = NULL;
	if (at) {
		struct error ignored = { 0 };

		if (digest_parse(slice_str(at + 1), &r.digest, &ignored) < 0)
			return refuse(text, err, "the digest (sha256:<64 hex digits>)",
				      slice_str(at + 1));
		r.has_digest = true;
	}
	if (tag) {
		r.tag = arena_slice(arena, slice_between(tag, name_end));
		if (!reference_tag_valid(r.tag))
			return refuse(text, err, "the tag", slice_between(tag, name_end));
		name_end = tag - 1;
	} else if (!at) {
		r.tag = "latest";
	}
	if (parse_name(text, slice_between(text, name_end), arena, &r, err) < 0)
		return -1;
	if (!at && !tag && hex_64(text))
		return error_set(
			err, ERROR_USAGE,
			"'%s' is an image id, not a reference: give the image a name first", text);
	*out = r;
	return 0;
}

const char *reference_text(const struct reference *r, struct arena *arena)
{
	char digest[DIGEST_TEXT_MAX] = "";

	if (r->has_digest)
		digest_text(&r->digest, digest);
	return arena_printf(arena, "%s/%s%s%s%s%s", r->registry, r->repository, r->tag ? ":" : "",
			    r->tag ? r->tag : "", r->has_digest ? "@" : "", digest);
}

enum kind { KIND_NOTHING, KIND_FILE, KIND_DIR, KIND_LAYOUT };

static enum kind kind_of(const char *path)
{
	cleanup_free char *mark = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return KIND_NOTHING;
	if (!S_ISDIR(st.st_mode))
		return KIND_FILE;
	mark = xasprintf("%s/oci-layout", path);
	return stat(mark, &st) == 0 ? KIND_LAYOUT : KIND_DIR;
}

/*
 * Cut "PATH:TAG". An existing path is taken whole; else the longest one that exists before a ":";
 * else, for a file yet to be written, what stands before the last ":" if a valid tag follows.
 */
static void split_path(const char *text, struct arena *arena, struct image_name *out)
{
	const char *last = strrchr(text, ':');

	out->path = arena_strdup(arena, text);
	if (kind_of(text) != KIND_NOTHING)
		return;
	for (const char *p = text + strlen(text); p > text; p--) {
		const char *path;

		if (p[0] != ':' || !p[1])
			continue;
		path = arena_slice(arena, slice_between(text, p));
		if (kind_of(path) == KIND_NOTHING)
			continue;
		out->path = path;
		out->tag = arena_strdup(arena, p + 1);
		return;
	}
	if (last && last > text && reference_tag_valid(last + 1)) {
		out->path = arena_slice(arena, slice_between(text, last));
		out->tag = arena_strdup(arena, last + 1);
	}
}

static const struct prefix {
	const char *text;
	enum transport transport;
	bool is_path, has_tag;
} prefixes[] = {
	{ "oci:", TRANSPORT_OCI, true, true },
	{ "oci-archive:", TRANSPORT_OCI_ARCHIVE, true, true },
	{ "docker-archive:", TRANSPORT_DOCKER_ARCHIVE, true, true },
	{ "rootfs:", TRANSPORT_ROOTFS, true, false },
	{ "docker://", TRANSPORT_DOCKER, false, false },
	{ "docker-daemon:", TRANSPORT_DOCKER_DAEMON, false, false },
	{ "containers-storage:", TRANSPORT_CONTAINERS_STORAGE, false, false },
};

static int parse_prefixed(const struct prefix *prefix, const char *rest, struct arena *arena,
			  struct image_name *out, struct error *err)
{
	out->transport = prefix->transport;
	if (!*rest)
		return error_set(err, ERROR_USAGE, "'%.200s': %s is missing after '%s'", out->text,
				 prefix->is_path ? "the path" : "the reference", prefix->text);
	if (!prefix->is_path)
		return reference_parse(rest, arena, &out->ref, err);
	if (prefix->has_tag)
		split_path(rest, arena, out);
	else
		out->path = arena_strdup(arena, rest);
	if (out->tag && strlen(out->tag) > 512)
		return error_set(err, ERROR_USAGE, "'%.200s…': the tag is too long", out->text);
	return 0;
}

static bool written_as_path(const char *text)
{
	return text[0] == '/' || str_starts(text, "./") || str_starts(text, "../") ||
	       str_equal(text, ".") || str_equal(text, "..");
}

/* True when `text` names something that exists (with a tag: a layout or a file). */
static bool parse_existing(const char *text, struct arena *arena, struct image_name *out)
{
	enum kind kind;

	split_path(text, arena, out);
	kind = kind_of(out->path);
	if (kind == KIND_NOTHING || (kind == KIND_DIR && out->tag)) {
		out->path = out->tag = NULL;
		return false;
	}
	out->transport = kind == KIND_LAYOUT ? TRANSPORT_OCI
			 : kind == KIND_DIR  ? TRANSPORT_ROOTFS
					     : TRANSPORT_OCI_ARCHIVE;
	return true;
}

int image_name_parse(const char *text, struct arena *arena, struct image_name *out,
		     struct error *err)
{
	struct image_name name = { .text = arena_strdup(arena, text) };

	if (str_equal(text, "-")) {
		name.transport = TRANSPORT_STDIN;
		*out = name;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (!str_starts(text, prefixes[i].text))
			continue;
		if (parse_prefixed(&prefixes[i], text + strlen(prefixes[i].text), arena, &name,
				   err) < 0)
			return -1;
		*out = name;
		return 0;
	}
	if (!*text)
		return error_set(err, ERROR_USAGE, "an image name is empty");
	if (!parse_existing(text, arena, &name)) {
		if (written_as_path(text))
			return error_set(err, ERROR_NOT_FOUND, "%s: no such file or directory",
					 text);
		name.transport = TRANSPORT_DOCKER;
		if (reference_parse(text, arena, &name.ref, err) < 0)
			return error_wrap(err, "no such file or directory, and no transport "
					       "(oci:, docker://, …) is named");
	}
	*out = name;
	return 0;
}
