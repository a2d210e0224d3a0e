#include "builder/stat_cache.h"

#include <time.h>

#include "base/alloc.h"
#include "builder/rootfs.h"
#include "formats/compress.h"

static const char heading[] = "gpuimg stat 1";

enum { READ_BYTES = 64 * 1024, WRITE_BYTES = 64 * 1024 };

struct stat_cache {
	struct store *store;
	struct digest key;
	/* the old one */
	int old;           /* -1: none, or at its end */
	struct strbuf buf; /* what was read of it and not yet used */
	size_t at;
	struct file_stamp stamp; /* of the line that is next */
	struct digest digest;
	const char *path; /* in buf; NULL: there is none */
	size_t seen;      /* lines passed or used */
	size_t found;
	/* the new one */
	struct fs_pending new;
	struct strbuf out;
	bool broken; /* the new one cannot be written */
	size_t noted;
};

static int64_t nanoseconds(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

struct file_stamp file_stamp_of(const struct stat *st)
{
	return (struct file_stamp){ .device = st->st_dev,
				    .inode = st->st_ino,
				    .size = (uint64_t)st->st_size,
				    .mtime = nanoseconds(&st->st_mtim),
				    .ctime = nanoseconds(&st->st_ctim) };
}

bool file_stamp_equal(const struct file_stamp *a, const struct file_stamp *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime == b->mtime && a->ctime == b->ctime;
}

bool file_stamp_is_settled(const struct file_stamp *s, int64_t read_at)
{
	bool whole = s->mtime % 1000000000 == 0 && s->ctime % 1000000000 == 0;
	int64_t margin = whole ? 2000000000 : 100000000;

	return MAX(s->mtime, s->ctime) <= read_at - margin;
}

int64_t file_stamp_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return nanoseconds(&t);
}

/* The next line of the old cache in *out, without its end. False at the end. */
static bool next_line(struct stat_cache *c, struct slice *out)
{
	for (;;) {
		char *from = (char *)c->buf.data + c->at;
		char *end = c->buf.len > c->at ? memchr(from, '\n', c->buf.len - c->at) : NULL;
		char piece[READ_BYTES];
		ssize_t n;

		if (end) {
			*out = slice_of(from, (size_t)(end - from));
			*end = '\0'; /* paths are texts */
			c->at += out->len + 1;
			return true;
		}
		if (c->old < 0)
			return false;
		n = read(c->old, piece, sizeof(piece));
		if (n <= 0) {
			close(steal_fd(&c->old));
			return false;
		}
		if (c->at)
			memmove(c->buf.data, c->buf.data + c->at, c->buf.len - c->at);
		strbuf_truncate(&c->buf, c->buf.len - c->at);
		c->at = 0;
		strbuf_add(&c->buf, piece, (size_t)n);
	}
}

static bool take_hex(struct slice *rest, uint64_t *out)
{
	struct slice word;

	if (!slice_cut(rest, ' ', &word) || !word.len || word.len > 16)
		return false;
	*out = 0;
	for (size_t i = 0; i < word.len; i++) {
		uint8_t b = word.data[i];

		if (!(b >= '0' && b <= '9') && !(b >= 'a' && b <= 'f'))
			return false;
		*out = *out << 4 | (uint64_t)(b <= '9' ? b - '0' : b - 'a' + 10);
	}
	return true;
}

static bool parse(struct stat_cache *c, struct slice line)
{
	struct error ignored = { 0 };
	struct slice word;
	uint64_t crc, mtime, ctime;

	if (!take_hex(&line, &crc) || crc != compress_crc32(0, line.data, line.len) ||
	    !take_hex(&line, &c->stamp.device) || !take_hex(&line, &c->stamp.inode) ||
	    !take_hex(&line, &c->stamp.size) || !take_hex(&line, &mtime) ||
	    !take_hex(&line, &ctime) || !slice_cut(&line, ' ', &word) || !line.data ||
	    digest_parse_sha256_hex(word, &c->digest, &ignored) < 0)
		return false;
	c->stamp.mtime = (int64_t)mtime;
	c->stamp.ctime = (int64_t)ctime;
	c->path = (const char *)line.data;
	return true;
}

static void advance(struct stat_cache *c)
{
	struct slice line;

	c->path = NULL;
	while (next_line(c, &line)) {
		c->seen++;
		if (parse(c, line))
			return;
	}
}

struct stat_cache *stat_cache_open(struct store *store, const char *root)
{
	struct stat_cache *c = xcalloc(1, sizeof(*c));
	cleanup_free char *real = realpath(root, NULL);
	struct error ignored = { 0 };
	struct slice line;

	c->store = store;
	c->new.fd = -1;
	c->old = -1;
	c->broken = true;
	if (!store || !real)
		return c;
	c->key = digest_of(slice_str(real));
	c->broken = store_cache_new(store, &c->new, &ignored) < 0;
	strbuf_addf(&c->out, "%s\n", heading);
	c->old = store_cache_open(store, "stat", &c->key, &ignored);
	if (next_line(c, &line) && slice_is(line, heading))
		advance(c);
	return c;
}

bool stat_cache_find(struct stat_cache *c, const char *path, const struct file_stamp *stamp,
		     struct digest *out)
{
	while (c->path && rootfs_compare(c->path, path) < 0)
		advance(c);
	if (!c->path || !str_equal(c->path, path) || !file_stamp_equal(&c->stamp, stamp))
		return false;
	*out = c->digest;
	c->found++;
	return true;
}

static void flush(struct stat_cache *c)
{
	struct slice left = strbuf_slice(&c->out);

	while (left.len && !c->broken) {
		ssize_t n = write(c->new.fd, left.data, left.len);

		if (n < 0 && errno == EINTR)
			continue;
		c->broken = n <= 0;
		if (n > 0)
			left = slice_of(left.data + n, left.len - (size_t)n);
	}
	strbuf_truncate(&c->out, 0);
}

void stat_cache_note(struct stat_cache *c, const char *path, const struct file_stamp *stamp,
		     const struct digest *digest, int64_t read_at)
{
	cleanup_strbuf struct strbuf line = { 0 };
	char hex[DIGEST_HEX_MAX];

	if (c->broken || !file_stamp_is_settled(stamp, read_at))
		return;
	strbuf_addf(&line, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %s %s",
		    stamp->device, stamp->inode, stamp->size, (uint64_t)stamp->mtime,
		    (uint64_t)stamp->ctime, digest_hex(digest, hex), path);
	strbuf_addf(&c->out, "%" PRIx32 " %s\n", compress_crc32(0, line.data, line.len),
		    strbuf_text(&line));
	c->noted++;
	if (c->out.len >= WRITE_BYTES)
		flush(c);
}

void stat_cache_keep(struct stat_cache *c)
{
	struct error ignored = { 0 };

	while (c->path)
		advance(c);
	if (c->found == c->noted && c->seen == c->noted)
		return; /* the old one says the same */
	flush(c);
	if (!c->broken)
		ignore_result(store_cache_commit(c->store, "stat", &c->key, &c->new, &ignored));
}

void stat_cache_free(struct stat_cache *c)
{
	if (!c)
		return;
	if (c->old >= 0)
		close(c->old);
	fs_pending_release(&c->new);
	strbuf_release(&c->buf);
	strbuf_release(&c->out);
	free(c);
}
