#include "builder/sources/apt_release.h"

#include <time.h>

#include "formats/deb822.h"

enum { FILES_LIMIT = 200000, PATH_LIMIT = 512 };

static const char begin_message[] = "-----BEGIN PGP SIGNED MESSAGE-----";
static const char begin_signature[] = "-----BEGIN PGP SIGNATURE-----";
static const char end_signature[] = "-----END PGP SIGNATURE-----";

static bool cut_line(struct slice *rest, struct slice *out)
{
	if (!slice_cut(rest, '\n', out))
		return false;
	while (out->len && strchr(" \t\r", out->data[out->len - 1]))
		out->len--;
	return true;
}

static int bad(const char *name, const char *what, struct error *err)
{
	return error_set(err, ERROR_FORMAT, "%s: %s", name, what);
}

static int split_head(struct slice *rest, const char *name, struct error *err)
{
	struct slice line;

	if (!cut_line(rest, &line) || !slice_is(line, begin_message))
		return bad(name, "does not begin with a signed message", err);
	while (cut_line(rest, &line)) {
		if (!line.len)
			return 0;
		if (!slice_starts(line, "Hash: "))
			return bad(name, "a header of the signed message is not \"Hash:\"", err);
	}
	return bad(name, "ends within the head of the signed message", err);
}

static int split_text(struct slice *rest, const char *name, struct strbuf *out, struct error *err)
{
	struct slice line;
	bool first = true;

	while (cut_line(rest, &line)) {
		if (slice_is(line, begin_signature))
			return 0;
		if (slice_starts(line, "- "))
			line = slice_of(line.data + 2, line.len - 2);
		else if (line.len && line.data[0] == '-')
			return bad(name, "a line of the signed text begins with \"-\" unescaped",
				   err);
		if (!first)
			strbuf_addc(out, '\n');
		strbuf_add(out, line.data, line.len);
		first = false;
	}
	return bad(name, "ends before its signature", err);
}

static int split_signature(struct slice *rest, const char *name, struct strbuf *out,
			   struct error *err)
{
	struct slice line;

	strbuf_adds(out, begin_signature);
	strbuf_addc(out, '\n');
	while (cut_line(rest, &line)) {
		if (line.len && line.data[0] == '-' && !slice_is(line, end_signature))
			return bad(name, "a second message within the signature", err);
		strbuf_add(out, line.data, line.len);
		strbuf_addc(out, '\n');
		if (slice_is(line, end_signature))
			return 0;
	}
	return bad(name, "ends within its signature", err);
}

int apt_clearsigned_split(struct slice in, const char *name, struct strbuf *out_text,
			  struct strbuf *out_signature, struct error *err)
{
	struct slice line;

	if (in.len && memchr(in.data, 0, in.len))
		return bad(name, "holds a NUL byte", err);
	if (split_head(&in, name, err) < 0 || split_text(&in, name, out_text, err) < 0 ||
	    split_signature(&in, name, out_signature, err) < 0)
		return -1;
	while (cut_line(&in, &line)) {
		if (line.len)
			return bad(name, "text after the signature", err);
	}
	return 0;
}

void apt_release_release(struct apt_release *r)
{
	if (!r)
		return;
	map_release(&r->files);
	arena_release(&r->arena);
}

const struct apt_release_file *apt_release_file(const struct apt_release *r, const char *path)
{
	return map_get(&r->files, path);
}

/* "Sat, 11 Jul 2026 10:16:37 UTC" → seconds since 1970; false when it is no such date. */
static bool parse_date(struct slice text, int64_t *out)
{
	static const char *const formats[] = { "%a, %d %b %Y %T UTC", "%a, %d %b %Y %T GMT",
					       "%a, %d %b %Y %T +0000", "%a, %d %b %Y %T Z" };
	char copy[64];

	if (!text.len || text.len >= sizeof(copy) || memchr(text.data, 0, text.len))
		return false;
	memcpy(copy, text.data, text.len);
	copy[text.len] = 0;
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(copy, formats[i], &tm);

		if (end && !*end) {
			*out = timegm(&tm);
			return true;
		}
	}
	return false;
}

