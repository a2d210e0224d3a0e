#include "builder/sources/apt_repository.h"

#include "formats/compress.h"

enum { RELEASE_LIMIT = 32 * 1024 * 1024, RELEASE_TRIES = 2, TRIES = 4 };
#define INDEX_LIMIT (UINT64_C(1) << 30)

void apt_repository_release(struct apt_repository *r)
{
	if (!r)
		return;
	apt_release_release(&r->release);
	if (r->authorization)
		explicit_bzero(r->authorization, strlen(r->authorization));
	free(r->authorization);
	arena_release(&r->arena);
}

char *apt_repository_url(const char *base, struct slice filename)
{
	struct strbuf out = { 0 };
	struct slice part;
	bool first = true;

	if (slice_starts(filename, "./"))
		filename = slice_of(filename.data + 2, filename.len - 2);
	strbuf_adds(&out, base);
	while (slice_cut(&filename, '/', &part)) {
		cleanup_free char *text = xstrndup((const char *)part.data, part.len);

		if (!first)
			strbuf_addc(&out, '/');
		http_encode(&out, text);
		first = false;
	}
	return strbuf_steal(&out);
}

/* Through the repository's proxy; the client is everybody's. */
static int download(const struct apt_access *access, const struct apt_repository *r,
		    const char *url, unsigned tries, struct sink *out, struct error *err)
{
	int rc;

	http_client_proxy(access->http, r->proxy);
	rc = http_download(access->http, url, r->authorization, tries, out, err);
	http_client_proxy(access->http, NULL);
	return rc;
}

static int download_text(const struct apt_access *access, const struct apt_repository *r,
			 const char *file, struct strbuf *out, struct error *err)
{
	cleanup_free char *url = xasprintf("%s%s", r->url, file);
	cleanup_sink struct sink *memory = sink_memory(out);
	cleanup_sink struct sink *limited = sink_limit(memory, RELEASE_LIMIT);

	return download(access, r, url, RELEASE_TRIES, limited, err);
}

/* InRelease, else Release and Release.gpg: the text and what signs it (empty: nothing). */
static int fetch_release(const struct apt_access *access, struct apt_repository *r,
			 struct strbuf *out_text, struct strbuf *out_signature, struct error *err)
{
	cleanup_strbuf struct strbuf whole = { 0 };
	cleanup_free char *name = xasprintf("%sInRelease", r->display);
	struct error local = { 0 };

	if (download_text(access, r, "InRelease", &whole, &local) == 0)
		return apt_clearsigned_split(strbuf_slice(&whole), name, out_text, out_signature,
					     err);
	if (local.code != ERROR_NOT_FOUND) {
		*err = local;
		return -1;
	}
	if (download_text(access, r, "Release", out_text, err) < 0)
		return -1;
	if (download_text(access, r, "Release.gpg", out_signature, &local) < 0 &&
	    local.code != ERROR_NOT_FOUND) {
		*err = local;
		return -1;
	}
	return 0;
}

static int check_release(const struct apt_access *access, const struct apt_source *source,
			 const struct apt_keys *keys, struct strbuf *text, struct strbuf *signature,
			 struct apt_repository *r, struct error *err)
{
	cleanup_free char *name = xasprintf("%sRelease", r->display);

	if (!source->trusted && !signature->len)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: is not signed (no InRelease, no Release.gpg beside it); "
				 "use a signed repository",
				 name);
	if (!source->trusted &&
	    apt_release_verify(strbuf_slice(text), strbuf_slice(signature), keys, name, err) < 0)
		return -1;
	if (apt_release_parse(strbuf_slice(text), name, &r->release, err) < 0)
		return -1;
	return source->ignore_validity
		       ? 0
		       : apt_release_check_time(&r->release, name, access->now, err);
}

static char *decode_percent(struct slice s)
{
	static const char digits[] = "0123456789abcdef";
	struct strbuf out = { 0 };

	for (size_t i = 0; i < s.len; i++) {
		const char *hi = i + 2 < s.len && s.data[i] == '%'
					 ? strchr(digits, s.data[i + 1] | 0x20)
					 : NULL;
		const char *lo = hi && *hi ? strchr(digits, s.data[i + 2] | 0x20) : NULL;

		if (lo && *lo) {
			strbuf_addc(&out, (char)((hi - digits) << 4 | (lo - digits)));
			i += 2;
		} else {
			strbuf_addc(&out, (char)s.data[i]);
		}
	}
	return strbuf_steal(&out);
}

