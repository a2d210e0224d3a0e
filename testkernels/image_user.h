/*
 * Who the processes of an image are: its `User` resolved through the tree's own /etc/passwd and
 * /etc/group, as container engines do it.
 * Source: OCI image specification 1.1, config.md, "User"; opencontainers/runc libcontainer/user.
 */
#ifndef TESTKERNELS_IMAGE_USER_H
#define TESTKERNELS_IMAGE_USER_H

#include "base/arena.h"
#include "base/error.h"

enum { IMAGE_GROUPS_MAX = 64 };

struct image_user {
	uint32_t uid, gid;
	uint32_t groups[IMAGE_GROUPS_MAX]; /* further ones */
	size_t group_count;
	const char *home; /* "/" when passwd does not say */
	const char *note; /* why the image's user could not be found, and root stands in; or NULL */
};

/*
 * `spec`: "", "name", "uid", "name:group", "uid:gid"; NULL is "". A name that the image does not
 * know is noted and root taken, since a test of the rest is still worth having. Texts live in
 * `arena`.
 */
void image_user_find(int rootfd, const char *spec, struct arena *arena, struct image_user *out);

#endif
