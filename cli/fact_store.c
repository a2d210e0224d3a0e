#include "cli/fact_store.h"

static const char KIND[] = "facts";

static int open_file(void *user, const struct digest *key)
{
	struct error ignored = { 0 };

	return store_cache_open(user, KIND, key, &ignored);
}

static int begin_file(void *user, struct fs_pending *out, struct error *err)
{
	return store_cache_new(user, out, err);
}

static int commit_file(void *user, const struct digest *key, struct fs_pending *file,
		       struct error *err)
{
	return store_cache_commit(user, KIND, key, file, err);
}

const struct fact_cache *fact_store_open(const struct invocation *in, struct fact_store *out)
{
	struct error ignored = { 0 };

	out->store = store_open(option_text(in, "store", NULL), &ignored);
	if (!out->store)
		return NULL;
	out->cache = (struct fact_cache){ out->store, open_file, begin_file, commit_file };
	return &out->cache;
}

void fact_store_close(struct fact_store *s)
{
	store_close(s->store);
}