char *apt_cut_credentials(const char *uri, char **out_authorization)
{
	const char *mark = strstr(uri, "://"), *rest = mark ? mark + 3 : uri;
	const char *slash = strchr(rest, '/');
	const char *at = memrchr(rest, '@', slash ? (size_t)(slash - rest) : strlen(rest));
	struct slice info, user;

	if (!mark || !at)
		return xstrdup(uri);
	info = slice_of(rest, (size_t)(at - rest));
	if (slice_cut(&info, ':', &user)) {
		cleanup_free char *login = decode_percent(user);
		cleanup_free char *password = decode_percent(info);

		free(*out_authorization);
		*out_authorization = apt_basic(login ? login : "", password ? password : "");
	}
	return xasprintf("%.*s%s", (int)(rest - uri), uri, at + 1);
}

static bool supported(const char *uri)
{
	return str_starts(uri, "http://") || str_starts(uri, "https://") ||
	       str_starts(uri, "file:/") || str_starts(uri, "copy:/");
}

static int set_addresses(const struct apt_source *source, struct apt_repository *r,
			 struct error *err)
{
	const char *uri = source->uri, *suite = source->suite;
	cleanup_free char *plain = NULL, *display = NULL;

	if (!supported(uri)) {
		display = http_url_display(uri);
		return error_set(err, ERROR_USAGE,
				 "%s: only http, https, file and copy addresses "
				 "are read",
				 display);
	}
	if (str_starts(uri, "file:") || str_starts(uri, "copy:")) {
		uri += 5;
		while (uri[0] == '/' && uri[1] == '/')
			uri++;
		plain = xasprintf("file://%s", uri);
	} else {
		plain = apt_cut_credentials(uri, &r->authorization);
	}
	r->base = arena_strdup(&r->arena, plain);
	if (str_equal(suite, "/") || str_equal(suite, "./"))
		r->url = r->base;
	else if (str_ends(suite, "/"))
		r->url = arena_printf(&r->arena, "%s%s", r->base, suite);
	else
		r->url = arena_printf(&r->arena, "%sdists/%s/", r->base, suite);
	display = http_url_display(r->url);
	r->display = arena_strdup(&r->arena, display);
	uri = strstr(r->base, "://");
	uri = uri && !str_starts(r->base, "file:") ? uri + 3 : "/";
	r->host = arena_slice(&r->arena, slice_of(uri, strcspn(uri, ":/")));
	r->suite = arena_strdup(&r->arena, suite);
	return 0;
}

/* Before anything is asked of the network: a keyring that is missing is the user's to bring. */
static int check_keyrings(const struct apt_source *source, const struct apt_keys *keys,
			  const struct apt_repository *r, struct error *err)
{
	for (size_t i = 0; !source->trusted && i < keys->keyring_count; i++) {
		if (access(keys->keyrings[i], R_OK) < 0)
			return error_set(err, ERROR_INTEGRITY,
					 "%s: keyring %s is missing, which its signature is to be "
					 "checked with",
					 r->display, keys->keyrings[i]);
	}
	return 0;
}

int apt_repository_open(const struct apt_access *access, const struct apt_source *source,
			const char *authorization, const struct apt_keys *keys,
			struct apt_repository *out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 }, signature = { 0 };

	out->authorization = authorization ? xstrdup(authorization) : NULL;
	if (set_addresses(source, out, err) < 0 || check_keyrings(source, keys, out, err) < 0 ||
	    fetch_release(access, out, &text, &signature, err) < 0)
		return -1;
	return check_release(access, source, keys, &text, &signature, out, err);
}

/* A way to get an index: its name in the Release, and what that says of it. */
struct variant {
	const char *name; /* "Packages.xz" */
	const struct apt_release_file *file;
};

static int not_as_said(const struct apt_repository *r, const char *folder, const struct variant *v,
		       struct error *err)
{
	return error_wrap(err,
			  "%s%s%s is not what the Release file says (a mirror caught while it "
			  "changes? try again)",
			  r->display, folder, v->name);
}

