#include "cli/registry_cache.h"

#include "registry/cache.h"

/* Options. */

static int take_places(struct registry_cache *c, const char *option, bool from, struct error *err)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(c->in, option, n)); n++) {
		struct cache_place place = { .name = text };

		if (!str_starts(text, "docker://"))
			return error_set(err, ERROR_USAGE, "--%s '%s': write docker://HOST/NAME",
					 option, text);
		if (reference_parse(text + strlen("docker://"), &c->arena, &place.ref, err) < 0)
			return error_wrap(err, "--%s", option);
		if (from)
			vec_push(&c->from, place);
		else
			vec_push(&c->to, place);
	}
	return 0;
}

static int take_keys(struct registry_cache *c, struct error *err)
{
	const char *file, *sign = option_text(c->in, "cache-sign", NULL);

	for (size_t n = 0; (file = option_nth(c->in, "cache-key", n)); n++) {
		struct key *key = key_arg_public(file, err);

		if (!key)
			return error_wrap(err, "--cache-key");
		vec_push(&c->keys, key);
	}
	if (sign && !(c->sign = key_arg_private(c->in, sign, err)))
		return error_wrap(err, "--cache-sign");
	return 0;
}

static int check_trust(const struct registry_cache *c, struct error *err)
{
	bool unsigned_too = option_given(c->in, "cache-unsigned");

	if (unsigned_too && c->keys.len)
		return error_set(err, ERROR_USAGE,
				 "--cache-key and --cache-unsigned exclude each other");
	if (c->from.len && !c->keys.len && !unsigned_too)
		return error_set(err, ERROR_USAGE,
				 "--cache-from: say whom to believe: --cache-key FILE.pub (entries "
				 "signed with --cache-sign), or --cache-unsigned, and then whoever "
				 "may push there decides what is in your images");
	if (c->sign && !c->to.len)
		return error_set(err, ERROR_USAGE, "--cache-sign is of --cache-to");
	return 0;
}

int registry_cache_take(const struct invocation *in, struct registry_arg *registry,
			struct registry_cache *out, struct error *err)
{
	out->in = in;
	out->registry = registry;
	pthread_mutex_init(&out->asking, NULL);
	pthread_mutex_init(&out->lock, NULL);
	if (take_places(out, "cache-from", true, err) < 0 ||
	    take_places(out, "cache-to", false, err) < 0 || take_keys(out, err) < 0)
		return -1;
	return check_trust(out, err);
}

static void close_places(struct cache_place *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		client_free(items[i].client);
		origins_close(items[i].origins);
	}
}

void registry_cache_release(struct registry_cache *c)
{
	if (!c->in)
		return;
	close_places(c->from.items, c->from.len);
	vec_release(&c->from);
	vec_release(&c->to);
	for (size_t i = 0; i < c->keys.len; i++)
		key_free(c->keys.items[i]);
	vec_release(&c->keys);
	key_free(c->sign);
	for (size_t i = 0; i < c->used.len; i++)
		free(c->used.items[i].kind);
	vec_release(&c->used);
	pthread_mutex_destroy(&c->asking);
	pthread_mutex_destroy(&c->lock);
	arena_release(&c->arena);
}

bool registry_cache_reads(const struct registry_cache *c)
{
	return c->from.len > 0;
}

/* Reading. */

static int open_place(struct registry_cache *c, struct cache_place *p, struct error *err)
{
	struct client_repository *own;

	if (p->client)
		return 0;
	if (!p->origins)
		p->origins = origins_open(&p->ref, &c->registry->client, err);
	if (!p->origins)
		return -1;
	own = origins_get(p->origins, origins_count(p->origins) - 1, err);
	if (!own)
		return -1;
	p->client = client_new(own);
	return 0;
}

static int bring_object(struct cache_place *p, struct store *store,
			const struct cache_object *object, struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };
	struct digest digest;
	uint64_t size;

	if (store_intact(store, &object->digest, object->size))
		return 0;
	if (store_put_open(store, &pending, err) < 0 ||
	    cache_fetch(p->origins, object, pending.sink, err) < 0)
		return -1;
	return store_put_commit(&pending, &object->digest, object->size, &digest, &size, err);
}

static int bring_entry(struct registry_cache *c, struct cache_place *p, struct store *store,
		       const char *kind, const struct digest *key, struct error *err)
{
	cleanup_cache_entry struct cache_entry entry = { 0 };
	uint64_t bytes = 0;

	if (open_place(c, p, err) < 0 ||
	    cache_get(p->client, kind, key, (const struct key *const *)c->keys.items, c->keys.len,
		      &entry, err) < 0)
		return -1;
	for (size_t i = 0; i < entry.objects.len; i++) {
		if (bring_object(p, store, &entry.objects.items[i], err) < 0)
			return -1;
		bytes += entry.objects.items[i].size;
	}
	if (store_put_record(store, kind, key, strbuf_slice(&entry.record), err) < 0)
		return -1;
	c->brought++;
	c->brought_bytes += bytes;
	return 0;
}

