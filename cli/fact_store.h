/*
 * Joins lint's cache of facts to the content store: they lie there under keys/facts, so that
 * `store ls` and `store gc` know them.
 */
#ifndef CLI_FACT_STORE_H
#define CLI_FACT_STORE_H

#include "builder/store.h"
#include "cli/command.h"
#include "lint/fact_cache.h"

struct fact_store {
	struct fact_cache cache;
	struct store *store;
};

/*
 * The cache of a run, or NULL where the store cannot be written: then all is read. Release *out
 * either way.
 */
const struct fact_cache *fact_store_open(const struct invocation *in, struct fact_store *out);
void fact_store_close(struct fact_store *s);
#define cleanup_fact_store cleanup(fact_store_close)

#endif
