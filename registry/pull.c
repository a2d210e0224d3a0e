#include "registry/pull.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/out.h"
#include "base/pool.h"
#include "base/vec.h"
#include "oci/image.h"
#include "oci/layout.h"
#include "registry/fetch_blob.h"
#include "registry/push_plan.h"
#include "registry/ranges.h"
#include "registry/transfer.h"

enum { PARALLEL_DEFAULT = 4, RANGES_LEAST = 8 }; /* pieces of a blob that comes in some */

#define RANGE_BYTES_DEFAULT (64 * MIB)

struct puller {
	const struct pull_request *request;
	struct push_plan plan;
	struct layout *layout;
	int partials;         /* -1: none */
	pthread_mutex_t lock; /* of all below, and of source->ops->blob */
	struct pull_result *out;
	uint64_t done_bytes, total_bytes;
	VEC(struct ranges *) ranged; /* blobs that others may help with */
	size_t jobs_left;            /* blobs that are not done */
	pthread_cond_t changed;      /* `ranged` grew, or all is done */
	bool stop;
	struct error first;
};

struct pull_job {
	struct pool_job base; /* first */
	struct puller *puller;
	const struct descriptor *desc;
	uint64_t blob_bytes; /* that are there; under the puller's lock */
};

/* Progress. */

static void tell(struct pull_job *job, struct pull_progress what)
{
	struct puller *p = job->puller;

	what.blob = &job->desc->digest;
	what.blob_bytes = job->blob_bytes;
	what.blob_size = job->desc->size;
	what.done_bytes = p->done_bytes;
	what.total_bytes = p->total_bytes;
	if (p->request->progress)
		p->request->progress(p->request->progress_user, &what);
}

/* Writes on, counts, and ends when another blob could not be had. */
struct watched_sink {
	struct sink base;
	struct sink *inner;
	struct pull_job *job;
	uint64_t written;
};

static int watched_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct watched_sink *s = (struct watched_sink *)base;
	struct puller *p = s->job->puller;
	bool stop;

	if (sink_write(s->inner, data, len, err) < 0)
		return -1;
	s->written += len;
	pthread_mutex_lock(&p->lock);
	stop = p->stop;
	p->done_bytes += len;
	s->job->blob_bytes += len;
	p->out->bytes_received += len;
	tell(s->job, (struct pull_progress){ 0 });
	pthread_mutex_unlock(&p->lock);
	return stop ? error_set(err, ERROR_SYSTEM, "given up, since another blob was") : 0;
}

static const struct sink_ops watched_ops = { .write = watched_write };

/* Partials. */

static char *partial_name(const struct digest *digest)
{
	char hex[DIGEST_HEX_MAX];

	return xasprintf("%s-%s", digest->algorithm == DIGEST_SHA256 ? "sha256" : "sha512",
			 digest_hex(digest, hex));
}

/* Hash what is there. */
static int take_prefix(int fd, struct blob_fetch *f, struct error *err)
{
	struct stat st;
	cleanup_stream struct stream *bytes = NULL, *hashed = NULL;

	f->position = 0;
	digest_release(&f->state);
	digest_init(&f->state, f->desc->digest.algorithm);
	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "look at a partial");
	if ((uint64_t)st.st_size > f->desc->size && ftruncate(fd, 0) < 0)
		return error_set_errno(err, errno, "empty a partial");
	if ((uint64_t)st.st_size <= f->desc->size && st.st_size > 0) {
		bytes = stream_fd_range(fd, 0, (uint64_t)st.st_size, "partial");
		hashed = stream_digest(bytes, &f->state, &f->position);
		if (stream_drain(hashed, NULL, err) < 0)
			return -1;
	}
	if (lseek(fd, (off_t)f->position, SEEK_SET) < 0)
		return error_set_errno(err, errno, "seek in a partial");
	return 0;
}

