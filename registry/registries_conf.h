/*
 * What the host's registries.conf says: names that are blocked, that lie elsewhere, that may be
 * spoken to without TLS, and mirrors to pull from first.
 *
 * Files: $CONTAINERS_REGISTRIES_CONF, else the user's ($XDG_CONFIG_HOME/containers, by default
 * ~/.config/containers) registries.conf, else /etc/containers/registries.conf. Then, over it, the
 * *.conf files of /etc/containers/registries.conf.d (unless the user's own file was read) and of
 * the user's registries.conf.d, each folder in the order of names; a [[registry]] takes the place
 * of an earlier one with the same prefix. With $CONTAINERS_REGISTRIES_CONF that file is all.
 *
 * Of version 2 all of [[registry]] is read: prefix (also "*.example.com"), location, insecure,
 * blocked, mirror-by-digest-only and [[registry.mirror]] with location, insecure and
 * pull-from-mirror; of version 1 the lists "insecure" and "block". Names are always complete here,
 * so unqualified-search-registries, aliases and short-name-mode change nothing, as with skopeo.
 * Unknown keys are passed over.
 * Source: containers-registries.conf(5), containers-registries.conf.d(5).
 */
#ifndef REGISTRY_REGISTRIES_CONF_H
#define REGISTRY_REGISTRIES_CONF_H

#include "base/arena.h"
#include "base/error.h"
#include "base/slice.h"

enum { REGISTRIES_CONF_BYTES_MAX = 4 * 1024 * 1024, REGISTRIES_CONF_ENTRIES_MAX = 4096 };

enum pull_from { PULL_FROM_ALL = 0, PULL_FROM_DIGEST_ONLY, PULL_FROM_TAG_ONLY };

/* A place that images are pulled from. */
struct registry_place {
	const char *location; /* "host[:port][/path]", or "": as the image is named */
	bool insecure;        /* TLS need not be verified, or spoken at all */
	enum pull_from pull_from;
};

struct registry_rule {
	const char *prefix; /* "host[:port][/path]" or "*.domain" */
	const char *file;   /* that it stands in, for texts */
	struct registry_place place;
	bool blocked;
	struct registry_place *mirrors;
	size_t mirror_count;
};

struct registries_conf {
	struct arena arena;
	struct {
		struct registry_rule *items;
		size_t len, cap;
	} rules; /* no prefix twice */
};

void registries_conf_release(struct registries_conf *c);
#define cleanup_registries_conf cleanup(registries_conf_release)
/*
 * Read the host's files; none at all is 0. ERROR_FORMAT and ERROR_LIMIT name the file;
 * ERROR_SYSTEM.
 */
int registries_conf_load(struct registries_conf *out, struct error *err) MUST_USE;
/* Add what one file says (`text`, called `name`). ERROR_FORMAT, ERROR_LIMIT. */
int registries_conf_add(struct registries_conf *c, struct slice text, const char *name,
			struct error *err) MUST_USE;
/* The rule with the longest prefix that "registry/repository" begins with; NULL: there is none. */
const struct registry_rule *registries_conf_find(const struct registries_conf *c,
						 const char *registry, const char *repository);

/* Where one repository is to be asked for. */
struct registry_endpoint {
	const char *registry, *repository; /* in the arena that was given */
	bool insecure, mirror;
};

enum { REGISTRY_ENDPOINTS_MAX = 64 };

/*
 * The places to pull "registry/repository" from, in order, the last its own; `by_digest` tells
 * how the image is named. The array and its texts live in `arena`. ERROR_USAGE: it is blocked, or a
 * location that is no name of a repository; ERROR_LIMIT.
 */
int registries_conf_endpoints(const struct registries_conf *c, const char *registry,
			      const char *repository, bool by_digest, struct arena *arena,
			      struct registry_endpoint **out, size_t *out_count,
			      struct error *err) MUST_USE;

#endif
