/*
 * What a registry lists, and what it takes away.
 * Source: OCI distribution specification 1.1, "Content discovery", "Content management".
 */
#ifndef REGISTRY_LISTING_H
#define REGISTRY_LISTING_H

#include "base/arena.h"
#include "registry/client.h"

struct listing {
	const char **items; /* in the arena */
	size_t len, cap;
};

enum { LISTING_NAMES_MAX = 1000000 };

/*
 * The tags of the repository, all pages, in the registry's order. ERROR_NOT_FOUND; ERROR_FORMAT an
 * answer that is no such list, or that names itself as its next page; ERROR_LIMIT.
 */
int listing_tags(struct client *c, struct arena *arena, struct listing *out,
		 struct error *err) MUST_USE;
/*
 * The repositories of a registry opened for CLIENT_CATALOG. Many registries do not tell. Errors: as
 * listing_tags.
 */
int listing_repositories(struct client *c, struct arena *arena, struct listing *out,
			 struct error *err) MUST_USE;
/* Of "<URL>; rel=next": the URL, else an empty slice. */
struct slice listing_next(struct slice link);
/* One page's names, appended. ERROR_FORMAT. */
int listing_parse(struct slice text, const char *member, struct arena *arena, struct listing *out,
		  struct error *err) MUST_USE;
/* Delete a manifest. Registries then drop all tags of it. ERROR_NOT_FOUND, ERROR_NETWORK. */
int listing_delete(struct client *c, const struct digest *digest, struct error *err) MUST_USE;
/* Ask with our credentials whether we are known. ERROR_NETWORK when not. */
int listing_check_login(struct client *c, struct error *err) MUST_USE;

#endif
