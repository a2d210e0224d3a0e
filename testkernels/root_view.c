#include "testkernels/root_view.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "testkernels/link_tree.h"

bool root_view_writable(const struct root_view *view)
{
	return view->kind == ROOT_VIEW_OVERLAY;
}

static char *merged_path(const struct root_view *view)
{
	return xasprintf("%s/%s", view->at, view->kind == ROOT_VIEW_OVERLAY ? "over/root" : "root");
}

int root_view_prepare(const struct root_view *view, char **out_root, struct error *err)
{
	static const char *const points[] = { "proc", "sys", "dev", "tmp" };
	cleanup_free char *root = merged_path(view), *over = fs_join(view->at, "over");

	if (view->kind == ROOT_VIEW_OVERLAY) {
		if (fs_mkdirs(AT_FDCWD, over, err) < 0)
			return -1;
		*out_root = steal_ptr(&root);
		return 0;
	}
	if (fs_exists(AT_FDCWD, root) && fs_remove_tree(AT_FDCWD, root, err) < 0)
		return -1;
	if (fs_mkdirs(AT_FDCWD, root, err) < 0 || link_tree(view->root, root, err) < 0 ||
	    (view->edits && link_tree_over(view->edits, root, err) < 0))
		return error_wrap(err, "copy the image's tree");
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		cleanup_free char *point = fs_join(root, points[i]);

		if (mkdir(point, 0755) < 0 && errno != EEXIST)
			return error_set_errno(err, errno, "create %s", point);
	}
	*out_root = steal_ptr(&root);
	return 0;
}

static int write_text(const char *path, const char *text)
{
	cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? errno : 0;
}

/* Become one user of a namespace that has only this one, under the same number. */
static int map_self(uid_t uid, gid_t gid)
{
	cleanup_free char *uids = xasprintf("%u %u 1\n", uid, uid);
	cleanup_free char *gids = xasprintf("%u %u 1\n", gid, gid);
	int failed = write_text("/proc/self/uid_map", uids);

	if (!failed)
		failed = write_text("/proc/self/setgroups", "deny");
	if (!failed)
		failed = write_text("/proc/self/gid_map", gids);
	return failed;
}

static int enter_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int failed;

	if (unshare(CLONE_NEWNS | (uid ? CLONE_NEWUSER : 0)) < 0)
		return errno;
	failed = uid ? map_self(uid, gid) : 0;
	if (failed)
		return failed;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? errno : 0;
}

/* The lower directories are named by descriptors, so their paths may hold any character. */
static int mount_overlay(const struct root_view *view, const char *upper, const char *work,
			 const char *at)
{
	cleanup_fd int root = open(*view->root ? view->root : "/", O_PATH | O_DIRECTORY);
	cleanup_fd int edits = view->edits ? open(view->edits, O_PATH | O_DIRECTORY) : -1;
	cleanup_strbuf struct strbuf options = { 0 };

	if (root < 0 || (view->edits && edits < 0))
		return errno;
	strbuf_adds(&options, "lowerdir=");
	if (edits >= 0)
		strbuf_addf(&options, "/proc/self/fd/%d:", edits);
	strbuf_addf(&options, "/proc/self/fd/%d,upperdir=%s,workdir=%s%s", root, upper, work,
		    geteuid() ? ",userxattr" : "");
	return mount("overlay", at, "overlay", MS_NODEV, strbuf_text(&options)) < 0 ? errno : 0;
}

int root_view_enter(const struct root_view *view)
{
	cleanup_free char *over = fs_join(view->at, "over"), *upper = fs_join(over, "upper");
	cleanup_free char *work = fs_join(over, "work"), *at = fs_join(over, "root");
	int failed;

	if (view->kind != ROOT_VIEW_OVERLAY)
		return 0;
	failed = enter_namespace();
	if (failed)
		return failed;
	if (mount("tmpfs", over, "tmpfs", MS_NODEV | MS_NOSUID, "mode=0755") < 0 ||
	    mkdir(upper, 0755) < 0 || mkdir(work, 0755) < 0 || mkdir(at, 0755) < 0)
		return errno;
	return mount_overlay(view, upper, work, at);
}

enum root_view_kind root_view_choose(const char *scratch)
{
	cleanup_free char *at = fs_join(scratch, "view-trial"), *lower = fs_join(at, "lower");
	struct root_view view = { .kind = ROOT_VIEW_OVERLAY, .root = lower, .at = at };
	cleanup_free char *root = NULL;
	struct error ignored = { 0 };
	int status = 1;
	pid_t pid;

	if (fs_mkdirs(AT_FDCWD, lower, &ignored) < 0 ||
	    root_view_prepare(&view, &root, &ignored) < 0)
		return ROOT_VIEW_LINKS;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(root_view_enter(&view) ? 1 : 0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return pid > 0 && status == 0 ? ROOT_VIEW_OVERLAY : ROOT_VIEW_LINKS;
}
