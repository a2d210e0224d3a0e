#include "builder/store.h"

#include <time.h>

#include "base/alloc.h"
#include "builder/upstream.h"

enum { RECORD_MAX = 16 * 1024 * 1024 };

struct store {
	char *path;
	int dirfd; /* of `path` */
	int tmpfd; /* of tmp/ in it */
	uint32_t boot;
	const struct store_upstream *upstream; /* NULL: none */
};

/* Room for "objects/sha256/ab/" and the digits; names from tmp/ begin with "../". */
enum { OBJECT_NAME_MAX = 24 + DIGEST_HEX_MAX };

static const char *object_name(const struct digest *d, const char *prefix,
			       char out[OBJECT_NAME_MAX])
{
	char hex[DIGEST_HEX_MAX];

	assert(d->algorithm == DIGEST_SHA256);
	digest_hex(d, hex);
	snprintf(out, OBJECT_NAME_MAX, "%sobjects/sha256/%.2s/%s", prefix, hex, hex);
	return out;
}

static uint32_t mix(uint32_t h, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ bytes[i]) * 16777619u; /* FNV-1a */
	return h;
}

static uint32_t boot_of_machine(void)
{
	cleanup_fd int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	uint8_t text[64];
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));

	return mix(2166136261u, text, n > 0 ? (size_t)n : 0);
}

/* Where the store lies when nobody says; heap, or NULL when no variable tells. */
static char *default_path(void)
{
	const char *own = getenv("GPUIMG_STORE"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");

	if (own && *own)
		return xstrdup(own);
	if (cache && *cache == '/') /* the XDG specification: a relative one is ignored */
		return fs_join(cache, "gpuimg");
	if (home && *home)
		return fs_join(home, ".cache/gpuimg");
	return NULL;
}

static int open_dir(int dirfd, const char *path, struct error *err)
{
	int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 ? fd : error_set_errno(err, errno, "open directory %s", path);
}

static int open_dirs(struct store *s, struct error *err)
{
	if (fs_mkdirs(AT_FDCWD, s->path, err) < 0)
		return -1;
	s->dirfd = open_dir(AT_FDCWD, s->path, err);
	if (s->dirfd < 0 || fs_mkdirs(s->dirfd, "objects/sha256", err) < 0 ||
	    fs_mkdirs(s->dirfd, "keys", err) < 0 || fs_mkdirs(s->dirfd, "tmp", err) < 0)
		return -1;
	s->tmpfd = open_dir(s->dirfd, "tmp", err);
	return s->tmpfd < 0 ? -1 : 0;
}

struct store *store_open(const char *dir, struct error *err)
{
	cleanup_store struct store *s = xcalloc(1, sizeof(*s));

	s->dirfd = s->tmpfd = -1;
	s->path = dir ? xstrdup(dir) : default_path();
	if (!s->path) {
		error_set(err, ERROR_USAGE,
			  "store: none of GPUIMG_STORE, XDG_CACHE_HOME and HOME is set; set one");
		return NULL;
	}
	if (open_dirs(s, err) < 0) {
		error_wrap(err, "store %s", s->path);
		return NULL;
	}
	fs_pending_sweep(s->tmpfd);
	s->boot = boot_of_machine();
	return steal_ptr(&s);
}

void store_close(struct store *s)
{
	if (!s)
		return;
	if (s->tmpfd >= 0)
		close(s->tmpfd);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s->path);
	free(s);
}

const char *store_path(const struct store *s)
{
	return s->path;
}

/* When a file was needed last, for `store gc`: at most once a day, and never its other times. */
static void note_use(int dirfd, const char *name, const struct stat *st)
{
	const struct timespec times[2] = { { 0, UTIME_NOW }, { 0, UTIME_OMIT } };
	time_t now = time(NULL);

	if (st->st_atim.tv_sec > now - 86400 && st->st_atim.tv_sec <= now)
		return;
	ignore_result(utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW));
}

