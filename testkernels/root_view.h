/*
 * The root that a container gets: the image's tree under a layer of our own files, writable where
 * this machine allows it, without a byte of the tree being changed.
 *
 * As an overlay it is mounted by the process that will start the container, in a mount namespace
 * of its own (and a user namespace, for a plain user), so it is gone with that process. Where no
 * overlay can be mounted, a copy of the tree is made from hard links, which is then read-only to
 * the container, since writing into it would write into the tree.
 * Source: Linux, Documentation/filesystems/overlayfs.rst (userxattr since 5.11; user attributes on
 * tmpfs since 6.6).
 */
#ifndef TESTKERNELS_ROOT_VIEW_H
#define TESTKERNELS_ROOT_VIEW_H

#include "base/error.h"

enum root_view_kind {
	ROOT_VIEW_OVERLAY, /* tmpfs on top */
	ROOT_VIEW_LINKS,   /* a read-only copy of hard links */
};

struct root_view {
	enum root_view_kind kind;
	const char *root;  /* the image's tree; "" is "/" */
	const char *edits; /* our files; NULL: none */
	const char *at; /* an empty directory of ours, that becomes the view; made when missing */
};

/* Whether an overlay can be mounted here, tried in a process of its own on `scratch`. */
enum root_view_kind root_view_choose(const char *scratch);
/*
 * What is to be done before processes are started. `*out_root` is where the container's root will
 * be, heap. ERROR_SYSTEM.
 */
int root_view_prepare(const struct root_view *view, char **out_root, struct error *err) MUST_USE;
/* In the process that starts the container. 0 or an errno. */
int root_view_enter(const struct root_view *view);
/* Whether the container may write. */
bool root_view_writable(const struct root_view *view);

#endif
