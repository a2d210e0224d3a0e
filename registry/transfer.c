#include "registry/transfer.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/vec.h"
#include "registry/push_plan.h"
#include "registry/tag_state.h"
#include "registry/upload.h"

enum { PARALLEL_DEFAULT = 4 };

/* One repository that is being pushed to; the threads' common state. */
struct pusher {
	const struct push_request *request;
	const struct push_plan *plan;
	struct client_repository *repository;
	struct upload_host *host;
	VEC(const char *) mount_from; /* NULL-terminated */
	VEC(struct tag_state) before; /* per destination of the request; empty: they may change */
	pthread_mutex_t lock;         /* of all below, and of source->ops->blob */
	VEC(struct client *) idle;
	uint64_t done_bytes, total_bytes;
	bool stop;
	struct error first; /* of the job that went wrong first */
};

struct push_job {
	struct pool_job base; /* first */
	struct pusher *pusher;
	const struct push_plan_blob *planned;
	struct push_blob *blob;
	uint64_t blob_bytes; /* in the present try */
};

void push_result_release(struct push_result *r)
{
	free(r->blobs);
	r->blobs = NULL;
	r->blob_count = 0;
}

/* Progress. */

static void tell(struct push_job *job)
{
	struct pusher *p = job->pusher;
	struct push_progress progress = { .blob = job->blob,
					  .blob_bytes = job->blob_bytes,
					  .done_bytes = p->done_bytes,
					  .total_bytes = p->total_bytes };

	if (p->request->progress)
		p->request->progress(p->request->progress_user, &progress);
}

static void set_state(struct push_job *job, enum push_state state)
{
	pthread_mutex_lock(&job->pusher->lock);
	job->blob->state = state;
	if (state == PUSH_PRESENT || state == PUSH_SENT || state == PUSH_MOUNTED) {
		job->pusher->done_bytes += job->blob->size - job->blob_bytes;
		job->blob_bytes = job->blob->size;
	}
	tell(job);
	pthread_mutex_unlock(&job->pusher->lock);
}

/* An upload_moved: what was sent of a lost session has to be sent again. */
static void on_moved(void *user, uint64_t position, uint64_t sent)
{
	struct push_job *job = user;

	pthread_mutex_lock(&job->pusher->lock);
	job->blob->state = PUSH_SENDING;
	job->pusher->done_bytes += position - job->blob_bytes;
	job->blob_bytes = position;
	job->blob->bytes_sent += sent;
	tell(job);
	pthread_mutex_unlock(&job->pusher->lock);
}

static bool stopped(struct pusher *p)
{
	bool stop;

	pthread_mutex_lock(&p->lock);
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return stop;
}

/* Blobs. */

static bool on_stopped(void *user)
{
	return stopped(((struct push_job *)user)->pusher);
}

static struct stream *open_blob(void *user, struct error *err)
{
	struct push_job *job = user;
	struct image_source *source = job->pusher->request->source;
	struct stream *s;

	pthread_mutex_lock(&job->pusher->lock);
	s = source->ops->blob(source, &job->planned->desc, err);
	pthread_mutex_unlock(&job->pusher->lock);
	return s;
}

/* Whether the registry has anything of what is to come. */
static bool has_arrived(struct pusher *p)
{
	bool some;

	pthread_mutex_lock(&p->lock);
	some = p->done_bytes > 0;
	pthread_mutex_unlock(&p->lock);
	return some;
}

static int push_blob(struct push_job *job, struct client *c, struct error *err)
{
	static const enum push_state states[] = { [UPLOAD_WAS_THERE] = PUSH_PRESENT,
						  [UPLOAD_MOUNTED] = PUSH_MOUNTED,
						  [UPLOAD_SENT] = PUSH_SENT };
	struct upload upload = { .host = job->pusher->host,
				 .state_dir = job->pusher->request->client.state_dir,
				 .desc = &job->planned->desc,
				 .mount_from = job->pusher->mount_from.items,
				 .open = open_blob,
				 .stopped = on_stopped,
				 .moved = on_moved,
				 .user = job };
	struct upload_result result;
	int rc = upload_blob(&upload, c, &result, err);

	if (rc < 0 && result.line_broke && has_arrived(job->pusher))
		error_wrap(err, "what arrived is kept, the same call goes on there");
	job->blob->restarts = result.restarts;
	job->blob->bytes_resumed = result.resumed;
	if (rc == 0)
		set_state(job, states[result.how]);
	return rc;
}

static struct client *take_client(struct pusher *p)
{
	struct client *c = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->idle.len)
		c = p->idle.items[--p->idle.len];
	pthread_mutex_unlock(&p->lock);
	return c ? c : client_new(p->repository);
}

static void give_client(struct pusher *p, struct client *c)
{
	pthread_mutex_lock(&p->lock);
	vec_push(&p->idle, c);
	pthread_mutex_unlock(&p->lock);
}

