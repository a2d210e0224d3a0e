/*
 * Worker threads for jobs whose results the caller takes in its own order, so that nothing that
 * comes out depends on timing.
 *
 * A job is a struct of the caller's that embeds `struct pool_job`; it must live until pool_wait()
 * returned for it, and its function touches nothing that another thread touches.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include "base/base.h"

struct pool;

struct pool_job {
	void (*run)(struct pool_job *job);
	struct pool_job *next; /* private */
	bool done;             /* private */
};

/* Processors this process may use (its affinity mask), at least 1, at most 64. */
unsigned pool_processors(void);
/* `threads` 0: as many as there are processors. Never NULL. */
struct pool *pool_new(unsigned threads);
unsigned pool_threads(const struct pool *p);
/* Jobs start in the order of submission. */
void pool_submit(struct pool *p, struct pool_job *job);
/* Block until that job is done. */
void pool_wait(struct pool *p, struct pool_job *job);
/*
 * Waits for all submitted jobs, ends the threads and frees; NULL is allowed. Not called _free,
 * because libsolv exports that name.
 */
void pool_join(struct pool *p);
static inline void pool_join_p(struct pool **p)
{
	pool_join(*p);
}
#define cleanup_pool cleanup(pool_join_p)

#endif
