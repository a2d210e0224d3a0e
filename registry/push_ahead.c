#include "registry/push_ahead.h"

#include <pthread.h>

#include "base/pool.h"
#include "base/vec.h"
#include "registry/upload.h"

struct target {
	struct client_repository *repository;
	struct upload_host *host;
	struct pool *pool;
};

struct push_ahead {
	const struct client_options *options;
	push_ahead_open_fn *open;
	void *user;
	struct target *targets;
	size_t target_count;
	pthread_mutex_t lock; /* of what follows */
	VEC(struct ahead_job *) jobs;
	uint64_t bytes;
	bool stop;
};

struct ahead_job {
	struct pool_job base; /* first */
	struct push_ahead *all;
	struct target *target;
	struct descriptor desc;
};

static struct stream *open_job(void *user, struct error *err)
{
	struct ahead_job *job = user;

	return job->all->open(job->all->user, &job->desc.digest, job->desc.size, err);
}

static bool is_stopped(void *user)
{
	struct push_ahead *p = ((struct ahead_job *)user)->all;
	bool stop;

	pthread_mutex_lock(&p->lock);
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return stop;
}

static void on_moved(void *user, uint64_t position, uint64_t sent)
{
	struct push_ahead *p = ((struct ahead_job *)user)->all;

	(void)position;
	pthread_mutex_lock(&p->lock);
	p->bytes += sent;
	pthread_mutex_unlock(&p->lock);
}

static void run_job(struct pool_job *base)
{
	struct ahead_job *job = (struct ahead_job *)base;
	cleanup_client struct client *c = NULL;
	struct upload upload = { .host = job->target->host,
				 .state_dir = job->all->options->state_dir,
				 .desc = &job->desc,
				 .open = open_job,
				 .stopped = is_stopped,
				 .moved = on_moved,
				 .user = job };
	struct upload_result result;
	struct error ignored = { 0 };

	if (is_stopped(job))
		return;
	c = client_new(job->target->repository);
	ignore_result(upload_blob(&upload, c, &result, &ignored)); /* the push comes back to it */
}

static bool is_first(const struct reference *refs, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (str_equal(refs[k].registry, refs[i].registry) &&
		    str_equal(refs[k].repository, refs[i].repository))
			return false;
	}
	return true;
}

static void add_target(struct push_ahead *p, const struct reference *to, unsigned parallel)
{
	struct target *t = &p->targets[p->target_count];
	struct error ignored = { 0 };

	t->repository = client_repository_open(to->registry, to->repository, CLIENT_PUSH,
					       p->options, &ignored);
	if (!t->repository)
		return;
	t->host = upload_host_open(p->options->state_dir, to->registry,
				   client_repository_realm_service(t->repository), NULL);
	t->pool = pool_new(parallel);
	p->target_count++;
}

struct push_ahead *push_ahead_start(const struct reference *destinations, size_t count,
				    const struct client_options *options, unsigned parallel,
				    push_ahead_open_fn *open, void *user)
{
	struct push_ahead *p = xcalloc(1, sizeof(*p));

	p->options = options;
	p->open = open;
	p->user = user;
	p->targets = xcalloc(count + 1, sizeof(*p->targets));
	pthread_mutex_init(&p->lock, NULL);
	for (size_t i = 0; i < count; i++) {
		if (is_first(destinations, i))
			add_target(p, &destinations[i], parallel);
	}
	return p;
}

static bool is_known(const struct push_ahead *p, const struct digest *digest)
{
	for (size_t i = 0; i < p->jobs.len; i++) {
		if (digest_equal(&p->jobs.items[i]->desc.digest, digest))
			return true;
	}
	return false;
}

void push_ahead_add(struct push_ahead *p, const struct digest *digest, uint64_t size)
{
	bool known;

	pthread_mutex_lock(&p->lock);
	known = is_known(p, digest);
	for (size_t i = known ? p->target_count : 0; i < p->target_count; i++) {
		struct ahead_job *job = xcalloc(1, sizeof(*job));

		job->base.run = run_job;
		job->all = p;
		job->target = &p->targets[i];
		job->desc = (struct descriptor){ .media_type = "application/octet-stream",
						 .digest = *digest,
						 .size = size };
		vec_push(&p->jobs, job);
		pool_submit(p->targets[i].pool, &job->base);
	}
	pthread_mutex_unlock(&p->lock);
}

void push_ahead_end(struct push_ahead *p, bool stop, uint64_t *out_bytes)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = stop;
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < p->target_count; i++) {
		pool_join(p->targets[i].pool);
		upload_host_close(p->targets[i].host);
		client_repository_close(p->targets[i].repository);
	}
	if (out_bytes)
		*out_bytes = p->bytes;
	for (size_t i = 0; i < p->jobs.len; i++)
		free(p->jobs.items[i]);
	vec_release(&p->jobs);
	pthread_mutex_destroy(&p->lock);
	free(p->targets);
	free(p);
}