static void run_job(struct pool_job *base)
{
	struct push_job *job = (struct push_job *)base;
	struct pusher *p = job->pusher;
	struct error err = { 0 };
	struct client *c;

	if (stopped(p))
		return;
	c = take_client(p);
	if (push_blob(job, c, &err) < 0) {
		pthread_mutex_lock(&p->lock);
		if (!p->stop)
			p->first = err;
		p->stop = true;
		pthread_mutex_unlock(&p->lock);
	}
	give_client(p, c);
}

/* All blobs, largest first; `blobs` has one element for each of the plan. */
static int push_blobs(struct pusher *p, struct push_blob *blobs, struct error *err)
{
	unsigned parallel = p->request->parallel ? p->request->parallel : PARALLEL_DEFAULT;
	struct pool *pool = pool_new(parallel);
	VEC(struct push_job) jobs = { 0 };

	vec_reserve(&jobs, p->plan->blobs.len); /* jobs must not move once submitted */
	p->done_bytes = p->total_bytes = 0;
	for (size_t i = 0; i < p->plan->blobs.len; i++)
		if (!p->plan->blobs.items[i].nondistributable)
			p->total_bytes += p->plan->blobs.items[i].desc.size;
	for (size_t i = 0; i < p->plan->blobs.len; i++) {
		struct push_job *job;

		if (p->plan->blobs.items[i].nondistributable) {
			blobs[i].state = PUSH_SKIPPED;
			continue;
		}
		job = vec_add(&jobs);
		job->base.run = run_job;
		job->pusher = p;
		job->planned = &p->plan->blobs.items[i];
		job->blob = &blobs[i];
		pool_submit(pool, &job->base);
	}
	for (size_t i = 0; i < jobs.len; i++)
		pool_wait(pool, &jobs.items[i].base);
	pool_join(pool);
	vec_release(&jobs);
	if (!p->stop)
		return 0;
	*err = p->first;
	return -1;
}

/* Manifests. */

static int put_document(struct client *c, const struct push_plan_manifest *m, const char *tag,
			struct error *err)
{
	char digest[DIGEST_TEXT_MAX];

	return client_manifest_put(c, tag ? tag : digest_text(&m->desc.digest, digest),
				   m->desc.media_type, strbuf_slice(&m->text), err);
}

/* What the tags stand for before anything is sent, when that is to count. */
static int note_tags(struct pusher *p, size_t destination, struct error *err)
{
	const struct push_request *r = p->request;
	cleanup_client struct client *c = client_new(p->repository);

	for (size_t i = 0; r->if_unchanged && i < r->destination_count; i++) {
		struct tag_state *state = vec_add(&p->before);

		*state = (struct tag_state){ 0 };
		if (r->destinations[i].tag &&
		    reference_same_repository(&r->destinations[i], &r->destinations[destination]) &&
		    tag_state_read(c, r->destinations[i].tag, state, err) < 0)
			return -1;
	}
	return 0;
}

/* The root under one name: looked at before, and after, when somebody else may not move it. */
static int put_root(struct pusher *p, struct client *c, const struct push_plan_manifest *root,
		    size_t index, struct error *err)
{
	const char *tag = p->request->destinations[index].tag;
	const struct tag_state *before = tag && p->before.len ? &p->before.items[index] : NULL;
	const struct digest *ours = &root->desc.digest;
	const struct tag_state put = { .exists = true, .digest = *ours };

	if (before && tag_state_unchanged(c, tag, before, ours, err) < 0)
		return -1;
	if (put_document(c, root, tag, err) < 0)
		return -1;
	return before ? tag_state_unchanged(c, tag, &put, ours, err) : 0;
}

/* Children by digest, then the root by each name that it is to have in this repository. */
static int put_manifests(struct pusher *p, struct client *c, size_t destination, struct error *err)
{
	const struct push_request *r = p->request;
	const struct reference *here = &r->destinations[destination];
	const struct push_plan_manifest *root =
		&p->plan->manifests.items[p->plan->manifests.len - 1];

	for (size_t i = 0; i + 1 < p->plan->manifests.len; i++)
		if (put_document(c, &p->plan->manifests.items[i], NULL, err) < 0)
			return -1;
	for (size_t i = destination; i < r->destination_count; i++)
		if (reference_same_repository(&r->destinations[i], here) &&
		    put_root(p, c, root, i, err) < 0)
			return -1;
	return 0;
}

/*
 * What a second pass may mend: a blob was lost meanwhile; or, as docker-registry 2.8 says it of a
 * digest that is right, somebody else moved the tag in the same moment.
 */
static bool may_pass(const struct client *c)
{
	const char *code = client_last(c)->code;

	return str_equal(code, "MANIFEST_BLOB_UNKNOWN") || str_equal(code, "DIGEST_INVALID");
}

/* Blobs, then manifests. */
static int push_all(struct pusher *p, size_t destination, struct push_blob *blobs,
		    struct error *err)
{
	cleanup_client struct client *c = client_new(p->repository);

