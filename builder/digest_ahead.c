#include "builder/digest_ahead.h"

#include <pthread.h>

#include "base/fs.h"

enum { LANES = 2, CHUNK = 128 * 1024 };

/* Takes files from the queue until there are none. */
struct worker {
	struct pool_job job;
	struct digest_ahead *ahead;
	bool busy, ever; /* has files to look for; was submitted once */
};

struct digest_ahead {
	struct pool *pool;
	pthread_mutex_t lock; /* guards all below, and `done` of files */
	pthread_cond_t changed;
	struct digest_ahead_file *head, *tail;
	unsigned count;
	struct worker workers[];
};

/* A file that is being read. */
struct lane {
	struct digest_ahead_file *file; /* NULL: none */
	int fd;
	struct digest_state state;
	uint64_t at;        /* how far it was read */
	struct slice ready; /* in `bytes`, not digested yet */
	uint8_t *bytes;
};

static struct digest_ahead_file *take(struct digest_ahead *d)
{
	struct digest_ahead_file *f;

	pthread_mutex_lock(&d->lock);
	f = d->head;
	if (f)
		d->head = f->next;
	pthread_mutex_unlock(&d->lock);
	return f;
}

static void finished(struct digest_ahead *d, struct digest_ahead_file *f)
{
	pthread_mutex_lock(&d->lock);
	f->done = true;
	pthread_cond_broadcast(&d->changed);
	pthread_mutex_unlock(&d->lock);
}

static int stamp_of(int fd, const char *path, struct file_stamp *out, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "look at %s", path);
	*out = file_stamp_of(&st);
	return 0;
}

static int lane_open(struct lane *l, struct error *err)
{
	struct digest_ahead_file *f = l->file;

	f->read_at = file_stamp_now();
	l->fd = fs_open(AT_FDCWD, f->path, err);
	l->at = 0;
	digest_init(&l->state, DIGEST_SHA256);
	return l->fd < 0 ? -1 : stamp_of(l->fd, f->path, &f->stamp, err);
}

/* The next bytes; none at the end of what the file had when it was opened, or has now. */
static int lane_read(struct lane *l, struct error *err)
{
	struct digest_ahead_file *f = l->file;
	size_t wanted = (size_t)MIN(f->stamp.size - l->at, (uint64_t)CHUNK);
	ssize_t n = 0;

	if (wanted)
		do
			n = pread(l->fd, l->bytes, wanted, (off_t)l->at);
		while (n < 0 && errno == EINTR);
	if (n < 0)
		return error_set_errno(err, errno, "read %s", f->path);
	l->ready = slice_of(l->bytes, (size_t)n);
	l->at += (uint64_t)n;
	return 0;
}

static int lane_end(struct lane *l, struct error *err)
{
	struct digest_ahead_file *f = l->file;
	struct file_stamp after;

	if (stamp_of(l->fd, f->path, &after, err) < 0)
		return -1;
	if (l->at != f->size || !file_stamp_equal(&f->stamp, &after))
		return error_set(err, ERROR_INTEGRITY, "%s: changed while it was read", f->path);
	f->digest = digest_finish(&l->state);
	return 0;
}

static void lane_close(struct lane *l, struct digest_ahead *d)
{
	if (l->fd >= 0)
		close(l->fd);
	digest_release(&l->state);
	finished(d, l->file);
	l->file = NULL;
}

/* On with the lane's file, or the next of the queue; false when there is none. */
static bool lane_advance(struct lane *l, struct digest_ahead *d)
{
	struct digest_ahead_file *next = l->file ? NULL : take(d);
	int rc = 0;

	if (next) {
		l->file = next;
		rc = lane_open(l, &next->error);
	}
	if (!l->file)
		return false;
	if (rc == 0)
		rc = lane_read(l, &l->file->error);
	if (rc == 0 && !l->ready.len)
		rc = lane_end(l, &l->file->error);
	if (!l->ready.len) /* read to its end, or it cannot be read */
		lane_close(l, d);
	return true;
}

/* See to it that the lane has bytes of some file. */
static void lane_feed(struct lane *l, struct digest_ahead *d)
{
	while (!l->ready.len && lane_advance(l, d))
		;
}

static struct slice lane_take(struct lane *l, size_t len)
{
	struct slice taken = slice_of(l->ready.data, len);

	l->ready = slice_of(l->ready.data + len, l->ready.len - len);
	return taken;
}

static void lane_digest(struct lane *l)
{
	struct slice all = lane_take(l, l->ready.len);

	digest_update(&l->state, all.data, all.len);
}

static void digest_all(struct digest_ahead *d)
{
	cleanup_free uint8_t *bytes = xmalloc((size_t)LANES * CHUNK);
	struct lane a = { .bytes = bytes }, b = { .bytes = bytes + CHUNK };

	for (;;) {
		size_t both;

		lane_feed(&a, d);
		lane_feed(&b, d);
		both = MIN(a.ready.len, b.ready.len);
		if (both)
			digest_update_both(&a.state, lane_take(&a, both), &b.state,
					   lane_take(&b, both));
		else if (a.ready.len)
			lane_digest(&a);
		else if (b.ready.len)
			lane_digest(&b);
		else
			return;
	}
}

static void work(struct pool_job *job)
{
	struct worker *w = (struct worker *)job;
	struct digest_ahead *d = w->ahead;
	bool more;

	do {
		digest_all(d);
		pthread_mutex_lock(&d->lock);
		more = w->busy = d->head;
		pthread_mutex_unlock(&d->lock);
	} while (more);
}

struct digest_ahead *digest_ahead_new(struct pool *pool)
{
	unsigned count = pool ? pool_threads(pool) : 0;
	struct digest_ahead *d = xcalloc(1, sizeof(*d) + count * sizeof(d->workers[0]));

	d->pool = pool;
	d->count = count;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->changed, NULL);
	for (unsigned i = 0; i < count; i++)
		d->workers[i] = (struct worker){ .job.run = work, .ahead = d };
	return d;
}

/* One that has nothing to do, which then has. */
static struct worker *idle_worker(struct digest_ahead *d)
{
	for (unsigned i = 0; i < d->count; i++) {
		if (!d->workers[i].busy) {
			d->workers[i].busy = true;
			return &d->workers[i];
		}
	}
	return NULL;
}

void digest_ahead_submit(struct digest_ahead *d, struct digest_ahead_file *f)
{
	struct worker *w;

	f->done = false;
	f->next = NULL;
	f->error = (struct error){ 0 };
	pthread_mutex_lock(&d->lock);
	if (d->head)
		d->tail->next = f;
	else
		d->head = f;
	d->tail = f;
	w = idle_worker(d);
	pthread_mutex_unlock(&d->lock);
	if (!w)
		return;
	if (w->ever) /* it may still be about to return */
		pool_wait(d->pool, &w->job);
	w->ever = true;
	pool_submit(d->pool, &w->job);
}

int digest_ahead_wait(struct digest_ahead *d, struct digest_ahead_file *f)
{
	if (!d->pool)
		digest_all(d);
	pthread_mutex_lock(&d->lock);
	while (!f->done)
		pthread_cond_wait(&d->changed, &d->lock);
	pthread_mutex_unlock(&d->lock);
	return f->error.code ? -1 : 0;
}

void digest_ahead_free(struct digest_ahead *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < d->count; i++) {
		if (d->workers[i].ever)
			pool_wait(d->pool, &d->workers[i].job);
	}
	pthread_mutex_destroy(&d->lock);
	pthread_cond_destroy(&d->changed);
	free(d);
}
