#include "lint/account.h"

/* The n-th field, from 0, of a line cut at ':'. */
static struct slice field(struct slice line, size_t n)
{
	struct slice one = { 0 };

	for (size_t i = 0; i <= n; i++) {
		if (!slice_cut(&line, ':', &one))
			return (struct slice){ 0 };
	}
	return one;
}

static bool is_line_of(struct slice line, struct slice user, bool number)
{
	return slice_equal(field(line, number ? 2 : 0), user);
}

struct account account_of_user(const struct facts *facts)
{
	const char *user = facts->config && facts->config->user ? facts->config->user : "";
	struct slice name = slice_of(user, strcspn(user, ":"));
	struct slice rest = facts_text(facts, "/etc/passwd"), line;
	struct account a = { .gid = UINT64_MAX };
	bool number = name.len && slice_u64(name, &a.uid);

	if (!name.len || number)
		a.known = true;
	if (!a.uid && a.known)
		a.gid = 0;
	if (!name.len)
		name = slice_str("root");
	while (slice_cut(&rest, '\n', &line)) {
		uint64_t uid, gid;

		if (!is_line_of(line, name, number) || !slice_u64(field(line, 2), &uid) ||
		    !slice_u64(field(line, 3), &gid))
			continue;
		if (!number) {
			a.uid = uid;
			a.gid = gid;
		}
		a.known = true;
		a.home = arena_slice(facts_arena(facts), field(line, 5));
		break;
	}
	return a;
}

const char *account_home(const struct facts *facts, const struct account *account)
{
	const char *home = facts_env(facts, "HOME");

	if (home)
		return home;
	return account->home && *account->home ? account->home : "/";
}

bool account_may_write(const struct account *account, const struct tree_node *node)
{
	if (account->uid == 0)
		return true;
	if (account->uid == node->entry.uid)
		return node->entry.mode & 0200;
	if (account->gid == node->entry.gid)
		return node->entry.mode & 0020;
	return node->entry.mode & 0002;
}
