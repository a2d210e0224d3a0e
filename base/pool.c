#include "base/pool.h"

#include <pthread.h>
#include <sched.h>

#include "base/alloc.h"

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t submitted, finished;
	struct pool_job *head, *tail;
	bool stopping;
	unsigned threads;
	pthread_t ids[];
};

unsigned pool_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)MAX(1, MIN(64, CPU_COUNT(&set)));
}

static void *work(void *arg)
{
	struct pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct pool_job *job;

		while (!p->head && !p->stopping)
			pthread_cond_wait(&p->submitted, &p->lock);
		job = p->head;
		if (!job)
			break;
		p->head = job->next;
		if (!p->head)
			p->tail = NULL;
		pthread_mutex_unlock(&p->lock);
		job->run(job);
		pthread_mutex_lock(&p->lock);
		job->done = true;
		pthread_cond_broadcast(&p->finished);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

struct pool *pool_new(unsigned threads)
{
	unsigned count = threads ? threads : pool_processors();
	struct pool *p = xcalloc(1, sizeof(*p) + count * sizeof(p->ids[0]));

	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->submitted, NULL);
	pthread_cond_init(&p->finished, NULL);
	while (p->threads < count && pthread_create(&p->ids[p->threads], NULL, work, p) == 0)
		p->threads++;
	return p;
}

unsigned pool_threads(const struct pool *p)
{
	return MAX(1, p->threads);
}

void pool_submit(struct pool *p, struct pool_job *job)
{
	job->next = NULL;
	job->done = false;
	if (!p->threads) { /* no thread could be started: the caller does the work */
		job->run(job);
		job->done = true;
		return;
	}
	pthread_mutex_lock(&p->lock);
	if (p->tail)
		p->tail->next = job;
	else
		p->head = job;
	p->tail = job;
	pthread_cond_signal(&p->submitted);
	pthread_mutex_unlock(&p->lock);
}

void pool_wait(struct pool *p, struct pool_job *job)
{
	pthread_mutex_lock(&p->lock);
	while (!job->done)
		pthread_cond_wait(&p->finished, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void pool_join(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	pthread_cond_broadcast(&p->submitted);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->threads; i++)
		pthread_join(p->ids[i], NULL);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->submitted);
	pthread_cond_destroy(&p->finished);
	free(p);
}
