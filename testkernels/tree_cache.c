#include "testkernels/tree_cache.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "formats/json.h"
#include "testkernels/unpack.h"

/* Part of the key: raised when unpacking makes other trees. */
enum { UNPACK_VERSION = 1, RECORD_MAX = 1 << 20 };

void tree_close(struct tree *tree)
{
	if (tree->fd >= 0)
		close(tree->fd);
	if (tree->lock >= 0)
		close(tree->lock);
	free(tree->path);
	*tree = (struct tree){ .fd = -1, .lock = -1 };
}

static int open_dir(struct tree *t, struct error *err)
{
	t->fd = open(t->path[0] ? t->path : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t->fd < 0 ? error_set_errno(err, errno, "open %s", t->path) : 0;
}

static int in_place(const char *rootfs, struct tree *t, struct error *err)
{
	t->path = realpath(rootfs, NULL);
	if (!t->path)
		return error_set_errno(err, errno, "%s", rootfs);
	if (str_equal(t->path, "/"))
		t->path[0] = '\0'; /* a prefix of paths */
	return open_dir(t, err);
}

static int unpack_into(struct image *image, const char *path, struct error *err)
{
	cleanup_fd int fd = -1;

	if (mkdir(path, 0755) < 0)
		return error_set_errno(err, errno, "create %s", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, errno, "open %s", path);
	return unpack_image(image, fd, NULL, err);
}

static void key_of(const struct image *image, char text[DIGEST_TEXT_MAX])
{
	cleanup_digest struct digest_state state = { 0 };
	struct digest digest;
	cleanup_free char *head = xasprintf("tree %d %d\n", UNPACK_VERSION, geteuid() == 0);

	digest_init(&state, DIGEST_SHA256);
	digest_update(&state, head, strlen(head));
	for (size_t i = 0; i < image->config.diff_id_count; i++) {
		char one[DIGEST_TEXT_MAX];

		digest_text(&image->config.diff_ids[i], one);
		digest_update(&state, one, strlen(one) + 1);
	}
	digest = digest_finish(&state);
	digest_text(&digest, text);
}

/* A digest over the names and the stat of all entries. */
static int visit(void *user, const struct fs_entry *e, struct error *err)
{
	cleanup_free char *line = NULL;
	bool dir = S_ISDIR(e->st.st_mode);

	(void)err;
	/* what is made beside a directory's entries moves its times, and shows by itself */
	line = xasprintf("%s %o %llu %lld.%09ld\n", e->path, e->st.st_mode,
			 dir ? 0ULL : (unsigned long long)e->st.st_size,
			 dir ? 0LL : (long long)e->st.st_mtim.tv_sec,
			 dir ? 0L : e->st.st_mtim.tv_nsec);
	digest_update(user, line, strlen(line));
	return 0;
}

static int tree_digest(const char *path, char out[DIGEST_TEXT_MAX], struct error *err)
{
	cleanup_digest struct digest_state state = { 0 };
	struct digest digest;
	cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "open %s", path);
	digest_init(&state, DIGEST_SHA256);
	if (fs_walk(fd, ".", visit, &state, err) < 0)
		return -1;
	digest = digest_finish(&state);
	digest_text(&digest, out);
	return 0;
}

static bool is_whole(const char *entry)
{
	cleanup_free char *root = fs_join(entry, "root"), *record = fs_join(entry, "record");
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *o = NULL;
	struct error ignored = { 0 };
	char digest[DIGEST_TEXT_MAX];
	const char *want;

	return fs_read(AT_FDCWD, record, RECORD_MAX, &text, &ignored) == 0 &&
	       json_parse(strbuf_slice(&text), &o, &ignored) == 0 &&
	       json_get_str(o, "", "tree", &want, &ignored) == 0 &&
	       tree_digest(root, digest, &ignored) == 0 && str_equal(digest, want);
}

static int write_record(const struct image *image, const char *entry, struct error *err)
{
	cleanup_free char *root = fs_join(entry, "root"), *path = fs_join(entry, "record");
	cleanup_json json_t *o = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	char digest[DIGEST_TEXT_MAX];

	if (tree_digest(root, digest, err) < 0)
		return -1;
	json_put(o, "image", json_text(image->name ? image->name : ""));
	json_put(o, "tree", json_text(digest));
	json_pretty(o, &text);
	return fs_write(AT_FDCWD, path, strbuf_slice(&text), 0644, err);
}

