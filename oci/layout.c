#include "oci/layout.h"

#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>

#include "base/fs.h"
#include "oci/reference.h"

#define REF_NAME "org.opencontainers.image.ref.name"
/* What containerd, and so docker save, writes beside it: the whole reference. */
#define CONTAINERD_NAME "io.containerd.image.name"

struct layout {
	char *dir;
	int fd;
	int blobs[2];      /* blobs/sha256, blobs/sha512; -1: not there (yet); see blobs_of */
	unsigned locked;   /* how many times over */
	bool durable;      /* blobs were waited for: index.json is too */
	struct stat index; /* index.json as layout_create found it */
};

static const char *const blob_dirs[] = { "blobs/sha256", "blobs/sha512" };

static struct layout *layout_new(const char *dir)
{
	struct layout *l = xcalloc(1, sizeof(*l));

	l->dir = xstrdup(dir);
	l->fd = l->blobs[0] = l->blobs[1] = -1;
	return l;
}

void layout_close(struct layout *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < ARRAY_LEN(l->blobs); i++)
		cleanup_fd_fn(&l->blobs[i]);
	cleanup_fd_fn(&l->fd);
	free(l->dir);
	free(l);
}

static int open_directory(int dirfd, const char *path)
{
	return openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void open_blobs(struct layout *l)
{
	for (size_t i = 0; i < ARRAY_LEN(l->blobs); i++)
		l->blobs[i] = open_directory(l->fd, blob_dirs[i]);
}

static int check_version(struct layout *l, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *json = NULL;
	const char *version;

	if (fs_read(l->fd, "oci-layout", 64 * KIB, &text, err) < 0)
		return err->code == ERROR_NOT_FOUND
			       ? error_set(err, ERROR_NOT_FOUND,
					   "%s: is no OCI image layout (the file oci-layout is "
					   "missing)",
					   l->dir)
			       : error_wrap(err, "%s", l->dir);
	if (json_parse(strbuf_slice(&text), &json, err) < 0 ||
	    json_get_str(json, "", "imageLayoutVersion", &version, err) < 0)
		return error_wrap(err, "%s/oci-layout", l->dir);
	if (!str_starts(version, "1."))
		return error_set(err, ERROR_FORMAT,
				 "%s/oci-layout: imageLayoutVersion '%.40s' is not 1.x", l->dir,
				 version);
	return 0;
}

struct layout *layout_open(const char *dir, struct error *err)
{
	cleanup_layout struct layout *l = layout_new(dir);

	l->fd = open_directory(AT_FDCWD, dir);
	if (l->fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			error_set(err, ERROR_NOT_FOUND, "%s: no such directory", dir);
		else
			error_set_errno(err, errno, "open directory %s", dir);
		return NULL;
	}
	if (check_version(l, err) < 0)
		return NULL;
	open_blobs(l);
	return steal_ptr(&l);
}

static int refuse_foreign(struct layout *l, struct error *err)
{
	struct fs_names names = { 0 };
	int rc = fs_list(l->fd, ".", &names, err);

	if (rc == 0 && names.len)
		rc = error_set(
			err, ERROR_USAGE,
			"%s: holds files ('%.100s') and is no OCI image layout; name an empty "
			"or a new directory",
			l->dir, names.items[0]);
	fs_names_release(&names);
	return rc;
}

/* The folder of such blobs; -1: it is not there. */
static int blobs_of(const struct layout *l, enum digest_algorithm algorithm)
{
	return __atomic_load_n(&l->blobs[algorithm], __ATOMIC_ACQUIRE);
}

static int make_blobs(struct layout *l, enum digest_algorithm algorithm, struct error *err)
{
	int fd, none = -1;

	if (blobs_of(l, algorithm) >= 0)
		return 0;
	if (fs_mkdirs(l->fd, blob_dirs[algorithm], err) < 0)
		return error_wrap(err, "%s", l->dir);
	fd = open_directory(l->fd, blob_dirs[algorithm]);
	if (fd < 0)
		return error_set_errno(err, errno, "open directory %s/%s", l->dir,
				       blob_dirs[algorithm]);
	/* of threads that want it at a time the first one's stays */
	if (!__atomic_compare_exchange_n(&l->blobs[algorithm], &none, fd, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		close(fd);
	return 0;
}

/* oci-layout comes first: what a killed run leaves is then no foreign directory. */
static int fill_new(struct layout *l, struct error *err)
{
	cleanup_strbuf struct strbuf index = { 0 };

	if (!fs_exists(l->fd, "oci-layout")) {
		fs_pending_sweep(l->fd);
		if (refuse_foreign(l, err) < 0)
			return -1;
		if (fs_write(l->fd, "oci-layout", slice_str("{\"imageLayoutVersion\":\"1.0.0\"}"),
			     0644, err) < 0)
			return error_wrap(err, "%s", l->dir);
	}
	if (check_version(l, err) < 0)
		return -1;
	open_blobs(l);
	if (make_blobs(l, DIGEST_SHA256, err) < 0)
		return -1;
	if (fs_exists(l->fd, "index.json"))
		return 0;
	index_write(NULL, 0, NULL, &index);
	if (fs_write(l->fd, "index.json", strbuf_slice(&index), 0644, err) < 0)
		return error_wrap(err, "%s", l->dir);
	return 0;
}

int layout_lock(struct layout *l, struct error *err)
{
	if (!l->locked && fs_lock(l->fd, LOCK_EX, l->dir, err) < 0)
		return -1;
	l->locked++;
	return 0;
}

void layout_unlock(struct layout *l)
{
	if (--l->locked == 0)
		flock(l->fd, LOCK_UN);
}

struct layout *layout_create(const char *dir, struct error *err)
{
	cleanup_layout struct layout *l = layout_new(dir);
	struct error ignored = { 0 };
	int rc;

	if (fs_mkdirs(AT_FDCWD, dir, err) < 0)
		return NULL;
	l->fd = open_directory(AT_FDCWD, dir);
	if (l->fd < 0) {
		error_set_errno(err, errno, "open directory %s", dir);
		return NULL;
	}
	if (layout_lock(l, err) < 0)
		return NULL;
	rc = fill_new(l, err);
	layout_unlock(l);
	if (rc < 0)
		return NULL;
	fs_pending_sweep(l->fd);
	for (size_t i = 0; i < ARRAY_LEN(l->blobs); i++) {
		if (l->blobs[i] >= 0)
			fs_pending_sweep(l->blobs[i]);
	}
	/* who fills a layout shares this lock; where there are none, layout_unshared is false */
	ignore_result(fs_lock(l->blobs[DIGEST_SHA256], LOCK_SH, dir, &ignored));
	if (fstatat(l->fd, "index.json", &l->index, 0) < 0) {
		error_set_errno(err, errno, "look at %s/index.json", dir);
		return NULL;
	}
	return steal_ptr(&l);
}

/* index.json is replaced, never written to, so that every tag makes another file of it. */
bool layout_unshared(struct layout *l)
{
	struct stat now;

	return l->blobs[DIGEST_SHA256] >= 0 && l->index.st_ino &&
	       flock(l->blobs[DIGEST_SHA256], LOCK_EX | LOCK_NB) == 0 &&
	       fstatat(l->fd, "index.json", &now, 0) == 0 && now.st_ino == l->index.st_ino &&
	       now.st_ctim.tv_sec == l->index.st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == l->index.st_ctim.tv_nsec;
}

bool layout_has(const struct layout *l, const struct digest *digest, uint64_t size)
{
	char hex[DIGEST_HEX_MAX];
	struct stat st;

	return blobs_of(l, digest->algorithm) >= 0 &&
	       fstatat(blobs_of(l, digest->algorithm), digest_hex(digest, hex), &st,
		       AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode) && (uint64_t)st.st_size == size;
}

/*
 * Give a written temporary file its name. A file of that name is replaced: this one was proven, of
 * that one only its size is known.
 */
static int commit_blob(struct fs_pending *pending, const struct digest *digest, struct error *err)
{
	char hex[DIGEST_HEX_MAX];

	return fs_pending_commit(pending, digest_hex(digest, hex), 0644, err);
}

static int open_pending(struct layout *l, enum digest_algorithm algorithm, struct fs_pending *out,
			struct error *err)
{
	if (make_blobs(l, algorithm, err) < 0)
		return -1;
	if (fs_pending_open(blobs_of(l, algorithm), out, err) < 0)
		return error_wrap(err, "%s/%s", l->dir, blob_dirs[algorithm]);
	return 0;
}

int layout_put(struct layout *l, struct stream *src, uint64_t limit, struct descriptor *out,
	       struct error *err)
{
	cleanup_pending struct fs_pending pending = { .fd = -1 };
	cleanup_digest struct digest_state state = { 0 };
	cleanup_stream struct stream *limited = NULL, *hashed = NULL;
	cleanup_sink struct sink *file = NULL;
	struct digest digest;
	uint64_t size;

	digest_init(&state, DIGEST_SHA256);
	limited = stream_limit(src, limit);
	hashed = stream_digest(limited, &state, NULL);
	if (open_pending(l, DIGEST_SHA256, &pending, err) < 0)
		return -1;
	file = sink_fd(pending.fd, l->dir);
	if (sink_copy(file, hashed, &size, err) < 0 || sink_finish(file, err) < 0)
		return -1;
	digest = digest_finish(&state);
	if (commit_blob(&pending, &digest, err) < 0)
		return -1;
	out->digest = digest;
	out->size = size;
	return 0;
}

int layout_put_bytes(struct layout *l, struct slice bytes, struct descriptor *out,
		     struct error *err)
{
	cleanup_stream struct stream *src = stream_memory(bytes);

	return layout_put(l, src, bytes.len, out, err);
}

static void copy_time(int fd, const struct stat *st)
{
	const struct timespec times[2] = { { 0, UTIME_OMIT }, st->st_mtim };

	ignore_result(futimens(fd, times)); /* then the blob is read again next time */
}

/* 1: shares the extents of `src`; 0: this file system cannot. */
static int try_reflink(struct layout *l, int src, const struct stat *st,
		       const struct digest *digest, struct error *err)
{
	cleanup_pending struct fs_pending pending = { .fd = -1 };

	if (open_pending(l, digest->algorithm, &pending, err) < 0)
		return -1;
	if (ioctl(pending.fd, FICLONE, src) < 0)
		return 0;
	copy_time(pending.fd, st);
	return commit_blob(&pending, digest, err) < 0 ? -1 : 1;
}

/*
 * Whether the very file may serve as a blob under a second name: only if nobody may write to it,
 * for what is written to the one would change the other.
 */
static bool may_hard_link(const struct stat *st)
{
	return S_ISREG(st->st_mode) && !(st->st_mode & 0222);
}

static bool try_hard_link(struct layout *l, int dirfd, const char *name,
			  const struct digest *digest)
{
	char hex[DIGEST_HEX_MAX];
	int blobs = blobs_of(l, digest->algorithm);

	digest_hex(digest, hex);
	if (linkat(dirfd, name, blobs, hex, 0) == 0)
		return true;
	/* A blob of another size is there: of no use to anybody. */
	return errno == EEXIST && unlinkat(blobs, hex, 0) == 0 &&
	       linkat(dirfd, name, blobs, hex, 0) == 0;
}

static int copy_blob(struct layout *l, int src, const char *name, const struct stat *st,
		     const struct digest *digest, uint64_t size, struct error *err)
{
	cleanup_pending struct fs_pending pending = { .fd = -1 };
	cleanup_stream struct stream *bytes = stream_fd_range(src, 0, size, name);
	cleanup_stream struct stream *verified = stream_verify(bytes, digest, size);
	cleanup_sink struct sink *file = NULL;

	if (open_pending(l, digest->algorithm, &pending, err) < 0)
		return -1;
	file = sink_fd(pending.fd, l->dir);
	if (sink_copy(file, verified, NULL, err) < 0)
		return error_wrap(err, "%s", name);
	copy_time(pending.fd, st);
	return commit_blob(&pending, digest, err);
}

/* The blob is there, and is the file that `st` describes or has its bytes. Else it is removed. */
static bool has_whole(struct layout *l, const struct stat *st, const struct digest *digest,
		      uint64_t size)
{
	char hex[DIGEST_HEX_MAX];
	int blobs = blobs_of(l, digest->algorithm);
	cleanup_stream struct stream *file = NULL, *proven = NULL;
	struct error ignored = { 0 };
	struct stat here;
	int fd;

	if (!layout_has(l, digest, size))
		return false;
	if (fstatat(blobs, digest_hex(digest, hex), &here, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ((here.st_dev == st->st_dev && here.st_ino == st->st_ino) ||
	     (here.st_mtim.tv_sec == st->st_mtim.tv_sec &&
	      here.st_mtim.tv_nsec == st->st_mtim.tv_nsec)))
		return true;
	fd = openat(blobs, hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0) {
		file = stream_fd(fd, hex);
		proven = stream_verify(file, digest, size);
		if (stream_drain(proven, NULL, &ignored) == 0) {
			copy_time(fd, st);
			return true;
		}
	}
	unlinkat(blobs, hex, 0);
	return false;
}

int layout_link(struct layout *l, int dirfd, const char *name, const struct digest *digest,
		uint64_t size, struct error *err)
{
	cleanup_fd int fd = -1;
	struct stat st;
	int rc;

	fd = fs_open(dirfd, name, err);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_set_errno(err, errno, "look at %s", name);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size != size)
		return error_set(err, ERROR_INTEGRITY,
				 "%s: holds %" PRIu64 " bytes instead of %" PRIu64, name,
				 (uint64_t)st.st_size, size);
	if (has_whole(l, &st, digest, size))
		return 0;
	rc = try_reflink(l, fd, &st, digest, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (may_hard_link(&st) && try_hard_link(l, dirfd, name, digest))
		return 0;
	return copy_blob(l, fd, name, &st, digest, size, err);
}

int layout_sync(struct layout *l, const struct digest *digest, struct error *err)
{
	char hex[DIGEST_HEX_MAX];
	cleanup_fd int fd = openat(blobs_of(l, digest->algorithm), digest_hex(digest, hex),
				   O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	l->durable = true;
	if (fd >= 0 && fdatasync(fd) < 0 && errno != EINVAL && errno != EROFS)
		return error_set_errno(err, errno, "%s: bring blob %s to the disk", l->dir, hex);
	return 0;
}

enum blob_identity layout_identity(struct layout *l, const struct digest *digest,
				   struct strbuf *out)
{
	char hex[DIGEST_HEX_MAX];
	int dir = blobs_of(l, digest->algorithm);
	cleanup_fd int fd = dir < 0 ? -1
				    : openat(dir, digest_hex(digest, hex),
					     O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return source_file_identity(fd, out);
}

struct stream *layout_blob(struct layout *l, const struct digest *digest, struct error *err)
{
	char hex[DIGEST_HEX_MAX], text[DIGEST_TEXT_MAX];
	int dir = blobs_of(l, digest->algorithm);
	cleanup_free char *path = NULL;
	cleanup_fd int fd = -1;
	struct stat st;

	digest_hex(digest, hex);
	path = xasprintf("%s/%s/%s", l->dir, blob_dirs[digest->algorithm], hex);
	/* O_NONBLOCK: a FIFO under that name must not stop us. */
	fd = dir < 0 ? -1 : openat(dir, hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (dir < 0 || (fd < 0 && errno == ENOENT)) {
		error_set(err, ERROR_NOT_FOUND, "%s: blob %s is missing", l->dir,
			  digest_text(digest, text));
		return NULL;
	}
	if (fd < 0) {
		error_set_errno(err, errno, "open %s", path);
		return NULL;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		error_set(err, ERROR_FORMAT, "%s: is not a regular file", path);
		return NULL;
	}
	return stream_fd(steal_fd(&fd), path);
}

/* index.json as a document; a layout that has none yet gives an empty one. */
static int read_index(struct layout *l, struct strbuf *text, struct error *err)
{
	if (!fs_exists(l->fd, "index.json")) {
		index_write(NULL, 0, NULL, text);
		return 0;
	}
	if (fs_read(l->fd, "index.json", MANIFEST_BYTES_MAX, text, err) < 0)
		return error_wrap(err, "%s", l->dir);
	return 0;
}

static const char *entry_tag(const json_t *entry)
{
	return json_string_value(json_object_get(json_object_get(entry, "annotations"), REF_NAME));
}

struct sortable {
	json_t *entry;
	const char *tag, *digest;
	size_t at; /* where it stood, so that equal ones keep their order */
};

/* By tag, then those without one by digest. */
static int by_tag(const void *a, const void *b)
{
	const struct sortable *x = a, *y = b;
	int order = 0;

	if (!x->tag != !y->tag)
		return x->tag ? -1 : 1;
	if (x->tag)
		order = strcmp(x->tag, y->tag);
	if (!order)
		order = strcmp(x->digest, y->digest);
	return order ? order : (x->at < y->at ? -1 : 1);
}

/* A new array of the entries that do not bear `tag`, and `added` (taken), sorted. */
static json_t *replaced(const json_t *list, const char *tag, json_t *added)
{
	VEC(struct sortable) entries = { 0 };
	json_t *sorted = json_array();

	for (size_t i = 0; i <= json_array_size(list); i++) {
		json_t *entry = i < json_array_size(list) ? json_array_get(list, i) : added;
		const char *its_tag = entry_tag(entry);
		const char *digest = json_string_value(json_object_get(entry, "digest"));
		struct sortable s = { entry, its_tag, digest ? digest : "", i };

		if (entry == added || !its_tag || !str_equal(its_tag, tag))
			vec_push(&entries, s);
	}
	vec_sort(&entries, by_tag);
	for (size_t i = 0; i < entries.len; i++)
		json_push(sorted, json_incref(entries.items[i].entry));
	vec_release(&entries);
	json_decref(added);
	return sorted;
}

static json_t *tagged_json(const struct descriptor *desc, const char *tag)
{
	json_t *entry = descriptor_json(desc);
	json_t *annotations = json_object_get(entry, "annotations");

	if (!annotations) {
		annotations = json_object();
		json_put(entry, "annotations", annotations);
	}
	json_put(annotations, REF_NAME, json_text(tag));
	return entry;
}

static int tag_locked(struct layout *l, const char *tag, const struct descriptor *desc,
		      struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_index struct index index = { 0 };
	json_t *list;

	if (read_index(l, &text, err) < 0)
		return -1;
	if (index_parse(strbuf_slice(&text), &arena, &index, err) < 0)
		return error_wrap(err, "%s/index.json", l->dir);
	list = replaced(json_object_get(index.json, "manifests"), tag, tagged_json(desc, tag));
	json_put(index.json, "manifests", list);
	json_put(index.json, "mediaType", json_text(index.media_type));
	strbuf_truncate(&text, 0);
	json_canonical(index.json, &text);
	if ((l->durable ? fs_write_durable : fs_write)(l->fd, "index.json", strbuf_slice(&text),
						       0644, err) < 0)
		return error_wrap(err, "%s", l->dir);
	return 0;
}

int layout_tag(struct layout *l, const char *tag, const struct descriptor *desc, struct error *err)
{
	int rc;

	if (layout_lock(l, err) < 0)
		return -1;
	rc = tag_locked(l, tag, desc, err);
	layout_unlock(l);
	return rc;
}

/* How well an entry answers to `tag`: 3 its name, 2 containerd's name, 1 the tag of either. */
static int match(const struct descriptor *d, const char *tag)
{
	const char *names[] = { descriptor_annotation(d, REF_NAME),
				descriptor_annotation(d, CONTAINERD_NAME) };
	cleanup_free char *suffix = xasprintf(":%s", tag);
	char digest[DIGEST_TEXT_MAX];

	if (str_equal(digest_text(&d->digest, digest), tag))
		return 3;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i] && str_equal(names[i], tag))
			return i ? 2 : 3;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (names[i] && str_ends(names[i], suffix))
			return 1;
	}
	return 0;
}

static const char *name_of(const struct descriptor *d)
{
	const char *name = descriptor_annotation(d, CONTAINERD_NAME);

	return name ? name : descriptor_annotation(d, REF_NAME);
}

/* "a, b, c" of the entries' names; at most a few. */
static void list_tags(const struct index *index, struct strbuf *out)
{
	for (size_t i = 0; i < index->manifest_count; i++) {
		const char *name = name_of(&index->manifests[i]);
		char digest[DIGEST_TEXT_MAX];

		if (out->len > 200) {
			strbuf_adds(out, ", …");
			return;
		}
		strbuf_addf(out, "%s%.100s", out->len ? ", " : "",
			    name ? name : digest_text(&index->manifests[i].digest, digest));
	}
}

static int no_choice(const char *where, const struct index *index, const char *tag,
		     struct error *err)
{
	cleanup_strbuf struct strbuf tags = { 0 };

	list_tags(index, &tags);
	if (!index->manifest_count)
		return error_set(err, ERROR_NOT_FOUND, "%s: holds no image", where);
	if (!tag)
		return error_set(err, ERROR_NOT_FOUND, "%s: holds %zu images, name one of them: %s",
				 where, index->manifest_count, strbuf_text(&tags));
	return error_set(err, ERROR_NOT_FOUND, "%s: holds no image '%.150s'; there are: %s", where,
			 tag, strbuf_text(&tags));
}

/* The only image, leaving aside what is merely attached to one (signatures, SBOMs). */
static const struct descriptor *only_entry(const struct index *index)
{
	const struct descriptor *found = NULL;
	size_t named = 0;

	if (index->manifest_count == 1)
		return &index->manifests[0];
	for (size_t i = 0; i < index->manifest_count; i++) {
		const char *name = name_of(&index->manifests[i]);

		if (name && !reference_tag_attached(name) && !index->manifests[i].artifact_type) {
			found = &index->manifests[i];
			named++;
		}
	}
	return named == 1 ? found : NULL;
}

int layout_index_choose(const struct index *index, const char *where, const char *tag,
			struct descriptor *out, struct error *err)
{
	const struct descriptor *found = tag ? NULL : only_entry(index);
	int best = 0;

	for (size_t i = 0; tag && i < index->manifest_count; i++) {
		int how = match(&index->manifests[i], tag);

		if (how > best) {
			best = how;
			found = &index->manifests[i];
		} else if (how && how == best &&
			   !digest_equal(&found->digest, &index->manifests[i].digest)) {
			return error_set(err, ERROR_FORMAT,
					 "%s: the name '%.150s' stands for more than one image",
					 where, tag);
		}
	}
	if (!found)
		return no_choice(where, index, tag, err);
	*out = *found;
	return 0;
}

int layout_resolve(struct layout *l, const char *tag, struct arena *arena, struct descriptor *out,
		   struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_index struct index index = { 0 };

	if (read_index(l, &text, err) < 0)
		return -1;
	if (index_parse(strbuf_slice(&text), arena, &index, err) < 0)
		return error_wrap(err, "%s/index.json", l->dir);
	if (layout_index_choose(&index, l->dir, tag, out, err) < 0)
		return -1;
	out->annotations = NULL;
	return 0;
}

void layout_discard(struct layout *l, const struct digest *digest)
{
	char hex[DIGEST_HEX_MAX];

	if (blobs_of(l, digest->algorithm) >= 0)
		unlinkat(blobs_of(l, digest->algorithm), digest_hex(digest, hex), 0);
}
