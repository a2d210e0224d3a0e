#include "registry/ranges.h"

#include <fcntl.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/pool.h"
#include "formats/json.h"

enum { RECORD_VERSION = 1, HASH_BYTES = 1024 * 1024, EARLY_BYTES = 8 * 1024 * 1024 };

#define PIECE_LEAST (64 * UINT64_C(1024))

/* Records. */

void ranges_record_release(struct ranges_record *r)
{
	free(r->have);
	*r = (struct ranges_record){ 0 };
}

static uint64_t piece_size(const struct ranges_record *r, size_t i)
{
	return i + 1 < r->count ? r->piece : r->size - r->piece * (r->count - 1);
}

static uint64_t record_there(const struct ranges_record *r)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < r->count; i++)
		bytes += r->have[i];
	return bytes;
}

static bool record_make(uint64_t size, uint64_t piece, struct ranges_record *out)
{
	if (!size || piece < PIECE_LEAST || size / piece >= RANGES_PIECES_MAX)
		return false;
	out->size = size;
	out->piece = piece;
	out->count = (size_t)((size - 1) / piece + 1);
	out->have = xcalloc(out->count, sizeof(*out->have));
	return true;
}

static bool record_fill(const json_t *have, uint64_t file_bytes, struct ranges_record *r)
{
	if (!json_is_array(have) || json_array_size(have) != r->count)
		return false;
	for (size_t i = 0; i < r->count; i++) {
		const json_t *n = json_array_get(have, i);
		uint64_t bytes = json_is_integer(n) ? (uint64_t)json_integer_value(n) : UINT64_MAX;

		if (bytes > piece_size(r, i) || (bytes && r->piece * i + bytes > file_bytes))
			return false;
		r->have[i] = bytes;
	}
	return true;
}

bool ranges_record_parse(struct slice text, uint64_t file_bytes, struct ranges_record *out)
{
	cleanup_json json_t *root = NULL;
	struct error ignored = { 0 };
	uint64_t version, size, piece;

	*out = (struct ranges_record){ 0 };
	if (text.len > RANGES_RECORD_BYTES_MAX || json_parse(text, &root, &ignored) < 0 ||
	    json_get_u64(root, "", "version", &version, &ignored) < 0 ||
	    version != RECORD_VERSION || json_get_u64(root, "", "size", &size, &ignored) < 0 ||
	    json_get_u64(root, "", "piece", &piece, &ignored) < 0 || !record_make(size, piece, out))
		return false;
	if (record_fill(json_object_get(root, "have"), file_bytes, out))
		return true;
	ranges_record_release(out);
	return false;
}

void ranges_record_print(const struct ranges_record *r, struct strbuf *out)
{
	cleanup_json json_t *root = json_object();
	json_t *have = json_array();

	json_put(root, "version", json_integer(RECORD_VERSION));
	json_put(root, "size", json_integer((json_int_t)r->size));
	json_put(root, "piece", json_integer((json_int_t)r->piece));
	for (size_t i = 0; i < r->count; i++)
		json_push(have, json_integer((json_int_t)r->have[i]));
	json_put(root, "have", have);
	json_canonical(root, out);
}

static bool record_read(int dirfd, const char *name, uint64_t size, uint64_t file_bytes,
			struct ranges_record *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	if (fs_read(dirfd, name, RANGES_RECORD_BYTES_MAX, &text, &ignored) < 0 ||
	    !ranges_record_parse(strbuf_slice(&text), file_bytes, out))
		return false;
	if (out->size == size)
		return true;
	ranges_record_release(out);
	return false;
}

bool ranges_recorded(int dirfd, const char *name, uint64_t size, uint64_t file_bytes,
		     uint64_t *out_there)
{
	cleanup_ranges_record struct ranges_record record = { 0 };

	if (!record_read(dirfd, name, size, file_bytes, &record))
		return false;
	*out_there = record_there(&record);
	return true;
}

/* Fetching. */

struct ranges {
	struct ranges_request request;
	struct pool *hasher;
	struct pool_job hash_job;
	struct digest_state state;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct ranges_record record;
	bool *taken;
	size_t in_flight;
	bool stop, no_ranges;
	struct error first; /* why it stopped */
};

