#include "builder/store_trees.h"

static int add_size(void *user, const struct fs_entry *e, struct error *err)
{
	uint64_t *bytes = user;

	(void)err;
	if (S_ISREG(e->st.st_mode))
		*bytes += (uint64_t)e->st.st_size;
	return 0;
}

int store_trees_list(const char *store, struct store_trees *out, struct error *err)
{
	cleanup_free char *dir = fs_join(store, "trees");
	struct fs_names names = { 0 };
	int rc = 0;

	*out = (struct store_trees){ 0 };
	if (!fs_exists(AT_FDCWD, dir))
		return 0;
	if (fs_list(AT_FDCWD, dir, &names, err) < 0)
		return -1;
	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		cleanup_free char *path = fs_join(dir, names.items[i]);
		cleanup_free char *lock = fs_join(path, "lock");
		struct store_tree tree = { 0 };
		struct stat st;

		if (str_starts(names.items[i], "tmp-"))
			continue; /* being made, or swept by the next test */
		if (fs_walk(AT_FDCWD, path, add_size, &tree.bytes, err) < 0)
			rc = -1;
		if (stat(lock, &st) == 0 || stat(path, &st) == 0)
			tree.used = (int64_t)st.st_mtim.tv_sec;
		tree.path = fs_join("trees", names.items[i]);
		vec_push(out, tree);
	}
	fs_names_release(&names);
	return rc;
}

void store_trees_release(struct store_trees *trees)
{
	for (size_t i = 0; i < trees->len; i++)
		free(trees->items[i].path);
	vec_release(trees);
}

int store_trees_remove(const char *store, const char *path, bool *out_removed, struct error *err)
{
	cleanup_free char *full = fs_join(store, path), *lock = fs_join(full, "lock");
	cleanup_free char *aside = NULL, *owner = fs_owner();
	cleanup_fd int fd = open(lock, O_RDWR | O_CLOEXEC);

	*out_removed = false;
	if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
		return error_set_errno(err, errno, "open %s", lock);
	if (fd >= 0) {
		int rc = fs_lock(fd, LOCK_EX | LOCK_NB, lock, err);

		if (rc <= 0)
			return rc;
	}
	/* first out of the way, so that nobody takes half a tree */
	aside = xasprintf("%s/trees/tmp-%s-%s", store, owner, strrchr(path, '/') + 1);
	if (rename(full, aside) < 0)
		return errno == ENOENT ? 0 : error_set_errno(err, errno, "remove %s", full);
	*out_removed = true;
	return fs_remove_tree(AT_FDCWD, aside, err);
}
