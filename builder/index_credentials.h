/*
 * The credentials of this machine for files of private package indexes: what pip would send for
 * the same address. Its report and our lock hold none, so they are looked up when a file is asked
 * for. Addresses with "user:secret@" in PIP_INDEX_URL, PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS and in
 * pip's configuration files count for their own origin (scheme, host, port); then the netrc file
 * (NETRC, else ~/.netrc) for its hosts.
 * Source: pip documentation, "Authentication", "Configuration"; inetutils documentation, "The
 * .netrc file".
 */
#ifndef BUILDER_INDEX_CREDENTIALS_H
#define BUILDER_INDEX_CREDENTIALS_H

#include "base/strbuf.h"

/* Never shown. Release it, which wipes it. */
struct index_credentials {
	struct strbuf addresses; /* texts in which addresses stand */
	struct strbuf netrc;
};

/* What there is; files that cannot be read count for nothing, as with pip. */
void index_credentials_load(struct index_credentials *out);
/* One more address that may hold some: a source's own. NULL: none. */
void index_credentials_add(struct index_credentials *c, const char *address);
/* The value of an Authorization header for `url`, or NULL. Heap; wipe it. */
char *index_credentials_for(const struct index_credentials *c, const char *url);
void index_credentials_release(struct index_credentials *c);

/* free() of such a value, wiped before. */
void authorization_free(char **value);
#define cleanup_authorization cleanup(authorization_free)

#endif
