/*
 * One suite of one repository: its Release, fetched and checked, and its Packages indexes, fetched
 * through it. Indexes are kept in the store under their digest, so that an unchanged repository
 * costs its Release alone.
 */
#ifndef BUILDER_SOURCES_APT_REPOSITORY_H
#define BUILDER_SOURCES_APT_REPOSITORY_H

#include "builder/sources/apt_config.h"
#include "builder/sources/apt_release.h"
#include "builder/store.h"
#include "net/http.h"

struct apt_repository {
	struct arena arena;
	const char *url;     /* of the folder with Release: "http://…/dists/bookworm/" */
	const char *base;    /* what file names are relative to, "http://…/"; no credentials */
	const char *host;    /* "" for local ones */
	const char *display; /* for people, without credentials */
	char *authorization; /* heap; NULL */
	const char *proxy;   /* as http_client_proxy takes it; set by the caller, borrowed */
	const char *suite;   /* as configured */
	struct apt_release release;
};

struct apt_access {
	struct store *store;
	struct http_client *http;
	int64_t now; /* seconds since 1970, for Valid-Until */
};

/*
 * Fetch and check the Release of `source`. `authorization` (may be NULL) is copied.
 * Errors: ERROR_NETWORK and ERROR_NOT_FOUND it cannot be had; ERROR_INTEGRITY; ERROR_FORMAT;
 * ERROR_USAGE an address of a kind that is not supported.
 */
int apt_repository_open(const struct apt_access *access, const struct apt_source *source,
			const char *authorization, const struct apt_keys *keys,
			struct apt_repository *out, struct error *err) MUST_USE;
void apt_repository_release(struct apt_repository *r);

/*
 * Append the plain Packages file of a component (NULL: a flat repository) and architecture.
 * 1; 0 when the Release names none; -1 on error: ERROR_INTEGRITY names what differs.
 */
int apt_repository_packages(const struct apt_access *access, const struct apt_repository *r,
			    const char *component, const char *arch, struct strbuf *out,
			    struct error *err) MUST_USE;
/* Address of a file of the repository, percent-encoded; heap. */
char *apt_repository_url(const char *base, struct slice filename);
/*
 * "user:password@" of an address becomes the value of a header, in *out_authorization (heap; what
 * was there is freed); the address without it, heap.
 */
char *apt_cut_credentials(const char *uri, char **out_authorization);

#endif
