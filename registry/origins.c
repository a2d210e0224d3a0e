#include "registry/origins.h"

#include <pthread.h>

#include "base/alloc.h"
#include "registry/registries_conf.h"

struct origin {
	struct registry_endpoint place;
	struct client_repository *repository; /* NULL: not opened */
	struct error failed;                  /* why it cannot be */
	bool demoted;
};

struct origins {
	struct arena arena;
	const struct client_options *options;
	pthread_mutex_t lock; /* of the items; held while one is opened */
	struct origin *items;
	size_t count;
};

size_t origins_count(const struct origins *o)
{
	return o->count;
}

static void tell_passed_over(struct origins *o, const struct origin *at)
{
	cleanup_free char *text =
		xasprintf("the mirror %s is passed over: %s", at->place.registry, at->failed.text);

	if (at->place.mirror && o->options->note)
		o->options->note(o->options->note_user, CLIENT_NOTE_WARNING, text);
}

struct client_repository *origins_get(struct origins *o, size_t index, struct error *err)
{
	struct origin *at = &o->items[index];
	struct client_repository *r;

	pthread_mutex_lock(&o->lock);
	if (!at->repository && !at->failed.code) {
		at->repository = client_repository_connect(at->place.registry, at->place.repository,
							   CLIENT_PULL, at->place.insecure,
							   o->options, &at->failed);
		if (!at->repository)
			tell_passed_over(o, at);
	}
	r = at->repository;
	if (!r)
		*err = at->failed;
	pthread_mutex_unlock(&o->lock);
	return r;
}

void origins_demote(struct origins *o, size_t index)
{
	pthread_mutex_lock(&o->lock);
	o->items[index].demoted = true;
	pthread_mutex_unlock(&o->lock);
}

static bool is_demoted(struct origins *o, size_t index)
{
	bool demoted;

	pthread_mutex_lock(&o->lock);
	demoted = o->items[index].demoted;
	pthread_mutex_unlock(&o->lock);
	return demoted;
}

bool origins_more(const struct origins *o, const struct origins_walk *walk)
{
	return __builtin_popcountll(walk->asked) < (int)o->count;
}

bool origins_next(struct origins *o, struct origins_walk *walk, size_t first, size_t *out)
{
	for (unsigned demoted = 0; demoted <= 1; demoted++) {
		for (size_t i = 0; i < o->count; i++) {
			size_t at = (first + i) % o->count;

			if (walk->asked >> at & 1 || (!demoted && is_demoted(o, at)))
				continue;
			walk->asked |= UINT64_C(1) << at;
			*out = at;
			return true;
		}
	}
	return false;
}

static int find_places(struct origins *o, const struct reference *ref, struct error *err)
{
	cleanup_registries_conf struct registries_conf conf = { 0 };
	struct registry_endpoint *places;

	if (registries_conf_load(&conf, err) < 0 ||
	    registries_conf_endpoints(&conf, ref->registry, ref->repository, ref->has_digest,
				      &o->arena, &places, &o->count, err) < 0)
		return -1;
	o->items = arena_array(&o->arena, o->count, sizeof(*o->items));
	for (size_t i = 0; i < o->count; i++)
		o->items[i].place = places[i];
	return 0;
}

struct origins *origins_open(const struct reference *ref, const struct client_options *options,
			     struct error *err)
{
	struct origins *o = xcalloc(1, sizeof(*o));

	o->options = options;
	pthread_mutex_init(&o->lock, NULL);
	if (find_places(o, ref, err) == 0) {
		for (size_t i = 0; i < o->count; i++) {
			struct error failed = { 0 };

			if (origins_get(o, i, &failed))
				return o;
			*err = failed;
		}
	}
	origins_close(o);
	return NULL;
}

void origins_close(struct origins *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++)
		client_repository_close(o->items[i].repository);
	pthread_mutex_destroy(&o->lock);
	arena_release(&o->arena);
	free(o);
}
