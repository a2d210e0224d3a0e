#include "lint/readahead.h"

#include <pthread.h>

#include "base/alloc.h"

enum { SLOTS = 4, SLOT_BYTES = 512 * 1024 };

struct slot {
	uint8_t *data;
	size_t len;
};

struct readahead {
	struct stream base;
	struct stream *inner;
	pthread_t thread;
	bool threaded;
	pthread_mutex_t lock; /* of all below but what the taker alone uses */
	pthread_cond_t filled, emptied;
	struct slot slots[SLOTS];
	size_t first, used; /* the ring */
	bool ended, stopped;
	int status; /* -1: `err` is set */
	struct error err;
	size_t taken; /* bytes of the first slot already given; the taker's */
};

/* Fill one slot as far as the inner stream goes: 1 more may follow, 0 at the end, -1. */
static int fill_slot(struct readahead *r, struct slot *slot, struct error *err)
{
	slot->len = 0;
	while (slot->len < SLOT_BYTES) {
		ssize_t n =
			stream_read(r->inner, slot->data + slot->len, SLOT_BYTES - slot->len, err);

		if (n <= 0)
			return n < 0 ? -1 : 0;
		slot->len += (size_t)n;
	}
	return 1;
}

static void *read_thread(void *user)
{
	struct readahead *r = user;
	struct error err = { 0 };
	int status = 1;

	while (status > 0) {
		struct slot *slot;

		pthread_mutex_lock(&r->lock);
		while (r->used == SLOTS && !r->stopped)
			pthread_cond_wait(&r->emptied, &r->lock);
		slot = r->stopped ? NULL : &r->slots[(r->first + r->used) % SLOTS];
		pthread_mutex_unlock(&r->lock);
		if (!slot)
			break;
		status = fill_slot(r, slot, &err);
		pthread_mutex_lock(&r->lock);
		r->used += slot->len > 0;
		r->ended = status <= 0;
		r->status = MIN(status, 0);
		r->err = err;
		pthread_cond_signal(&r->filled);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

static ssize_t readahead_read(struct stream *s, void *buf, size_t len, struct error *err)
{
	struct readahead *r = (struct readahead *)s;
	struct slot *slot;
	size_t n;

	if (!r->threaded)
		return stream_read(r->inner, buf, len, err);
	pthread_mutex_lock(&r->lock);
	while (!r->used && !r->ended)
		pthread_cond_wait(&r->filled, &r->lock);
	slot = r->used ? &r->slots[r->first] : NULL;
	pthread_mutex_unlock(&r->lock);
	if (!slot) {
		if (r->status < 0)
			*err = r->err;
		return r->status;
	}
	n = MIN(len, slot->len - r->taken);
	memcpy(buf, slot->data + r->taken, n);
	r->taken += n;
	if (r->taken < slot->len)
		return (ssize_t)n;
	r->taken = 0;
	pthread_mutex_lock(&r->lock);
	r->first = (r->first + 1) % SLOTS;
	r->used--;
	pthread_cond_signal(&r->emptied);
	pthread_mutex_unlock(&r->lock);
	return (ssize_t)n;
}

static void readahead_close(struct stream *s)
{
	struct readahead *r = (struct readahead *)s;

	if (r->threaded) {
		pthread_mutex_lock(&r->lock);
		r->stopped = true;
		pthread_cond_signal(&r->emptied);
		pthread_mutex_unlock(&r->lock);
		pthread_join(r->thread, NULL);
	}
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->filled);
	pthread_cond_destroy(&r->emptied);
	for (size_t i = 0; i < SLOTS; i++)
		free(r->slots[i].data);
	stream_close(r->inner);
}

static const struct stream_ops readahead_ops = { .read = readahead_read, .close = readahead_close };

struct stream *readahead_stream(struct stream *inner)
{
	struct readahead *r = xcalloc(1, sizeof(*r));

	r->base.ops = &readahead_ops;
	r->inner = inner;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->filled, NULL);
	pthread_cond_init(&r->emptied, NULL);
	for (size_t i = 0; i < SLOTS; i++)
		r->slots[i].data = xmalloc(SLOT_BYTES);
	r->threaded = pthread_create(&r->thread, NULL, read_thread, r) == 0;
	return &r->base;
}
