/*
 * The accounts of an image while they are gathered; private to accounts.c and
 * rpm_accounts.c.
 */
#ifndef BUILDER_FINISH_ACCOUNTS_H
#define BUILDER_FINISH_ACCOUNTS_H

#include "builder/finish/finish.h"

/* Who makes an account decides how its line in shadow looks. */
enum maker { BY_MASTER, BY_SCRIPT, BY_SYSUSERS, BY_SYSUSERS_LOCKED };

struct user {
	const char *name, *gecos, *home, *shell;
	const char *line; /* as the base image has it; NULL: new */
	uint64_t uid, gid;
	enum maker maker;
};

struct group {
	const char *name, *members;
	const char *password, *base_members; /* as the base image has them; NULL: new */
	uint64_t gid;
	enum maker maker;
};

struct accounts {
	struct finish *f;
	struct arena arena;
	bool packaged; /* a package brings /etc/passwd itself: what is new is written behind it */
	size_t packaged_users, packaged_groups;
	struct {
		struct user *items;
		size_t len, cap;
	} users;
	struct {
		struct group *items;
		size_t len, cap;
	} groups;
	bool over_base;   /* the base image has accounts, which are kept as they are */
	bool added;       /* an account that was not read */
	bool changed;     /* members of a group of the package */
	bool old_adduser; /* which made system users like the masters */
};

struct user *accounts_user(struct accounts *a, const char *name);
struct group *accounts_group(struct accounts *a, const char *name);
/* Nothing happens when there is one of that name. */
void accounts_add_user(struct accounts *a, struct user user);
void accounts_add_group(struct accounts *a, const char *name, uint64_t gid, enum maker maker);
bool accounts_has_uid(const struct accounts *a, uint64_t uid);
/* A number that neither a user nor a group has. */
uint64_t accounts_allocate(const struct accounts *a);

/* rpm_accounts.c: users and groups that scriptlets of .rpms add, in their words. */
void rpm_accounts_add(struct accounts *a);
/*
 * Writes passwd, group and their shadows where a package brings its own: those lines as they are,
 * and what was added. Without anything new the package's files stay.
 */
int rpm_accounts_write(struct accounts *a, struct error *err) MUST_USE;
/*
 * Gives the files of .rpms their owners by name. Who is not there is root instead, without
 * setuid and setgid, and the report says so.
 */
void rpm_accounts_own(struct accounts *a);

#endif