static void take_back(struct pull_job *job, uint64_t bytes)
{
	pthread_mutex_lock(&job->puller->lock);
	job->puller->done_bytes -= bytes;
	job->blob_bytes -= MIN(bytes, job->blob_bytes);
	pthread_mutex_unlock(&job->puller->lock);
}

static void blob_fetch_release(struct blob_fetch *f)
{
	digest_release(&f->state);
}

/* Complete it. What turns out wrong is asked for once more from the beginning. */
static int fill_partial(struct pull_job *job, int fd, struct error *err)
{
	struct puller *p = job->puller;
	cleanup(blob_fetch_release) struct blob_fetch f = {
		.desc = job->desc, .origins = registry_source_origins(p->request->remote)
	};

	digest_init(&f.state, job->desc->digest.algorithm);
	for (bool again = false;; again = true) {
		cleanup_sink struct sink *file = sink_fd_early(fd, p->request->partials);
		struct watched_sink sink = { .base = { &watched_ops }, .inner = file, .job = job };

		if (take_prefix(fd, &f, err) < 0)
			return -1;
		pthread_mutex_lock(&p->lock);
		p->done_bytes += f.position;
		job->blob_bytes = f.position;
		p->out->bytes_resumed += f.position;
		tell(job, (struct pull_progress){ .begun = true, .resumed_bytes = f.position });
		pthread_mutex_unlock(&p->lock);
		f.out = &sink.base;
		*err = (struct error){ 0 };
		if (fetch_blob(&f, err) == 0)
			return 0;
		if (err->code != ERROR_INTEGRITY)
			return -1;
		take_back(job, f.position);
		if (ftruncate(fd, 0) < 0 || again)
			return -1;
	}
}

/* Pieces. */

/* A ranges_request's `moved`. */
static bool on_piece(void *user, uint64_t bytes)
{
	struct pull_job *job = user;
	struct puller *p = job->puller;
	bool stop;

	pthread_mutex_lock(&p->lock);
	stop = p->stop;
	p->done_bytes += bytes;
	job->blob_bytes += bytes;
	p->out->bytes_received += bytes;
	tell(job, (struct pull_progress){ 0 });
	pthread_mutex_unlock(&p->lock);
	return stop;
}

static void offer(struct puller *p, struct ranges *r)
{
	pthread_mutex_lock(&p->lock);
	vec_push(&p->ranged, r);
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static void withdraw(struct puller *p, struct ranges *r)
{
	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->ranged.len; i++)
		if (p->ranged.items[i] == r)
			p->ranged.items[i--] = p->ranged.items[--p->ranged.len];
	pthread_mutex_unlock(&p->lock);
}

/* With the lock held: a piece of somebody's. */
static struct ranges *find_piece(struct puller *p, size_t *out_piece)
{
	for (size_t i = 0; i < p->ranged.len; i++)
		if (ranges_take(p->ranged.items[i], out_piece))
			return p->ranged.items[i];
	return NULL;
}

/* A thread without a blob of its own helps those that have large ones. */
static void run_helper(struct pool_job *base)
{
	struct puller *p = ((struct pull_job *)base)->puller;

	for (;;) {
		struct ranges *r;
		size_t piece;

		pthread_mutex_lock(&p->lock);
		while (!(r = find_piece(p, &piece)) && p->jobs_left && !p->stop)
			pthread_cond_wait(&p->changed, &p->lock);
		pthread_mutex_unlock(&p->lock);
		if (!r)
			return;
		ranges_fetch(r, piece);
	}
}

static uint64_t range_bytes(const struct puller *p)
{
	return p->request->range_bytes ? p->request->range_bytes : RANGE_BYTES_DEFAULT;
}

static unsigned connections(const struct puller *p)
{
	return p->request->parallel ? p->request->parallel : PARALLEL_DEFAULT;
}

/*
 * In pieces. 1: that is not to be had, or what came is wrong, and the file holds good first bytes
 * to go on from.
 */