/* Shared, so that several may test one image; whoever would remove the tree waits for none. */
static int take_lock(const char *entry, struct error *err)
{
	cleanup_free char *path = fs_join(entry, "lock");
	cleanup_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return error_set_errno(err, errno, "open %s", path);
	if (fs_lock(fd, LOCK_SH, path, err) < 0)
		return -1;
	/* its time says when it was used last */
	ignore_result(futimens(fd, NULL) < 0);
	return steal_fd(&fd);
}

/* Remove a damaged one, unless another process uses it. */
static int discard(const char *entry, int lock, struct error *err)
{
	int rc = fs_lock(lock, LOCK_EX | LOCK_NB, entry, err);

	if (rc < 0)
		return -1;
	if (rc == 0)
		return error_set(err, ERROR_SYSTEM,
				 "%s was changed by something, and another process uses it; try "
				 "again when that has ended, or use --no-cache",
				 entry);
	return fs_remove_tree(AT_FDCWD, entry, err);
}

/* Take it when it is there and whole. 1: it is the caller's; 0: there is none; -1. */
static int take(const char *entry, struct tree *t, struct error *err)
{
	cleanup_free char *root = fs_join(entry, "root");
	cleanup_fd int lock = -1;

	if (!fs_exists(AT_FDCWD, root))
		return 0;
	lock = take_lock(entry, err);
	if (lock < 0)
		return -1;
	if (!is_whole(entry))
		return discard(entry, lock, err);
	t->lock = steal_fd(&lock);
	t->path = xstrdup(root);
	return open_dir(t, err) < 0 ? -1 : 1;
}

static int check_place(const char *dir, struct error *err)
{
	struct statvfs vfs;

	if (fs_mkdirs(AT_FDCWD, dir, err) < 0)
		return -1;
	if (strpbrk(dir, ":;") || (statvfs(dir, &vfs) == 0 && (vfs.f_flag & ST_NOEXEC)))
		return error_set(
			err, ERROR_USAGE,
			"the store's '%s' cannot be run from (it is mounted noexec, or has "
			"a \":\" or \";\" in its path); name another with --store, or use "
			"--no-cache",
			dir);
	return 0;
}

static int make(struct image *image, const char *cache, const char *entry, struct error *err)
{
	cleanup_free char *owner = fs_owner(), *building = NULL, *root = NULL;
	int rc;

	building = xasprintf("%s/tmp-%s-tree", cache, owner);
	root = fs_join(building, "root");
	if (fs_remove_tree(AT_FDCWD, building, err) < 0)
		return -1;
	if (mkdir(building, 0755) < 0)
		return error_set_errno(err, errno, "create %s", building);
	rc = unpack_into(image, root, err) < 0 ? -1 : write_record(image, building, err);
	if (rc == 0 && rename(building, entry) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		rc = error_set_errno(err, errno, "name %s", entry);
	if (rc < 0 || fs_exists(AT_FDCWD, building)) {
		struct error ignored = { 0 };

		ignore_result(fs_remove_tree(AT_FDCWD, building, &ignored));
	}
	return rc;
}

static int cached(struct image *image, const char *cache, struct tree *t, struct error *err)
{
	cleanup_free char *entry = NULL;
	cleanup_fd int dir = -1;
	char key[DIGEST_TEXT_MAX];
	int rc;

	if (check_place(cache, err) < 0)
		return -1;
	dir = open(cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		fs_sweep(dir, "tmp-");
	key_of(image, key);
	entry = fs_join(cache, strchr(key, ':') + 1);
	rc = take(entry, t, err);
	if (rc)
		return rc < 0 ? -1 : 0;
	if (make(image, cache, entry, err) < 0)
		return -1;
	rc = take(entry, t, err);
	if (rc == 0)
		return error_set(err, ERROR_SYSTEM, "the tree %s changes while it is made", entry);
	return rc < 0 ? -1 : 0;
}

int tree_open(struct image *image, const char *cache_dir, const char *scratch, struct tree *out,
	      struct error *err)
{
	int rc;

	*out = (struct tree){ .fd = -1, .lock = -1 };
	if (image->rootfs) {
		rc = in_place(image->rootfs, out, err);
	} else if (cache_dir && image->config.diff_id_count) {
		rc = cached(image, cache_dir, out, err);
	} else {
		out->path = fs_join(scratch, "root");
		rc = unpack_into(image, out->path, err) < 0 ? -1 : open_dir(out, err);
	}
	if (rc < 0)
		tree_close(out);
	return rc;
}