bool store_has(const struct store *s, const struct digest *digest, uint64_t size)
{
	char name[OBJECT_NAME_MAX];
	struct stat st;

	if (fstatat(s->dirfd, object_name(digest, "", name), &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
		return false;
	note_use(s->dirfd, name, &st);
	return true;
}

/* The second that a proven object is dated with: one of 1980. */
static time_t seal_of(const struct store *s, const struct digest *d)
{
	return 315532800 + (time_t)(mix(s->boot, d->bytes, 32) & 0xffffff);
}

static bool is_sealed(const struct store *s, const struct digest *d, const struct stat *st)
{
	return st->st_mtim.tv_sec == seal_of(s, d) && st->st_mtim.tv_nsec == 0 &&
	       !(st->st_mode & 0222);
}

/* Where that is not ours to do, the object is read again next time. */
static void seal(const struct store *s, const struct digest *d, int fd)
{
	const struct timespec times[2] = { { 0, UTIME_OMIT }, { seal_of(s, d), 0 } };

	ignore_result(futimens(fd, times));
}

/* Remove the object if it still is the file that `fd` reads: another process may have mended it. */
static void discard_read(const struct store *s, const struct digest *digest, int fd)
{
	char name[OBJECT_NAME_MAX];
	struct stat read, now;

	object_name(digest, "", name);
	if (fstat(fd, &read) == 0 && fstatat(s->dirfd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    read.st_dev == now.st_dev && read.st_ino == now.st_ino)
		unlinkat(s->dirfd, name, 0);
}

static int open_object(const struct store *s, const struct digest *digest, struct error *err)
{
	char name[OBJECT_NAME_MAX];
	int fd = openat(s->dirfd, object_name(digest, "", name), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		note_use(s->dirfd, name, &st);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "store %s: no object %s", s->path,
				 strrchr(name, '/') + 1);
	return error_set_errno(err, errno, "store %s: open %s", s->path, name);
}

/* Name the object; when it is damaged, remove it and say so. Returns -1. */
static int object_complaint(const struct store *s, const struct digest *digest, int fd,
			    struct error *err)
{
	char text[DIGEST_TEXT_MAX];

	if (err->code != ERROR_INTEGRITY)
		return error_wrap(err, "store %s: object %s", s->path, digest_text(digest, text));
	discard_read(s, digest, fd);
	return error_wrap(err, "store %s: object %s is damaged and was removed; fetch it again",
			  s->path, digest_text(digest, text));
}

struct object_stream {
	struct stream base;
	struct store *store;
	struct stream *file, *proven;
	struct digest digest;
	int fd; /* belongs to `file` */
};

static ssize_t object_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct object_stream *s = (struct object_stream *)base;
	ssize_t n = stream_read(s->proven, buf, len, err);

	return n < 0 ? object_complaint(s->store, &s->digest, s->fd, err) : n;
}

static void object_close(struct stream *base)
{
	struct object_stream *s = (struct object_stream *)base;

	stream_close(s->proven);
	stream_close(s->file);
}

struct stream *store_read(struct store *s, const struct digest *digest, uint64_t size,
			  struct error *err)
{
	static const struct stream_ops ops = { .read = object_read, .close = object_close };
	int fd = open_object(s, digest, err);
	struct object_stream *out;

	if (fd < 0)
		return NULL;
	out = xcalloc(1, sizeof(*out));
	out->base.ops = &ops;
	out->store = s;
	out->digest = *digest;
	out->fd = fd;
	out->file = stream_fd(fd, "object");
	out->proven = stream_verify(out->file, digest, size);
	return &out->base;
}

/* By pread, so that the descriptor's offset stays at 0. */
static int verify_object(int fd, const struct digest *digest, uint64_t size, struct error *err)
{
	cleanup_stream struct stream *file = stream_fd_range(fd, 0, size, "object");
	cleanup_stream struct stream *proven = stream_verify(file, digest, size);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "look at the object");
	if ((uint64_t)st.st_size != size)
		return error_set(err, ERROR_INTEGRITY,
				 "holds %" PRIu64 " bytes instead of %" PRIu64,
				 (uint64_t)st.st_size, size);
	return stream_drain(proven, NULL, err);
}

int store_open_verified(struct store *s, const struct digest *digest, uint64_t size,
			struct error *err)
{
	cleanup_fd int fd = open_object(s, digest, err);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && is_sealed(s, digest, &st) && (uint64_t)st.st_size == size)
		return steal_fd(&fd);
	if (verify_object(fd, digest, size, err) < 0)
		return object_complaint(s, digest, fd, err);
	seal(s, digest, fd);
	return steal_fd(&fd);
}

bool store_intact(struct store *s, const struct digest *digest, uint64_t size)
{
	struct error ignored = { 0 };
	cleanup_fd int fd = -1;

	if (!store_has(s, digest, size))
		return false;
	fd = store_open_verified(s, digest, size, &ignored);
	return fd >= 0;
}

int store_open_object(struct store *s, const struct digest *digest, struct error *err)
{
	return open_object(s, digest, err);
}

int store_locate(struct store *s, const struct digest *digest, int *out_dirfd, char **out_name,
		 struct error *err)
{
	cleanup_fd int fd = open_object(s, digest, err);
	char name[OBJECT_NAME_MAX];

