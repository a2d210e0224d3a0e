/*
 * build --cache-from, --cache-to: what builds elsewhere made, and what this one made for them.
 */
#ifndef CLI_REGISTRY_CACHE_H
#define CLI_REGISTRY_CACHE_H

#include "base/key.h"
#include "builder/upstream.h"
#include "cli/key_arg.h"
#include "cli/registry_arg.h"
#include "registry/origins.h"

#define REGISTRY_CACHE_OPTIONS                                                              \
	{ .name = "cache-from",                                                             \
	  .value = "docker://NAME",                                                         \
	  .repeatable = true,                                                               \
	  .help = "repository to take from what was built elsewhere of the same inputs" },  \
		{ .name = "cache-to",                                                       \
		  .value = "docker://NAME",                                                 \
		  .repeatable = true,                                                       \
		  .help = "repository to put what this build made, or used" },              \
		{ .name = "cache-key",                                                      \
		  .value = "FILE",                                                          \
		  .repeatable = true,                                                       \
		  .help = "public key whose entries are believed" },                        \
		{ .name = "cache-sign",                                                     \
		  .value = "KEY",                                                           \
		  .help = "private key that signs entries (or env://NAME)" },               \
	{                                                                                   \
		.name = "cache-unsigned",                                                   \
		.help = "believe entries without a signature: whoever may push there, may " \
			"put what they like into your images"                               \
	}

struct cache_place {
	struct reference ref;
	const char *name;
	struct origins *origins; /* of one to read from; NULL: not asked any more */
	struct client *client;   /* of its own registry */
};

struct cache_used {
	char *kind;
	struct digest key;
};

struct registry_cache {
	const struct invocation *in;
	struct registry_arg *registry;
	struct arena arena;
	VEC(struct cache_place) from;
	VEC(struct cache_place) to;
	VEC(struct key *) keys; /* public ones, of entries to believe */
	struct key *sign;
	struct store_upstream upstream;
	pthread_mutex_t asking; /* one conversation with the registries at a time */
	pthread_mutex_t lock;   /* of what follows */
	VEC(struct cache_used) used;
	size_t brought;
	uint64_t brought_bytes;
};

/* From the options; opens nothing yet. It may not move; release it in any case. ERROR_USAGE. */
int registry_cache_take(const struct invocation *in, struct registry_arg *registry,
			struct registry_cache *out, struct error *err) MUST_USE;
void registry_cache_release(struct registry_cache *c);
/* Stand behind the store from now on. */
void registry_cache_attach(struct registry_cache *c, struct store *store);
/* After a build: put what was used. What goes wrong is a warning. */
void registry_cache_save(struct registry_cache *c, struct store *store);
bool registry_cache_reads(const struct registry_cache *c);

#endif