static int fill_ranged(struct pull_job *job, int fd, const char *record, struct error *err)
{
	struct puller *p = job->puller;
	struct ranges_request request = { .origins = registry_source_origins(p->request->remote),
					  .desc = job->desc,
					  .fd = fd,
					  .dirfd = p->partials,
					  .record = record,
					  .piece = range_bytes(p),
					  .moved = on_piece,
					  .user = job };
	struct ranges_result result;
	uint64_t there;
	struct ranges *r = ranges_begin(&request, &there, err);
	size_t piece;
	int rc;

	if (!r)
		return -1;
	pthread_mutex_lock(&p->lock);
	p->done_bytes += there;
	job->blob_bytes = there;
	p->out->bytes_resumed += there;
	tell(job, (struct pull_progress){ .begun = true, .resumed_bytes = there });
	pthread_mutex_unlock(&p->lock);
	offer(p, r);
	while (ranges_take(r, &piece))
		ranges_fetch(r, piece);
	withdraw(p, r);
	rc = ranges_finish(r, &result, err);
	if (rc == 0 || (!result.no_ranges && err->code != ERROR_INTEGRITY))
		return rc;
	take_back(job, result.there);
	if (ftruncate(fd, result.no_ranges ? (off_t)result.prefix : 0) < 0)
		return error_set_errno(err, errno, "shorten a partial");
	unlinkat(p->partials, record, 0);
	return 1;
}

/* By the way that suits its size. */
static int fill(struct pull_job *job, int fd, const char *name, struct error *err)
{
	struct puller *p = job->puller;
	cleanup_free char *record = xasprintf("%s.ranges", name);
	bool large = connections(p) > 1 && job->desc->size / range_bytes(p) >= RANGES_LEAST;
	int rc = 1;

	if (large || faccessat(p->partials, record, F_OK, 0) == 0)
		rc = fill_ranged(job, fd, record, err);
	if (rc <= 0)
		return rc;
	return fill_partial(job, fd, err);
}

static int pull_remote(struct pull_job *job, struct error *err)
{
	struct puller *p = job->puller;
	cleanup_free char *name = partial_name(&job->desc->digest);
	cleanup_fd int fd = -1;
	int rc;

	/* another pull of the same blob is waited for */
	if (fs_lock_file(p->partials, name, LOCK_EX, &fd, err) < 0)
		return error_wrap(err, "partial");
	rc = fill(job, fd, name, err);
	if (rc < 0 && err->code == ERROR_INTEGRITY)
		unlinkat(p->partials, name, 0);
	if (rc < 0)
		return -1;
	if (fchmod(fd, 0444) < 0)
		return error_set_errno(err, errno, "change the mode of a partial");
	if (layout_link(p->layout, p->partials, name, &job->desc->digest, job->desc->size, err) < 0)
		return -1;
	unlinkat(p->partials, name, 0);
	return 0;
}

/* Other sources. */

static int pull_local(struct pull_job *job, struct error *err)
{
	struct puller *p = job->puller;
	struct image_source *source = p->request->source;
	cleanup_stream struct stream *bytes = NULL, *verified = NULL;
	struct descriptor got;

	pthread_mutex_lock(&p->lock);
	bytes = source->ops->blob(source, job->desc, err);
	pthread_mutex_unlock(&p->lock);
	if (!bytes)
		return -1;
	verified = stream_verify(bytes, &job->desc->digest, job->desc->size);
	if (layout_put(p->layout, verified, job->desc->size, &got, err) < 0)
		return -1;
	pthread_mutex_lock(&p->lock);
	p->done_bytes += job->desc->size;
	p->out->bytes_received += job->desc->size;
	pthread_mutex_unlock(&p->lock);
	return 0;
}

/* Blobs. */