	if (fd < 0)
		return -1;
	*out_dirfd = s->dirfd;
	*out_name = xstrdup(object_name(digest, "", name));
	return 0;
}

int store_put_open(struct store *s, struct store_pending *out, struct error *err)
{
	*out = (struct store_pending){ .file.fd = -1 };
	if (fs_pending_open(s->tmpfd, &out->file, err) < 0)
		return error_wrap(err, "store %s", s->path);
	out->store = s;
	digest_init(&out->state, DIGEST_SHA256);
	out->raw = sink_fd_early(out->file.fd, "object in the store");
	out->sink = sink_digest(out->raw, &out->state, &out->bytes);
	return 0;
}

static int check_wanted(const struct store_pending *p, const struct digest *got,
			const struct digest *want, uint64_t want_size, struct error *err)
{
	char a[DIGEST_TEXT_MAX], b[DIGEST_TEXT_MAX];

	if (!want)
		return 0;
	if (want_size != UINT64_MAX && p->bytes != want_size)
		return error_set(err, ERROR_INTEGRITY,
				 "got %" PRIu64 " bytes instead of %" PRIu64 " of %s", p->bytes,
				 want_size, digest_text(want, b));
	if (!digest_equal(got, want))
		return error_set(err, ERROR_INTEGRITY, "got digest %s instead of %s",
				 digest_text(got, a), digest_text(want, b));
	return 0;
}

int store_put_commit(struct store_pending *p, const struct digest *want, uint64_t want_size,
		     struct digest *out_digest, uint64_t *out_size, struct error *err)
{
	struct digest got = digest_finish(&p->state);
	char name[OBJECT_NAME_MAX], dir[OBJECT_NAME_MAX];

	if (check_wanted(p, &got, want, want_size, err) < 0)
		return -1;
	object_name(&got, "", name);
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(name, '/') - name), name);
	seal(p->store, &got, p->file.fd);
	if (fs_mkdirs(p->store->dirfd, dir, err) < 0 ||
	    fs_pending_commit(&p->file, object_name(&got, "../", name), 0444, err) < 0)
		return error_wrap(err, "store %s", p->store->path);
	if (out_digest)
		*out_digest = got;
	if (out_size)
		*out_size = p->bytes;
	return 0;
}

void store_put_release(struct store_pending *p)
{
	if (!p || !p->store) /* zeroed, or never opened */
		return;
	sink_close(p->sink);
	sink_close(p->raw);
	digest_release(&p->state);
	fs_pending_release(&p->file);
	*p = (struct store_pending){ .file.fd = -1 };
}

int store_put_bytes(struct store *s, struct slice bytes, struct digest *out, struct error *err)
{
	cleanup_store_put struct store_pending pending = { 0 };

	if (store_put_open(s, &pending, err) < 0 ||
	    sink_write(pending.sink, bytes.data, bytes.len, err) < 0)
		return -1;
	return store_put_commit(&pending, NULL, 0, out, NULL, err);
}

int store_get_bytes(struct store *s, const struct digest *digest, uint64_t limit,
		    struct strbuf *out, struct error *err)
{
	cleanup_fd int fd = open_object(s, digest, err);
	cleanup_stream struct stream *bytes = NULL;
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "look at an object in store %s", s->path);
	bytes = store_read(s, digest, (uint64_t)st.st_size, err);
	return bytes ? stream_read_all(bytes, limit, out, err) : -1;
}

/* "keys/<kind>/<hex>"; heap. */
static char *record_name(const char *kind, const struct digest *key, const char *prefix)
{
	char hex[DIGEST_HEX_MAX];

	assert(*kind && !strchr(kind, '/') && *kind != '.');
	return xasprintf("%skeys/%s/%s", prefix, kind, digest_hex(key, hex));
}

/*
 * A record's file is the digest of its value, a line feed, and the value: what a crash cut short
 * or a disk changed is thus no record at all.
 */
static int check_record(const struct strbuf *file, struct slice *out, struct error *err)
{
	struct slice rest = strbuf_slice(file), head;
	struct digest want, got;

	if (!slice_cut(&rest, '\n', &head) || !rest.data)
		return error_set(err, ERROR_INTEGRITY, "record is cut short");
	if (digest_parse(head, &want, err) < 0)
		return -1;
	got = digest_of(rest);
	if (!digest_equal(&want, &got))
		return error_set(err, ERROR_INTEGRITY, "record is damaged");
	*out = rest;
	return 0;
}

void store_set_upstream(struct store *s, const struct store_upstream *upstream)
{
	s->upstream = upstream;
}

