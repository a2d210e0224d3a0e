#include "builder/sources/rpmmd_repository.h"

#include "builder/sources/apt_release.h"
#include "builder/sources/apt_repository.h"

enum { REPOMD_LIMIT = 4 << 20, SIGNATURE_LIMIT = 1 << 20, TRIES = 4 };
#define FILE_LIMIT (UINT64_C(1) << 30)

void rpmmd_repository_release(struct rpmmd_repository *r)
{
	if (!r)
		return;
	if (r->authorization)
		explicit_bzero(r->authorization, strlen(r->authorization));
	free(r->authorization);
	strbuf_release(&r->repomd);
	arena_release(&r->arena);
	*r = (struct rpmmd_repository){ 0 };
}

static int set_addresses(const char *url, struct rpmmd_repository *r, struct error *err)
{
	cleanup_free char *plain = apt_cut_credentials(url, &r->authorization);
	cleanup_free char *display = http_url_display(plain);

	if (!str_starts(url, "http://") && !str_starts(url, "https://") &&
	    !str_starts(url, "file:///"))
		return error_set(err, ERROR_USAGE,
				 "%s: only http, https and file addresses are read", display);
	r->base = arena_printf(&r->arena, "%s%s", plain, str_ends(plain, "/") ? "" : "/");
	r->display = arena_printf(&r->arena, "%s%s", display, str_ends(display, "/") ? "" : "/");
	return 0;
}

static int download(const struct rpmmd_access *access, const struct rpmmd_repository *r,
		    const char *file, uint64_t limit, struct strbuf *out, struct error *err)
{
	cleanup_free char *url = xasprintf("%s%s", r->base, file);
	cleanup_sink struct sink *memory = sink_memory(out);
	cleanup_sink struct sink *limited = sink_limit(memory, limit);

	return http_download(access->http, url, r->authorization, TRIES, limited, err);
}

/* Nobody on the way can have changed what it says. */
static bool is_proven_server(const char *base)
{
	return str_starts(base, "https://") || str_starts(base, "http://127.0.0.1:") ||
	       str_starts(base, "http://127.0.0.1/");
}

/* Its signature, or the finding that it has none. */
static int check_signature(const struct rpmmd_access *access, struct rpmmd_repository *r,
			   const char *name, struct error *err)
{
	cleanup_strbuf struct strbuf signature = { 0 };
	const struct apt_keys keys = { .keyrings = &r->keyring,
				       .keyring_count = 1,
				       .setting = "gpgkey" };
	struct error missing = { 0 };

	if (download(access, r, "repodata/repomd.xml.asc", SIGNATURE_LIMIT, &signature, &missing) ==
	    0)
		return apt_release_verify(strbuf_slice(&r->repomd), strbuf_slice(&signature), &keys,
					  name, err);
	if (missing.code != ERROR_NOT_FOUND) {
		*err = missing;
		return -1;
	}
	if (!is_proven_server(r->base))
		return error_set(err, ERROR_INTEGRITY,
				 "%s: is not signed (no repomd.xml.asc beside it) and comes over "
				 "plain HTTP; use a signed repository, or https",
				 name);
	r->unsigned_ = true;
	return 0;
}

int rpmmd_repository_open(const struct rpmmd_access *access_, const char *url, const char *keyring,
			  struct rpmmd_repository *out, struct error *err)
{
	const char *name;

	if (set_addresses(url, out, err) < 0)
		return -1;
	name = arena_printf(&out->arena, "%srepodata/repomd.xml", out->display);
	if (access(keyring, R_OK) < 0)
		return error_set(
			err, ERROR_INTEGRITY,
			"%s: the key %s is missing, which its signature is to be checked with",
			name, keyring);
	if (download(access_, out, "repodata/repomd.xml", REPOMD_LIMIT, &out->repomd, err) < 0)
		return -1;
	out->keyring = arena_strdup(&out->arena, keyring);
	if (check_signature(access_, out, name, err) < 0)
		return -1;
	out->digest = digest_of(strbuf_slice(&out->repomd));
	return 0;
}

static int differs(const struct rpmmd_repository *r, const struct rpmmd_file *file,
		   struct error *err)
{
	return error_wrap(err,
			  "%s%s is not what repomd.xml says (a mirror caught while it changes? "
			  "try again)",
			  r->display, file->location);
}

static char *address(const struct rpmmd_repository *r, const struct rpmmd_file *file)
{
	return apt_repository_url(r->base, slice_str(file->location));
}

/* Under a SHA-256: into the store, once. */
static int fetch_kept(const struct rpmmd_access *access, const struct rpmmd_repository *r,
		      const struct rpmmd_file *file, struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };
	cleanup_sink struct sink *limited = NULL;
	cleanup_free char *url = address(r, file);
	struct digest digest;
	uint64_t size;

	if (store_put_open(access->store, &pending, err) < 0)
		return -1;
	limited = sink_limit(pending.sink, file->size);
	if (http_download(access->http, url, r->authorization, TRIES, limited, err) < 0)
		return err->code == ERROR_INTEGRITY ? differs(r, file, err) : -1;
	if (store_put_commit(&pending, &file->digest, file->size, &digest, &size, err) < 0)
		return err->code == ERROR_INTEGRITY ? differs(r, file, err) : -1;
	return 0;
}

/* Under a SHA-512, which the store does not know: into a file without a name. */
static int fetch_scratch(const struct rpmmd_access *access, const struct rpmmd_repository *r,
			 const struct rpmmd_file *file, struct error *err)
{
	cleanup_fd int fd = store_scratch(access->store, err);
	cleanup_sink struct sink *raw = NULL, *digested = NULL, *limited = NULL;
	cleanup_digest struct digest_state state = { 0 };
	cleanup_free char *url = address(r, file);
	struct digest digest;
	uint64_t bytes = 0;

	if (fd < 0)
		return -1;
	digest_init(&state, file->digest.algorithm);
	raw = sink_fd(fd, "scratch file");
	digested = sink_digest(raw, &state, &bytes);
	limited = sink_limit(digested, file->size);
	if (http_download(access->http, url, r->authorization, TRIES, limited, err) < 0)
		return err->code == ERROR_INTEGRITY ? differs(r, file, err) : -1;
	if (sink_finish(digested, err) < 0)
		return -1;
	digest = digest_finish(&state);
	if (bytes != file->size || !digest_equal(&digest, &file->digest)) {
		error_set(err, ERROR_INTEGRITY, "its size or SHA-512 differs");
		return differs(r, file, err);
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set_errno(err, errno, "scratch file");
	return steal_fd(&fd);
}

int rpmmd_repository_file(const struct rpmmd_access *access, const struct rpmmd_repository *r,
			  const struct rpmmd_file *file, struct error *err)
{
	if (file->size > FILE_LIMIT)
		return error_set(err, ERROR_LIMIT, "%s%s: %" PRIu64 " bytes are more than 1 GiB",
				 r->display, file->location, file->size);
	if (file->digest.algorithm != DIGEST_SHA256)
		return fetch_scratch(access, r, file, err);
	if (!store_has(access->store, &file->digest, file->size) &&
	    fetch_kept(access, r, file, err) < 0)
		return -1;
	return store_open_verified(access->store, &file->digest, file->size, err);
}