static int download_index(const struct apt_access *access, const struct apt_repository *r,
			  const char *folder, const struct variant *v, bool by_hash,
			  struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_sink struct sink *limited = NULL;
	char hex[DIGEST_HEX_MAX];
	cleanup_free char *url = by_hash ? xasprintf("%s%sby-hash/SHA256/%s", r->url, folder,
						     digest_hex(&v->file->digest, hex))
					 : xasprintf("%s%s%s", r->url, folder, v->name);
	struct digest digest;
	uint64_t size;

	if (store_put_open(access->store, &pending, err) < 0)
		return -1;
	limited = sink_limit(pending.sink, v->file->size);
	if (download(access, r, url, TRIES, limited, err) < 0)
		return err->code == ERROR_INTEGRITY ? not_as_said(r, folder, v, err) : -1;
	if (store_put_commit(&pending, &v->file->digest, v->file->size, &digest, &size, err) < 0)
		return not_as_said(r, folder, v, err);
	return 0;
}

static int fetch_index(const struct apt_access *access, const struct apt_repository *r,
		       const char *folder, const struct variant *v, struct error *err)
{
	struct error local = { 0 };

	if (store_has(access->store, &v->file->digest, v->file->size))
		return 0;
	if (!r->release.by_hash)
		return download_index(access, r, folder, v, false, err);
	if (download_index(access, r, folder, v, true, &local) == 0)
		return 0;
	if (local.code == ERROR_NOT_FOUND)
		return download_index(access, r, folder, v, false, err);
	*err = local;
	return -1;
}

static int read_index(const struct apt_access *access, const struct variant *v,
		      const struct apt_release_file *plain, struct strbuf *out, struct error *err)
{
	cleanup_stream struct stream *file =
		store_read(access->store, &v->file->digest, v->file->size, err);
	cleanup_stream struct stream *text = NULL;
	struct digest digest;

	if (!file)
		return -1;
	text = str_ends(v->name, "Packages") ? NULL : decompress_auto(file, NULL, err);
	if (!text && !str_ends(v->name, "Packages"))
		return -1;
	if (plain && plain->size < INDEX_LIMIT && out->len == 0) {
		/* The size is known: one allocation instead of a dozen that double. */
		strbuf_add_zeros(out, (size_t)plain->size + 1);
		strbuf_truncate(out, 0);
	}
	if (stream_read_all(text ? text : file, INDEX_LIMIT, out, err) < 0)
		return -1;
	if (!plain)
		return 0;
	digest = digest_of(strbuf_slice(out));
	if (out->len != plain->size || !digest_equal(&digest, &plain->digest))
		return error_set(err, ERROR_INTEGRITY,
				 "unpacked, it is not the file that the Release names");
	return 0;
}

int apt_repository_packages(const struct apt_access *access, const struct apt_repository *r,
			    const char *component, const char *arch, struct strbuf *out,
			    struct error *err)
{
	static const char *const endings[] = { ".xz", ".zst", ".gz", "" };
	cleanup_free char *folder =
		component ? xasprintf("%s/binary-%s/", component, arch) : xstrdup("");
	cleanup_free char *plain_path = xasprintf("%sPackages", folder);
	const struct apt_release_file *plain = apt_release_file(&r->release, plain_path);
	struct error local = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		cleanup_free char *path = xasprintf("%s%s", plain_path, endings[i]);
		cleanup_free char *name = xasprintf("Packages%s", endings[i]);
		struct variant v = { .name = name, .file = apt_release_file(&r->release, path) };

		/* Some list "./Packages.gz". */
		if (!v.file && !component) {
			cleanup_free char *dotted = xasprintf("./%s", path);

			v.file = apt_release_file(&r->release, dotted);
		}
		if (!v.file || v.file->size > INDEX_LIMIT)
			continue;
		if (fetch_index(access, r, folder, &v, &local) < 0) {
			if (local.code == ERROR_NOT_FOUND) /* named, but not kept in this form */
				continue;
			*err = local;
			return -1;
		}
		if (read_index(access, &v, plain, out, err) < 0)
			return error_wrap(err, "%s%s", r->display, path);
		return 1;
	}
	if (local.code) {
		*err = local;
		return -1;
	}
	return 0;
}