static int pull_blob(struct pull_job *job, struct error *err)
{
	struct puller *p = job->puller;
	bool there = layout_has(p->layout, &job->desc->digest, job->desc->size);
	int rc = there ? 0 : p->request->remote ? pull_remote(job, err) : pull_local(job, err);

	if (rc < 0)
		return -1;
	pthread_mutex_lock(&p->lock);
	p->out->blobs++;
	p->out->blobs_there += there;
	if (there)
		p->done_bytes += job->desc->size;
	job->blob_bytes = job->desc->size;
	tell(job, (struct pull_progress){ .done = true, .was_there = there });
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static bool stopped(struct puller *p)
{
	bool stop;

	pthread_mutex_lock(&p->lock);
	stop = p->stop;
	pthread_mutex_unlock(&p->lock);
	return stop;
}

static void run_job(struct pool_job *base)
{
	struct pull_job *job = (struct pull_job *)base;
	struct puller *p = job->puller;
	struct error err = { 0 };
	int rc = stopped(p) ? 0 : pull_blob(job, &err);

	pthread_mutex_lock(&p->lock);
	if (rc < 0 && !p->stop)
		p->first = err;
	p->stop = p->stop || rc < 0;
	p->jobs_left--;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

static int pull_blobs(struct puller *p, struct error *err)
{
	unsigned parallel = connections(p);
	size_t count = p->plan.blobs.len;
	cleanup_free struct pull_job *jobs = xcalloc(count + parallel, sizeof(*jobs));
	struct pool *pool = pool_new(parallel);

	for (size_t i = 0; i < count; i++)
		p->jobs_left += !p->plan.blobs.items[i].nondistributable;
	for (size_t i = 0; i < count; i++) {
		jobs[i] = (struct pull_job){ .base.run = run_job,
					     .puller = p,
					     .desc = &p->plan.blobs.items[i].desc };
		if (!p->plan.blobs.items[i].nondistributable)
			pool_submit(pool, &jobs[i].base);
	}
	for (unsigned i = 0; i + 1 < parallel; i++) { /* begun once no blob waits any more */
		jobs[count + i] = (struct pull_job){ .base.run = run_helper, .puller = p };
		pool_submit(pool, &jobs[count + i].base);
	}
	pool_join(pool);
	if (!p->stop)
		return 0;
	*err = p->first;
	return -1;
}

/* Room. */

/* Bytes that are still to come. */
static uint64_t missing_bytes(struct puller *p)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->plan.blobs.len; i++) {
		const struct push_plan_blob *b = &p->plan.blobs.items[i];
		cleanup_free char *name = partial_name(&b->desc.digest);
		cleanup_free char *record = xasprintf("%s.ranges", name);
		uint64_t there;
		struct stat st;

		if (b->nondistributable)
			continue;
		p->total_bytes += b->desc.size;
		if (layout_has(p->layout, &b->desc.digest, b->desc.size))
			continue;
		bytes += b->desc.size;
		if (p->partials < 0 || fstatat(p->partials, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		there = MIN((uint64_t)st.st_size, b->desc.size);
		ignore_result(ranges_recorded(p->partials, record, b->desc.size,
					      (uint64_t)st.st_size, &there));
		bytes -= there;
	}
	return bytes;
}

static int check_room_in(const char *dir, uint64_t bytes, struct error *err)
{
	char need[32], have[32];
	struct statvfs fs;

	if (statvfs(dir, &fs) < 0 || (uint64_t)fs.f_bavail * fs.f_frsize >= bytes)
		return 0;
	return error_set(err, ERROR_SYSTEM,
			 "%s: %s are to come, and there is room for %s; free some space there or "
			 "choose another place",
			 dir, out_size(bytes, need),
			 out_size((uint64_t)fs.f_bavail * fs.f_frsize, have));
}

static int check_room(struct puller *p, struct error *err)
{
	uint64_t bytes = missing_bytes(p);

	if (check_room_in(p->request->layout, bytes, err) < 0)
		return -1;
	return p->partials < 0 ? 0 : check_room_in(p->request->partials, bytes, err);
}

/* The whole. */

static int put_documents(struct puller *p, struct error *err)
{
	size_t count = p->plan.manifests.len;
	const struct push_plan_manifest *root = &p->plan.manifests.items[count - 1];
	struct descriptor put;

	for (size_t i = 0; i < count; i++)
		if (layout_put_bytes(p->layout, strbuf_slice(&p->plan.manifests.items[i].text),
				     &put, err) < 0)
			return -1;
	for (size_t i = 0; i < p->plan.blobs.len; i++)
		if (layout_sync(p->layout, &p->plan.blobs.items[i].desc.digest, err) < 0)
			return -1;
	p->out->root = root->desc.digest;
	return layout_tag(p->layout, p->request->tag, &root->desc, err);
}

static int open_places(struct puller *p, struct error *err)
{
	const char *partials = p->request->remote ? p->request->partials : NULL;

	p->layout = layout_create(p->request->layout, err);
	if (!p->layout || (partials && fs_mkdirs(AT_FDCWD, partials, err) < 0))
		return -1;
	if (!partials)
		return 0;
	p->partials = open(partials, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return p->partials < 0 ? error_set_errno(err, errno, "open %s", partials) : 0;
}

static void explain(const struct puller *p, struct error *err)
{
	if (err->code == ERROR_SYSTEM && (err->sys_errno == ENOSPC || err->sys_errno == EDQUOT))
		error_wrap(err, "the disk is full; what came is kept, so free some space there and "
				"call again");
	else if (err->code == ERROR_NETWORK && p->out->bytes_received + p->out->bytes_resumed)
		error_wrap(err, "what came is kept, the same call goes on there");
}

int transfer_pull(const struct pull_request *request, struct pull_result *out, struct error *err)
{
	struct puller p = { .request = request, .out = out, .partials = -1 };
	uint64_t start = clock_ms(CLOCK_MONOTONIC);
	int rc = push_plan_read(request->source, &p.plan, err);

	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.changed, NULL);
	if (rc == 0 && (rc = open_places(&p, err)) == 0 && (rc = check_room(&p, err)) == 0 &&
	    (rc = pull_blobs(&p, err)) == 0)
		rc = put_documents(&p, err);
	if (rc < 0)
		explain(&p, err);
	layout_close(p.layout);
	if (p.partials >= 0)
		close(p.partials);
	push_plan_release(&p.plan);
	vec_release(&p.ranged);
	pthread_mutex_destroy(&p.lock);
	pthread_cond_destroy(&p.changed);
	out->elapsed_ms = clock_ms(CLOCK_MONOTONIC) - start;
	return rc;
}

/* One platform. */

struct platform_source {
	struct image_source base;
	struct image_source *of;
	struct image image;
};

static int platform_root(struct image_source *base, struct strbuf *out, struct descriptor *desc,
			 struct error *err)
{
	struct platform_source *s = (struct platform_source *)base;

	(void)err;
	strbuf_add(out, s->image.manifest_text.data, s->image.manifest_text.len);
	*desc = s->image.descriptor;
	return 0;
}

static struct stream *platform_blob(struct image_source *base, const struct descriptor *desc,
				    struct error *err)
{
	struct image_source *of = ((struct platform_source *)base)->of;

	return of->ops->blob(of, desc, err);
}

static void platform_close(struct image_source *base)
{
	struct platform_source *s = (struct platform_source *)base;

	image_release(&s->image);
	free(s);
}

struct image_source *source_of_platform(struct image_source *source, const char *name,
					const struct platform *platform, struct error *err)
{
	static const struct image_source_ops ops = { .root = platform_root,
						     .blob = platform_blob,
						     .close = platform_close };
	struct platform_source *s = xcalloc(1, sizeof(*s));

	s->base.ops = &ops;
	s->of = source;
	if (image_open_source(source_borrow(source), name, platform, &s->image, err) == 0)
		return &s->base;
	free(s);
	return NULL;
}