static bool complete(const struct ranges *r, size_t i)
{
	return r->record.have[i] == piece_size(&r->record, i);
}

/* With the lock held. What goes wrong here only costs a later call some bytes. */
static void save(struct ranges *r)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 };

	ranges_record_print(&r->record, &text);
	ignore_result(
		fs_write(r->request.dirfd, r->request.record, strbuf_slice(&text), 0600, &ignored));
}

static void stop(struct ranges *r, const struct error *why, bool no_ranges)
{
	pthread_mutex_lock(&r->lock);
	if (!r->stop)
		r->first = *why;
	r->stop = true;
	r->no_ranges = r->no_ranges || no_ranges;
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

/* Hash a piece that is complete. */
static int hash_piece(struct ranges *r, size_t i, struct error *err)
{
	cleanup_free uint8_t *buf = xmalloc(HASH_BYTES);
	uint64_t at = r->record.piece * i, end = at + piece_size(&r->record, i);

	while (at < end) {
		ssize_t n = pread(r->request.fd, buf, (size_t)MIN(end - at, (uint64_t)HASH_BYTES),
				  (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return error_set_errno(err, n ? errno : EIO, "read a partial");
		digest_update(&r->state, buf, (size_t)n);
		at += (uint64_t)n;
	}
	return 0;
}

static void run_hasher(struct pool_job *job)
{
	struct ranges *r = (struct ranges *)((char *)job - offsetof(struct ranges, hash_job));

	for (size_t i = 0; i < r->record.count; i++) {
		struct error err = { 0 };
		bool go_on;

		pthread_mutex_lock(&r->lock);
		while (!complete(r, i) && !r->stop)
			pthread_cond_wait(&r->changed, &r->lock);
		go_on = complete(r, i);
		pthread_mutex_unlock(&r->lock);
		if (!go_on)
			return;
		if (hash_piece(r, i, &err) < 0) {
			stop(r, &err, false);
			return;
		}
	}
}

/* The file's first bytes, when there is no record. */
static int take_prefix(struct ranges *r, uint64_t file_bytes, struct error *err)
{
	uint64_t left = file_bytes;

	if (file_bytes > r->record.size) {
		if (ftruncate(r->request.fd, 0) < 0)
			return error_set_errno(err, errno, "empty a partial");
		left = 0;
	}
	for (size_t i = 0; i < r->record.count; i++) {
		r->record.have[i] = MIN(left, piece_size(&r->record, i));
		left -= r->record.have[i];
	}
	return 0;
}

static int find_there(struct ranges *r, struct error *err)
{
	const struct ranges_request *q = &r->request;
	uint64_t size = q->desc->size;
	struct stat st;

	if (fstat(q->fd, &st) < 0)
		return error_set_errno(err, errno, "look at a partial");
	if (record_read(q->dirfd, q->record, size, (uint64_t)st.st_size, &r->record))
		return 0;
	if (faccessat(q->dirfd, q->record, F_OK, 0) == 0) { /* of a file that is no more */
		if (ftruncate(q->fd, 0) < 0)
			return error_set_errno(err, errno, "empty a partial");
		st.st_size = 0;
	}
	if (!record_make(size, MAX(q->piece, size / (RANGES_PIECES_MAX / 2) + 1), &r->record))
		return error_set(err, ERROR_LIMIT,
				 "a blob of %" PRIu64 " bytes in pieces of %" PRIu64, size,
				 q->piece);
	return take_prefix(r, (uint64_t)st.st_size, err);
}

struct ranges *ranges_begin(const struct ranges_request *request, uint64_t *out_there,
			    struct error *err)
{
	struct ranges *r = xcalloc(1, sizeof(*r));

	r->request = *request;
	if (find_there(r, err) < 0) {
		ranges_record_release(&r->record);
		free(r);
		return NULL;
	}
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->taken = xcalloc(r->record.count, sizeof(*r->taken));
	digest_init(&r->state, request->desc->digest.algorithm);
	save(r);
	*out_there = record_there(&r->record);
	r->hash_job.run = run_hasher;
	r->hasher = pool_new(1);
	pool_submit(r->hasher, &r->hash_job);
	return r;
}

bool ranges_take(struct ranges *r, size_t *out_piece)
{
	bool found = false;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->record.count && !found && !r->stop; i++) {
		if (r->taken[i] || complete(r, i))
			continue;
		r->taken[i] = found = true;
		r->in_flight++;
		*out_piece = i;
	}
	pthread_mutex_unlock(&r->lock);
	return found;
}

/* Writes a piece to its place. */
struct piece_sink {
	struct sink base;
	struct ranges *r;
	size_t piece;
	uint64_t at;    /* in the file */
	uint64_t early; /* begun to go to the disk up to here */
};

static int write_at(int fd, const uint8_t *data, size_t len, uint64_t at, struct error *err)
{
	while (len) {
		ssize_t n = pwrite(fd, data, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, errno, "write a partial");
		data += n;
		len -= (size_t)n;
		at += (uint64_t)n;
	}
	return 0;
}

static int piece_write(struct sink *base, const void *data, size_t len, struct error *err)
{
	struct piece_sink *s = (struct piece_sink *)base;
	struct ranges *r = s->r;
	bool stopped;

	if (write_at(r->request.fd, data, len, s->at, err) < 0)
		return -1;
	s->at += len;
	if (s->at - s->early >= EARLY_BYTES) {
		sync_file_range(r->request.fd, (off_t)s->early, (off_t)(s->at - s->early),
				SYNC_FILE_RANGE_WRITE);
		s->early = s->at;
	}
	pthread_mutex_lock(&r->lock);
	r->record.have[s->piece] += len;
	stopped = r->stop;
	pthread_mutex_unlock(&r->lock);
	if (r->request.moved(r->request.user, len) || stopped)
		return error_set(err, ERROR_SYSTEM, "given up, since another part was");
	return 0;
}

static const struct sink_ops piece_ops = { .write = piece_write };

void ranges_fetch(struct ranges *r, size_t piece)
{
	uint64_t start = r->record.piece * piece;
	uint64_t at = start + r->record.have[piece]; /* nobody else writes it */
	struct piece_sink sink = {
		.base = { &piece_ops }, .r = r, .piece = piece, .at = at, .early = at
	};
	struct blob_fetch f = { .origins = r->request.origins,
				.desc = r->request.desc,
				.out = &sink.base,
				.position = at,
				.piece_end = start + piece_size(&r->record, piece) };
	struct error err = { 0 };
	int rc = fetch_blob(&f, &err);

	if (rc < 0)
		stop(r, &err, f.no_ranges);
	pthread_mutex_lock(&r->lock);
	r->taken[piece] = false;
	r->in_flight--;
	if (rc == 0)
		save(r);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

static int outcome(struct ranges *r, struct error *err)
{
	struct digest got;

	if (r->stop) {
		*err = r->first;
		return -1;
	}
	got = digest_finish(&r->state);
	if (digest_equal(&got, &r->request.desc->digest))
		return 0;
	return error_set(err, ERROR_INTEGRITY, "the bytes that came have another digest");
}

int ranges_finish(struct ranges *r, struct ranges_result *out, struct error *err)
{
	int rc;

	pthread_mutex_lock(&r->lock);
	while (r->in_flight)
		pthread_cond_wait(&r->changed, &r->lock);
	pthread_mutex_unlock(&r->lock);
	pool_join(r->hasher);
	rc = outcome(r, err);
	*out = (struct ranges_result){ .no_ranges = r->no_ranges,
				       .there = record_there(&r->record) };
	for (size_t i = 0; i < r->record.count; i++) {
		out->prefix += r->record.have[i];
		if (!complete(r, i))
			break;
	}
	if (rc == 0)
		unlinkat(r->request.dirfd, r->request.record, 0);
	else
		save(r);
	digest_release(&r->state);
	ranges_record_release(&r->record);
	pthread_mutex_destroy(&r->lock);
	pthread_cond_destroy(&r->changed);
	free(r->taken);
	free(r);
	return rc;
}