const char *apt_date_text(int64_t date, char buf[32])
{
	time_t t = (time_t)date;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
		buf[0] = 0;
	return buf;
}

/* "hex size path" with blanks between. */
static bool split_file_line(struct slice line, struct slice *hex, struct slice *size,
			    struct slice *path)
{
	struct slice *parts[] = { hex, size, path };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		size_t n = 0;

		line = slice_trim(line);
		while (n < line.len && line.data[n] && !strchr(" \t", line.data[n]))
			n++;
		*parts[i] = slice_of(line.data, n);
		line = slice_of(line.data + n, line.len - n);
	}
	return path->len && path->len <= PATH_LIMIT && !slice_trim(line).len;
}

static int read_files(struct slice list, const char *name, struct apt_release *out,
		      struct error *err)
{
	struct slice line, hex, size, path;

	while (deb822_line(&list, &line)) {
		struct apt_release_file *file = arena_alloc(&out->arena, sizeof(*file));

		if (!split_file_line(line, &hex, &size, &path) ||
		    digest_parse_sha256_hex(hex, &file->digest, err) < 0 ||
		    !slice_u64(size, &file->size))
			return bad(name, "a line of its SHA256 list is not \"digest size path\"",
				   err);
		if (out->files.len == FILES_LIMIT)
			return error_set(err, ERROR_LIMIT, "%s: lists more than %d files", name,
					 FILES_LIMIT);
		map_put(&out->files, arena_slice(&out->arena, path), file);
	}
	return 0;
}

static bool says_yes(const struct deb822 *stanza, const char *field)
{
	return slice_is(deb822_get(stanza, field), "yes");
}

static const char *text_of(struct apt_release *r, const struct deb822 *stanza, const char *field)
{
	return arena_slice(&r->arena, deb822_get(stanza, field));
}

static int read_stanza(const struct deb822 *stanza, const char *name, struct apt_release *out,
		       struct error *err)
{
	struct slice until = deb822_get(stanza, "valid-until");

	out->suite = text_of(out, stanza, "suite");
	out->codename = text_of(out, stanza, "codename");
	out->origin = text_of(out, stanza, "origin");
	out->label = text_of(out, stanza, "label");
	out->version = text_of(out, stanza, "version");
	out->architectures = text_of(out, stanza, "architectures");
	out->components = text_of(out, stanza, "components");
	out->by_hash = says_yes(stanza, "acquire-by-hash");
	out->not_automatic = says_yes(stanza, "notautomatic");
	out->but_automatic_upgrades = says_yes(stanza, "butautomaticupgrades");
	out->no_all_packages =
		slice_is(deb822_get(stanza, "no-support-for-architecture-all"), "Packages");
	if (!parse_date(deb822_get(stanza, "date"), &out->date))
		return bad(name, "its Date is missing or cannot be read", err);
	if (until.len && !parse_date(until, &out->valid_until))
		return bad(name, "its Valid-Until cannot be read", err);
	if (!deb822_get(stanza, "sha256").len)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: lists no SHA256 digests; MD5 and SHA-1 prove nothing", name);
	return read_files(deb822_get(stanza, "sha256"), name, out, err);
}

int apt_release_parse(struct slice text, const char *name, struct apt_release *out,
		      struct error *err)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice rest = text;
	size_t line = 1;
	int rc = deb822_next(&rest, name, &line, &stanza, err);

	if (rc == 0)
		return bad(name, "is empty", err);
	if (rc < 0 || read_stanza(&stanza, name, out, err) < 0)
		return -1;
	out->digest = digest_of(text);
	return 0;
}

int apt_release_check_time(const struct apt_release *r, const char *name, int64_t now,
			   struct error *err)
{
	char until[32], date[32];

	if (r->valid_until && r->valid_until < now)
		return error_set(
			err, ERROR_INTEGRITY,
			"%s: expired on %s (Valid-Until): the mirror no longer follows its "
			"source; use another, or set Check-Valid-Until to no for this one",
			name, apt_date_text(r->valid_until, until));
	if (r->date > now + 24 * 60 * 60)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: is dated %s, which is yet to come: set this machine's clock",
				 name, apt_date_text(r->date, date));
	return 0;
}