	for (bool again = false;; again = true) {
		struct error failed = { 0 };

		if (push_blobs(p, blobs, err) < 0)
			return -1;
		if (put_manifests(p, c, destination, &failed) == 0)
			return 0;
		if (again || !may_pass(c)) {
			*err = failed;
			return -1;
		}
	}
}

/* Where the registry may have the blobs already. */
static void find_mounts(struct pusher *p, size_t destination)
{
	const struct push_request *r = p->request;
	const struct reference *here = &r->destinations[destination];

	for (size_t i = 0; r->mount_from && r->mount_from[i]; i++)
		if (!str_equal(r->mount_from[i], here->repository))
			vec_push(&p->mount_from, r->mount_from[i]);
	for (size_t i = 0; i < destination; i++)
		if (str_equal(r->destinations[i].registry, here->registry) &&
		    !str_equal(r->destinations[i].repository, here->repository) &&
		    !p->mount_from.len)
			vec_push(&p->mount_from, r->destinations[i].repository);
	vec_push(&p->mount_from, NULL);
}

static int push_opened(struct pusher *p, size_t destination, struct push_blob *blobs,
		       struct error *err)
{
	const struct push_request *r = p->request;
	int rc;

	pthread_mutex_init(&p->lock, NULL);
	p->host = upload_host_open(r->client.state_dir, r->destinations[destination].registry,
				   client_repository_realm_service(p->repository), r->persona);
	find_mounts(p, destination);
	rc = note_tags(p, destination, err);
	if (rc == 0)
		rc = push_all(p, destination, blobs, err);
	for (size_t i = 0; i < p->idle.len; i++)
		client_free(p->idle.items[i]);
	vec_release(&p->idle);
	vec_release(&p->mount_from);
	vec_release(&p->before);
	upload_host_close(p->host);
	pthread_mutex_destroy(&p->lock);
	return rc;
}

static int push_repository(const struct push_request *request, const struct push_plan *plan,
			   size_t destination, struct push_blob *blobs, struct error *err)
{
	const struct reference *to = &request->destinations[destination];
	struct pusher p = { .request = request, .plan = plan };
	int rc;

	p.repository = client_repository_open(to->registry, to->repository, CLIENT_PUSH,
					      &request->client, err);
	if (!p.repository)
		return -1;
	rc = push_opened(&p, destination, blobs, err);
	client_repository_close(p.repository);
	return rc;
}

/* The whole. */

static int check_destinations(const struct push_request *r, const struct descriptor *root,
			      struct error *err)
{
	char have[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < r->destination_count; i++)
		if (r->destinations[i].has_digest &&
		    !digest_equal(&r->destinations[i].digest, &root->digest))
			return error_set(
				err, ERROR_USAGE,
				"%s/%s: the destination names a digest, but the image's is %s",
				r->destinations[i].registry, r->destinations[i].repository,
				digest_text(&root->digest, have));
	return 0;
}

/* Room in the result for one more repository. */
static struct push_blob *add_blobs(struct push_result *out, const struct push_plan *plan,
				   size_t index)
{
	size_t old = out->blob_count;

	out->blob_count += plan->blobs.len;
	out->blobs =
		xreallocarray(out->blobs, MAX(out->blob_count, (size_t)1), sizeof(*out->blobs));
	for (size_t i = 0; i < plan->blobs.len; i++)
		out->blobs[old + i] =
			(struct push_blob){ .digest = plan->blobs.items[i].desc.digest,
					    .size = plan->blobs.items[i].desc.size,
					    .destination = index };
	return out->blobs + old;
}

static bool pushed_before(const struct push_request *r, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (reference_same_repository(&r->destinations[i], &r->destinations[index]))
			return true;
	return false;
}

static int push_planned(const struct push_request *request, const struct push_plan *plan,
			struct push_result *out, struct error *err)
{
	for (size_t i = 0; i < request->destination_count; i++) {
		if (pushed_before(request, i))
			continue;
		if (push_repository(request, plan, i, add_blobs(out, plan, i), err) < 0)
			return error_wrap(err, "push");
	}
	for (size_t i = 0; i < out->blob_count; i++)
		out->bytes_sent += out->blobs[i].bytes_sent;
	return 0;
}

int transfer_push(const struct push_request *request, struct push_result *out, struct error *err)
{
	cleanup_push_plan struct push_plan plan = { 0 };
	uint64_t start = clock_ms(CLOCK_MONOTONIC);
	const struct push_plan_manifest *root;

	if (push_plan_read(request->source, &plan, err) < 0)
		return error_wrap(err, "push");
	root = &plan.manifests.items[plan.manifests.len - 1];
	if (check_destinations(request, &root->desc, err) < 0)
		return -1;
	out->root = (struct descriptor){ .digest = root->desc.digest, .size = root->text.len };
	out->manifest_count = plan.manifests.len;
	if (push_planned(request, &plan, out, err) < 0)
		return -1;
	out->elapsed_ms = clock_ms(CLOCK_MONOTONIC) - start;
	return 0;
}
