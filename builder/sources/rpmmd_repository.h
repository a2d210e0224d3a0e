/*
 * One rpm-md repository: its repomd.xml, fetched and checked against a detached signature, and the
 * files that names, fetched and checked against its checksums. Nothing unproven leaves this file.
 * What lies under a SHA-256 is kept in the store, so that an unchanged repository costs its
 * repomd.xml alone. See docs/formats/rpm-md.md.
 */
#ifndef BUILDER_SOURCES_RPMMD_REPOSITORY_H
#define BUILDER_SOURCES_RPMMD_REPOSITORY_H

#include "base/arena.h"
#include "builder/store.h"
#include "net/http.h"

struct rpmmd_repository {
	struct arena arena;
	const char *base;     /* the folder with repodata/, ends in "/"; no credentials */
	const char *display;  /* for people */
	char *authorization;  /* heap; NULL */
	struct strbuf repomd; /* the text that was checked */
	struct digest digest; /* its SHA-256 */
	const char *keyring;  /* what it was checked with */
	bool unsigned_;       /* it has no signature: each package has to prove itself */
};

/* A file of the repository. */
struct rpmmd_file {
	const char *location; /* below base; NULL: there is none */
	struct digest digest; /* as it lies there; SHA-256 or SHA-512 */
	uint64_t size;        /* bytes as it lies there */
};

struct rpmmd_access {
	struct store *store;
	struct http_client *http;
};

/*
 * Fetch and check the repomd.xml below `url`. `keyring` is a file, armoured or binary. Where there
 * is no signature beside it, out->unsigned_ is set if TLS proves the server (or it is this
 * machine). Errors: ERROR_NETWORK and ERROR_NOT_FOUND it cannot be had; ERROR_INTEGRITY no
 * signature over plain HTTP, no keyring, or they do not fit; ERROR_USAGE an address of a kind that
 * is not supported.
 */
int rpmmd_repository_open(const struct rpmmd_access *access, const char *url, const char *keyring,
			  struct rpmmd_repository *out, struct error *err) MUST_USE;
void rpmmd_repository_release(struct rpmmd_repository *r);
/*
 * A descriptor at the start of the very bytes that `file` promises, the caller's; -1 on error:
 * ERROR_INTEGRITY names what differs.
 */
int rpmmd_repository_file(const struct rpmmd_access *access, const struct rpmmd_repository *r,
			  const struct rpmmd_file *file, struct error *err) MUST_USE;

#endif