/* One that does not answer is not asked again; one that holds what it should not is told of. */
static void tell(struct registry_cache *c, size_t index, const char *kind, const struct error *err)
{
	struct cache_place *p = &c->from.items[index];

	if (err->code == ERROR_NOT_FOUND)
		return;
	out_warn(c->in->out, "--cache-from %s: %s: %s; it is made here", p->name, kind, err->text);
	if (err->code != ERROR_NETWORK)
		return;
	client_free(p->client);
	origins_close(p->origins);
	c->from.items[index] = c->from.items[--c->from.len];
}

static bool bring(void *user, struct store *store, const char *kind, const struct digest *key)
{
	struct registry_cache *c = user;
	bool found = false;

	pthread_mutex_lock(&c->asking);
	for (size_t i = c->from.len; !found && i-- > 0;) {
		struct error err = { 0 };

		found = bring_entry(c, &c->from.items[i], store, kind, key, &err) == 0;
		if (!found)
			tell(c, i, kind, &err);
	}
	pthread_mutex_unlock(&c->asking);
	return found;
}

/* Writing. */

static void used(void *user, const char *kind, const struct digest *key)
{
	struct registry_cache *c = user;
	bool there = false;

	if (!c->to.len)
		return;
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->used.len && !there; i++)
		there = str_equal(c->used.items[i].kind, kind) &&
			digest_equal(&c->used.items[i].key, key);
	if (!there)
		vec_push(&c->used, ((struct cache_used){ xstrdup(kind), *key }));
	pthread_mutex_unlock(&c->lock);
}

void registry_cache_attach(struct registry_cache *c, struct store *store)
{
	c->upstream = (struct store_upstream){ .bring = bring, .used = used, .user = c };
	if (c->from.len + c->to.len)
		store_set_upstream(store, &c->upstream);
}

static struct stream *open_object(void *user, const struct cache_object *object, struct error *err)
{
	return store_read(user, &object->digest, object->size, err);
}

static int fill_entry(struct store *store, const struct cache_used *u, struct cache_entry *out,
		      struct error *err)
{
	struct upstream_objects objects = { 0 };
	int rc;

	out->kind = u->kind;
	out->key = u->key;
	if (store_get_record(store, u->kind, &u->key, &out->record, err) < 0)
		return -1;
	rc = upstream_objects(store, u->kind, strbuf_slice(&out->record), &objects, err);
	for (size_t i = 0; rc == 0 && i < objects.len; i++)
		vec_push(&out->objects,
			 ((struct cache_object){ objects.items[i].digest, objects.items[i].size }));
	vec_release(&objects);
	return rc;
}

static int save_one(struct registry_cache *c, struct client *client, struct store *store,
		    const struct cache_used *u, size_t *saved, struct error *err)
{
	cleanup_cache_entry struct cache_entry entry = { 0 };
	bool there;

	if (cache_has(client, u->kind, &u->key, &there, err) < 0)
		return -1;
	if (there)
		return 0;
	if (fill_entry(store, u, &entry, err) < 0 ||
	    cache_put(client, &entry, c->sign, open_object, store, err) < 0)
		return error_wrap(err, "%s", u->kind);
	(*saved)++;
	return 0;
}

static int save_to(struct registry_cache *c, const struct cache_place *to, struct store *store,
		   struct error *err)
{
	cleanup_client_repository struct client_repository *repository = client_repository_open(
		to->ref.registry, to->ref.repository, CLIENT_PUSH, &c->registry->client, err);
	cleanup_client struct client *client = NULL; /* goes before its repository */
	size_t saved = 0;

	if (!repository)
		return -1;
	client = client_new(repository);
	for (size_t i = 0; i < c->used.len; i++) {
		if (save_one(c, client, store, &c->used.items[i], &saved, err) < 0)
			return -1;
	}
	out_note(c->in->out, "--cache-to %s: %zu entries put, %zu were there", to->name, saved,
		 c->used.len - saved);
	return 0;
}

void registry_cache_save(struct registry_cache *c, struct store *store)
{
	char size[32];

	store_set_upstream(store, NULL);
	if (c->brought)
		out_note(c->in->out, "--cache-from: %zu entries, %s", c->brought,
			 out_size(c->brought_bytes, size));
	for (size_t i = 0; i < c->to.len; i++) {
		struct error err = { 0 };

		if (save_to(c, &c->to.items[i], store, &err) < 0)
			out_warn(c->in->out, "--cache-to %s: %s", c->to.items[i].name, err.text);
	}
}