static void tell_used(struct store *s, const char *kind, const struct digest *key)
{
	if (s->upstream && upstream_kind(kind))
		s->upstream->used(s->upstream->user, kind, key);
}

/* From here, or from there to here. */
static int read_record(struct store *s, const char *kind, const struct digest *key,
		       const char *name, struct strbuf *out, struct error *err)
{
	struct error why = { 0 };

	if (fs_read(s->dirfd, name, RECORD_MAX + DIGEST_TEXT_MAX, out, &why) == 0)
		return 0;
	if (why.code == ERROR_NOT_FOUND && s->upstream && upstream_kind(kind) &&
	    s->upstream->bring(s->upstream->user, s, kind, key))
		return fs_read(s->dirfd, name, RECORD_MAX + DIGEST_TEXT_MAX, out, err);
	*err = why;
	return -1;
}

int store_get_record(struct store *s, const char *kind, const struct digest *key,
		     struct strbuf *out, struct error *err)
{
	cleanup_free char *name = record_name(kind, key, "");
	cleanup_strbuf struct strbuf file = { 0 };
	struct error why = { 0 };
	struct slice value = { 0 };
	struct stat st;

	if (read_record(s, kind, key, name, &file, err) < 0)
		return error_wrap(err, "store %s", s->path);
	if (check_record(&file, &value, &why) < 0) {
		unlinkat(s->dirfd, name, 0);
		return error_set(err, ERROR_NOT_FOUND, "store %s: %s: %s; it was removed", s->path,
				 name, why.text);
	}
	if (fstatat(s->dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		note_use(s->dirfd, name, &st);
	strbuf_add(out, value.data, value.len);
	tell_used(s, kind, key);
	return 0;
}

int store_put_record(struct store *s, const char *kind, const struct digest *key,
		     struct slice value, struct error *err)
{
	cleanup_free char *dir = fs_join("keys", kind), *name = record_name(kind, key, "../");
	cleanup_pending struct fs_pending p = { .fd = -1 };
	cleanup_sink struct sink *sink = NULL;
	struct digest digest = digest_of(value);
	char text[DIGEST_TEXT_MAX];

	if (value.len > RECORD_MAX)
		return error_set(err, ERROR_LIMIT, "store %s: record of %zu bytes (at most %d)",
				 s->path, value.len, RECORD_MAX);
	if (fs_mkdirs(s->dirfd, dir, err) < 0 || fs_pending_open(s->tmpfd, &p, err) < 0)
		return error_wrap(err, "store %s", s->path);
	sink = sink_fd(p.fd, "record in the store");
	digest_text(&digest, text);
	if (sink_write(sink, text, strlen(text), err) < 0 || sink_write(sink, "\n", 1, err) < 0 ||
	    sink_write(sink, value.data, value.len, err) < 0 ||
	    fs_pending_commit(&p, name, 0444, err) < 0)
		return error_wrap(err, "store %s", s->path);
	tell_used(s, kind, key);
	return 0;
}

int store_cache_open(struct store *s, const char *kind, const struct digest *key, struct error *err)
{
	cleanup_free char *name = record_name(kind, key, "");
	int fd = fs_open(s->dirfd, name, err);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0)
		note_use(s->dirfd, name, &st);
	return fd;
}

int store_cache_new(struct store *s, struct fs_pending *out, struct error *err)
{
	return fs_pending_open(s->tmpfd, out, err);
}

void store_cache_adopt(struct store *s, struct fs_pending *out)
{
	out->dirfd = s->tmpfd;
	out->temporary = NULL;
}

int store_cache_commit(struct store *s, const char *kind, const struct digest *key,
		       struct fs_pending *file, struct error *err)
{
	cleanup_free char *dir = fs_join("keys", kind), *name = record_name(kind, key, "../");

	if (fs_mkdirs(s->dirfd, dir, err) < 0)
		return -1;
	return fs_pending_commit(file, name, 0444, err);
}

void store_drop_record(struct store *s, const char *kind, const struct digest *key)
{
	cleanup_free char *name = record_name(kind, key, "");

	unlinkat(s->dirfd, name, 0);
}

int store_scratch(struct store *s, struct error *err)
{
	cleanup_pending struct fs_pending p = { .fd = -1 };

	if (fs_pending_open(s->tmpfd, &p, err) < 0)
		return error_wrap(err, "store %s", s->path);
	return steal_fd(&p.fd); /* the release removes the name only */
}

void store_discard(struct store *s, const struct digest *digest)
{
	char name[OBJECT_NAME_MAX];

	unlinkat(s->dirfd, object_name(digest, "", name), 0);
}
