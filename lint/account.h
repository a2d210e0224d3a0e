/*
 * Whom a container of the image runs as: User of the configuration, looked up in /etc/passwd as
 * engines do.
 */
#ifndef LINT_ACCOUNT_H
#define LINT_ACCOUNT_H

#include "lint/facts.h"

struct account {
	bool known;        /* a name that /etc/passwd does not have is not */
	uint64_t uid, gid; /* gid UINT64_MAX: not known */
	const char *home;  /* of its line of /etc/passwd; NULL: it has none */
};

struct account account_of_user(const struct facts *facts);
/* HOME of what is started: the variable's, else the account's, else "/" as engines set it. */
const char *account_home(const struct facts *facts, const struct account *account);
/* It may make files in the directory at that node; groups beyond the first are not known. */
bool account_may_write(const struct account *account, const struct tree_node *node);

#endif
